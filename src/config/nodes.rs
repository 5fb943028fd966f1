//! [`NodeSelection`]: the nodes that a flag keeps all profiles to. It becomes a part of `addedAffinity` of the plugin
//! NodeAffinity, the field in which a configuration says the same of one profile: so whatever shows or reads a
//! configuration knows it.

use super::SchedulerConfig;
use bayplan_framework::{At, Framework, PluginConfig, Tree, TreeValue};
use bayplan_model::{Labels, Node, NodeAffinity, NodeSelector, objects};
use bayplan_yaml::TreeEntry;
use serde_json::{Value, json};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The plugin that keeps pods to these nodes.
pub(super) const PLUGIN: &str = "NodeAffinity";
const ADDED: &str = "addedAffinity";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// A label selector for nodes as kubectl writes it: `pool=gpu,zone in (a,b),!spot`. All parts hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeSelection {
    text: String,
    parts: Vec<Part>,
}

/// A requirement: key, operator of the API, values.
type Part = (String, &'static str, Vec<String>);

impl fmt::Display for NodeSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `Err`: what is wrong, and how to write it.
impl FromStr for NodeSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = pieces(text).into_iter().map(|piece| part(piece.trim()));
        let selection = Self { text: text.to_owned(), parts: parts.collect::<Result<_, _>>()? };
        for part in &selection.parts {
            let required = required(&[expression(part)])?;
            if let Some(error) = required.and_then(|required| required.error.clone()) {
                return Err(format!("about `{}`: {error}", part.0));
            }
        }
        Ok(selection)
    }
}

/// A requirement as the API has it.
fn expression((key, operator, values): &Part) -> Value {
    json!({ "key": key, "operator": operator, "values": values })
}

/// The selector of nodes that meet all requirements.
fn required(expressions: &[Value]) -> Result<Option<Arc<NodeSelector>>, String> {
    let affinity = json!({ REQUIRED: { "nodeSelectorTerms": [{ "matchExpressions": expressions }] } });
    let object: objects::selectors::NodeAffinity =
        serde_json::from_value(affinity).map_err(|error| error.to_string())?;
    Ok(NodeAffinity::parse(Labels::default(), &object).required)
}

/// The text between commas that are outside of parentheses.
fn pieces(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    text.split(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth <= 0
    })
    .collect()
}

fn part(text: &str) -> Result<Part, String> {
    let wrong = |why: String| Err(why);
    let of = |key: &str, operator, values: Vec<String>| Ok((key.trim().to_owned(), operator, values));
    let one = |value: &str| vec![value.trim().to_owned()];
    if text.is_empty() {
        return wrong(
            "a part is empty; write `KEY=VALUE` or `KEY in (A,B)`, with one comma between parts".into(),
        );
    }
    if let Some(key) = text.strip_prefix('!') {
        return of(key, "DoesNotExist", Vec::new());
    }
    for (sign, operator) in [("!=", "NotIn"), ("==", "In"), ("=", "In"), (">", "Gt"), ("<", "Lt")] {
        if let Some((key, value)) = text.split_once(sign) {
            return of(key, operator, one(value));
        }
    }
    let words = text.split_once(char::is_whitespace).map(|(key, rest)| (key, rest.trim_start()));
    let Some((key, rest)) = words else { return of(text, "Exists", Vec::new()) };
    for (word, operator) in [("notin", "NotIn"), ("in", "In")] {
        let Some(list) = rest.strip_prefix(word) else { continue };
        let inside = list.trim().strip_prefix('(').and_then(|list| list.strip_suffix(')'));
        let Some(inside) = inside else {
            let list = list.trim().trim_matches(['(', ')']);
            return wrong(format!(
                "`{text}` has its values without parentheses; write `{key} {word} ({list})`"
            ));
        };
        return of(key, operator, inside.split(',').map(|value| value.trim().to_owned()).collect());
    }
    wrong(format!(
        "`{text}` cannot be read; write `KEY=VALUE`, `KEY!=VALUE`, `KEY in (A,B)`, `KEY notin (A,B)`, `KEY` or `!KEY`"
    ))
}

impl SchedulerConfig {
    /// Keeps every profile to these nodes, beside those to which it is kept already.
    pub fn keep_to(&mut self, nodes: &NodeSelection) {
        for profile in &mut self.profiles {
            let known = profile.plugin_config.iter().position(|of| of.name == PLUGIN);
            let at = known.unwrap_or(profile.plugin_config.len());
            if known.is_none() {
                let args = Tree { at: profile.at, value: TreeValue::default() };
                profile.plugin_config.push(PluginConfig { name: PLUGIN.to_owned(), at: profile.at, args });
            }
            if let Some(config) = profile.plugin_config.get_mut(at) {
                nodes.add_to(&mut config.args);
            }
        }
        self.kept_to_nodes = true;
    }

    /// The first profile that does not ask the plugin which keeps it to nodes.
    pub(super) fn unkept<'f>(&self, frameworks: &'f [Arc<Framework>]) -> Option<&'f Framework> {
        let asks = |framework: &Framework| {
            framework.points().filter.iter().any(|id| framework.plugin_name(*id) == PLUGIN)
        };
        frameworks
            .iter()
            .map(|framework| &**framework)
            .find(|framework| self.kept_to_nodes && !asks(framework))
    }
}

impl NodeSelection {
    /// The nodes that it selects.
    pub fn matching<'n>(&self, nodes: &'n [Arc<Node>]) -> Vec<&'n Arc<Node>> {
        let expressions = self.parts.iter();
        let expressions: Vec<Value> = expressions.map(expression).collect();
        let Ok(required) = required(&expressions) else { return Vec::new() };
        let selects = |node: &&Arc<Node>| {
            required
                .as_ref()
                .is_some_and(|required| matches!(required.matches(&node.name, &node.labels), Ok(true)))
        };
        nodes.iter().filter(selects).collect()
    }

    /// Each part as a selector of its own.
    pub fn parts_alone(&self) -> Vec<Self> {
        pieces(&self.text).into_iter().filter_map(|piece| piece.trim().parse().ok()).collect()
    }

    /// The label keys, in the order of the parts.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(key, ..)| key.as_str())
    }

    /// Adds the requirements to each term of the arguments. What cannot be read stays: the plugin complains of it.
    fn add_to(&self, args: &mut Tree) {
        let required = child(args, ADDED).and_then(|added| child(added, REQUIRED));
        let Some(terms) = required.and_then(|required| child(required, "nodeSelectorTerms")) else { return };
        let at = terms.at;
        if matches!(terms.value, TreeValue::Null) {
            terms.value = TreeValue::List(vec![map(at, Vec::new())]);
            if let TreeValue::List(terms) = &mut terms.value {
                terms.iter_mut().for_each(|term| self.add_to_term(term));
            }
        } else if let TreeValue::List(terms) = &mut terms.value {
            // A term that says nothing matches no node, and must not begin to.
            let says = |term: &&mut Tree| {
                ["matchExpressions", "matchFields"]
                    .iter()
                    .any(|list| matches!(term.get(list).map(|of| &of.value), Some(TreeValue::List(of)) if !of.is_empty()))
            };
            terms.iter_mut().filter(says).for_each(|term| self.add_to_term(term));
        }
    }

    fn add_to_term(&self, term: &mut Tree) {
        let Some(list) = child(term, "matchExpressions") else { return };
        let at = list.at;
        if matches!(list.value, TreeValue::Null) {
            list.value = TreeValue::List(Vec::new());
        }
        let TreeValue::List(expressions) = &mut list.value else { return };
        for (key, operator, values) in &self.parts {
            let word = |text: &str| Tree { at, value: TreeValue::String(text.to_owned()) };
            let mut entries = vec![("key", word(key)), ("operator", word(operator))];
            if !values.is_empty() {
                let values = values.iter().map(|value| word(value)).collect();
                entries.push(("values", Tree { at, value: TreeValue::List(values) }));
            }
            expressions.push(map(at, entries));
        }
    }
}

fn map(at: At, entries: Vec<(&str, Tree)>) -> Tree {
    let entries =
        entries.into_iter().map(|(key, value)| TreeEntry { key: key.to_owned(), key_at: at, value });
    Tree { at, value: TreeValue::Map(entries.collect()) }
}

/// The value of a key, which is made where it is missing; `None` where there is no map.
fn child<'t>(tree: &'t mut Tree, key: &str) -> Option<&'t mut Tree> {
    let at = tree.at;
    if matches!(tree.value, TreeValue::Null) {
        tree.value = TreeValue::Map(Vec::new());
    }
    let TreeValue::Map(entries) = &mut tree.value else { return None };
    if !entries.iter().any(|entry| entry.key == key) {
        let value = Tree { at, value: TreeValue::Null };
        entries.push(TreeEntry { key: key.to_owned(), key_at: at, value });
    }
    entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_yaml::{Booleans, document};

    fn parts(text: &str) -> Vec<Part> {
        text.parse::<NodeSelection>().unwrap().parts
    }

    fn error(text: &str) -> String {
        text.parse::<NodeSelection>().unwrap_err().to_string()
    }

    #[test]
    fn selectors_are_written_as_for_kubectl() {
        let of = |key: &str, operator, values: &[&str]| {
            (key.to_owned(), operator, values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            parts("pool=gpu, zone in (a, b),tier notin (x),!spot,ssd,os!=windows,arch==arm64,cores>8"),
            [
                of("pool", "In", &["gpu"]),
                of("zone", "In", &["a", "b"]),
                of("tier", "NotIn", &["x"]),
                of("spot", "DoesNotExist", &[]),
                of("ssd", "Exists", &[]),
                of("os", "NotIn", &["windows"]),
                of("arch", "In", &["arm64"]),
                of("cores", "Gt", &["8"]),
            ]
        );
    }

    #[test]
    fn a_mistake_is_named_with_the_way_out() {
        for (text, says) in [
            ("", "a part is empty"),
            ("a=b,,c", "a part is empty"),
            ("pool in gpu", "write `pool in (gpu)`"),
            ("pool in (gpu", "write `pool in (gpu)`"),
            ("pool is gpu", "`pool is gpu` cannot be read; write `KEY=VALUE`"),
            ("po ol=gpu", "about `po ol`: "),
            ("pool=g p u", "about `pool`: "),
            ("cores>many", "the value must be an integer"),
            ("!", "about ``: "),
        ] {
            assert!(error(text).contains(says), "{text}: {}", error(text));
        }
    }

    #[test]
    fn requirements_join_each_term_that_says_something() {
        let nodes: NodeSelection = "pool=gpu,!spot".parse().unwrap();
        let added = |text: &str| {
            let mut args = document(text, Booleans::Yaml11).unwrap();
            nodes.add_to(&mut args);
            args.to_json()
        };
        let own = json!({"key": "pool", "operator": "In", "values": ["gpu"]});
        let spot = json!({"key": "spot", "operator": "DoesNotExist"});
        let of = |terms: serde_json::Value| json!({ ADDED: { REQUIRED: { "nodeSelectorTerms": terms } } });
        assert_eq!(added(""), of(json!([{"matchExpressions": [own, spot]}])));
        let ssd = json!({"key": "ssd", "operator": "Exists"});
        let text = format!(
            "{{{ADDED}: {{{REQUIRED}: {{nodeSelectorTerms: [{{matchExpressions: [{ssd}]}}, {{matchFields: [{ssd}]}}, {{}}]}}}}}}"
        );
        assert_eq!(
            added(&text),
            of(json!([
                {"matchExpressions": [ssd, own, spot]},
                {"matchFields": [ssd], "matchExpressions": [own, spot]},
                {}
            ]))
        );
        // No term matches no node, and a mistake stays one.
        let none = format!("{{{ADDED}: {{{REQUIRED}: {{nodeSelectorTerms: []}}}}}}");
        assert_eq!(added(&none), of(json!([])));
        assert_eq!(added("{addedAffinity: 3}"), json!({ "addedAffinity": 3 }));
    }
}

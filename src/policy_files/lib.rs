//! Where policies are written: files that end in [`ENDING`], YAML and JSON files with documents of
//! `kind: SchedulingPolicy`, and ConfigMaps with the label [`LABEL`]. [`policies_in`] finds the policy texts
//! of a YAML or JSON file, each with its places. Called by `cli`, `dry_run` and `cluster` before
//! `lang::compile`; reads no files.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod insert;
mod replace;

pub use insert::inserted;
pub use replace::{Replacement, holds_only_policies, replaced};

use bayplan_diag::{Diagnostic, Form, Origin, SourceId, SourceMap, Span, codes, suggest};
use bayplan_yaml::{self as yaml, At, Tree, TreeEntry, TreeValue};

/// The label of ConfigMaps that hold policies.
pub const LABEL: &str = "bayplan.dev/policy";

/// The ending of policy files, and of the keys of a ConfigMap that hold a policy.
pub const ENDING: &str = ".bay";

/// The kind of documents that are policies.
pub const KIND: &str = "SchedulingPolicy";

/// The group of their version.
const GROUP: &str = "bayplan.dev/";

/// The value of the label of a ConfigMap that may hold exceptions alone.
pub const EXCEPTIONS: &str = "exceptions";

/// Whether a key of a ConfigMap with the label holds policies: in the policy language, or as documents.
pub fn is_policy_key(key: &str) -> bool {
    key.ends_with(ENDING) || Form::of(key) == Form::Document
}

/// Whether a ConfigMap has the label of those that hold policies.
pub fn is_of_policies(config_map: &serde_json::Value) -> bool {
    let labels = config_map.get("metadata").and_then(|metadata| metadata.get("labels"));
    labels.is_some_and(|labels| labels.get(LABEL).is_some())
}

/// Whether the text of a YAML or JSON file mentions documents of policies, if only by a kind that is nearly theirs.
pub fn mentions_documents(text: &[u8]) -> bool {
    let holds = |needle: &[u8]| text.windows(needle.len()).any(|window| window == needle);
    // Labels and annotations have the group too, and no version.
    holds(KIND.as_bytes()) || holds(format!("{GROUP}v").as_bytes()) || nearly_mentions_kind(text)
}

/// Whether some `kind` is nearly that of policies.
fn nearly_mentions_kind(text: &[u8]) -> bool {
    let word = b"kind";
    let value = |at: usize| -> Option<&str> {
        let rest = text.get(at + word.len()..)?;
        let skipped = rest.iter().take_while(|byte| b"\"' :".contains(byte)).count();
        let rest = rest.get(skipped..)?;
        let long = rest.iter().take(2 * KIND.len()).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        std::str::from_utf8(rest.get(..long)?).ok()
    };
    let values = text.windows(word.len()).enumerate().filter(|(_, window)| window == word);
    values.filter_map(|(at, _)| value(at)).any(is_nearly_kind)
}

/// Whether a word is meant to be the kind of policies.
fn is_nearly_kind(kind: &str) -> bool {
    kind.len().abs_diff(KIND.len()) <= KIND.len() / 3 && suggest::nearest(kind, [KIND]).is_some()
}

/// Whether a version is meant to be that of policies.
fn is_nearly_version(version: &str) -> bool {
    suggest::nearest(version, ["bayplan.dev/v1"]).is_some()
}

/// Whether a text whose name says nothing, such as that of a pipe, is YAML or JSON: by its first line.
pub fn is_data(text: &str) -> bool {
    let is_content = |line: &&str| !line.is_empty() && !line.starts_with(['#', '%']) && *line != "---";
    let Some(first) = text.lines().map(str::trim).find(is_content) else {
        // What a chart without policies prints has comments and marks.
        return !text.trim().is_empty();
    };
    let first = first.strip_prefix("--- ").unwrap_or(first);
    let key = first.split(':').next().unwrap_or("").trim_matches(['"', '\'']);
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    first.starts_with(['{', '[']) || first.starts_with("- ") || first.contains(':') && key.chars().all(is_key)
}

/// A policy text found in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyText {
    /// The text; its origin is the ConfigMap and key. The file itself, where its documents are policies.
    pub source: SourceId,
    /// Whether its ConfigMap has the label. Without it the linter checks the text and no scheduler
    /// reads it.
    pub labelled: bool,
}

/// The policy texts in a YAML or JSON file: its own documents of policies, and those of its ConfigMaps; single
/// objects, streams of documents, lists. Other kinds are skipped. Mistakes in the YAML itself come back as
/// diagnostics, unless the file is a policy text: then the parser of policies reports them.
pub fn policies_in(sources: &mut SourceMap, file: SourceId) -> (Vec<PolicyText>, Vec<Diagnostic>) {
    let mut finder = Finder { sources, file, found: Vec::new(), diagnostics: Vec::new() };
    let Some(text) = finder.sources.get(file).map(|source| source.shared_text()) else {
        return (Vec::new(), Vec::new());
    };
    // Most files of a cluster hold no policy: they are not parsed twice.
    if text.contains(ENDING) || text.contains(LABEL) || mentions_documents(text.as_bytes()) {
        // Where the parser of policies reads with limits, the same limits hold here.
        let limited = mentions_documents(text.as_bytes());
        let read = if limited { yaml::limited_documents } else { yaml::documents };
        let (trees, errors) = read(&text);
        let broken = !errors.is_empty() && text.lines().any(|line| line.trim() == format!("kind: {KIND}"));
        let template = yaml::template_in(&text).is_some_and(|_| !errors.is_empty());
        if !template && (broken || trees.iter().any(has_documents)) {
            finder.sources.set_form(file, Form::Document);
            finder.found.push(PolicyText { source: file, labelled: true });
        } else {
            finder.diagnostics.extend(errors.iter().map(|error| error.diagnostic(file)));
        }
        for tree in &trees {
            finder.object(&text, tree);
        }
    }
    (finder.found, finder.diagnostics)
}

/// Whether a document is a policy, or a list with one.
fn has_documents(tree: &Tree) -> bool {
    if let Some(TreeValue::List(items)) = tree.get("items").map(|items| &items.value) {
        return items.iter().any(has_documents);
    }
    // What our commands print has our version too, and neither of these.
    let is_object = tree.get("spec").is_some() || tree.get("metadata").is_some();
    let version = tree.get("apiVersion").and_then(Tree::as_str);
    let ours = is_object && version.is_some_and(|version| version.starts_with(GROUP));
    match tree.get("kind").and_then(Tree::as_str) {
        // A kind of another group may have nearly the name of ours.
        Some(kind) => {
            let foreign =
                version.is_some_and(|version| !version.starts_with(GROUP) && !is_nearly_version(version));
            kind == KIND || ours || is_nearly_kind(kind) && !foreign
        }
        None => ours,
    }
}

/// Collects the policies of a file.
struct Finder<'s> {
    sources: &'s mut SourceMap,
    file: SourceId,
    found: Vec<PolicyText>,
    diagnostics: Vec<Diagnostic>,
}

/// A ConfigMap of the file.
struct ConfigMap<'t> {
    tree: &'t Tree,
    /// `namespace/name`.
    name: String,
    /// Where the label is written.
    label: Option<At>,
    /// Its value.
    labelled_as: Option<String>,
}

impl Finder<'_> {
    fn object(&mut self, text: &str, tree: &Tree) {
        if let Some(TreeValue::List(items)) = tree.get("items").map(|items| &items.value) {
            for item in items {
                self.object(text, item);
            }
        }
        let string = |path: [&str; 2]| tree.get(path[0])?.get(path[1])?.as_str();
        let namespace = string(["metadata", "namespace"]).unwrap_or("default");
        let name = string(["metadata", "name"]).unwrap_or("");
        let labels = tree.get("metadata").and_then(|metadata| metadata.get("labels"));
        let label = labels.and_then(|labels| labels.get(LABEL));
        let kind = tree.get("kind");
        match kind.and_then(Tree::as_str) {
            Some("ConfigMap") => {}
            Some(other) if label.is_some() && suggest::nearest(other, ["ConfigMap"]).is_some() => {
                let at = kind.map(|kind| kind.at).unwrap_or_default();
                let message =
                    format!("`{other}` is not a kind of Kubernetes, and no scheduler reads policies from it");
                return self.wrong(at, message, "write `kind: ConfigMap`");
            }
            _ => return,
        }
        let map = ConfigMap {
            tree,
            name: format!("{namespace}/{name}"),
            label: label.map(|label| label.at),
            labelled_as: label.and_then(Tree::as_str).map(str::to_owned),
        };
        self.config_map(text, &map);
    }

    fn config_map(&mut self, text: &str, map: &ConfigMap) {
        let policies = policy_keys(map, "data");
        let binary = policy_keys(map, "binaryData");
        for entry in &binary {
            let message = format!("`{}` of the ConfigMap `{}` is in `binaryData`", entry.key, map.name);
            self.wrong(entry.key_at, message, "write the policy as text under `data`");
        }
        if let Some(label) = map.label.filter(|_| policies.is_empty() && binary.is_empty()) {
            let message = format!("the ConfigMap `{}` has the label `{LABEL}` and no policy", map.name);
            self.wrong(label, message, "write policies in `data`, under keys that end in `.bay` or `.yaml`");
        }
        self.odd(map);
        for (index, entry) in policies.into_iter().enumerate() {
            let Some(policy) = entry.value.as_str() else {
                let message = format!("`{}` of the ConfigMap `{}` is not a text", entry.key, map.name);
                let help = format!("write `{}: |` and the policy indented below it", entry.key);
                self.wrong(entry.value.at, message, &help);
                continue;
            };
            self.policy(text, map, entry, policy, index == 0);
        }
    }

    /// Says what of a ConfigMap with the label does not do what it says: keys that no scheduler reads, and a label that
    /// says no.
    fn odd(&mut self, map: &ConfigMap) {
        let Some(label) = map.label else { return };
        let mut odd = |at: At, message: String, help: String| {
            let said =
                Diagnostic::new(&codes::ODD_POLICY_MAP, Span::new(self.file, at.start, at.end), message);
            self.diagnostics.push(said.with_help(help));
        };
        let value = map.labelled_as.as_deref().unwrap_or("").to_ascii_lowercase();
        if ["false", "no", "off", "0", "disabled"].contains(&value.as_str()) {
            let message = format!("the label `{LABEL}` is `{value}`, and the policies are read all the same");
            odd(label, message, "take the label off: its value means nothing".to_owned());
        }
        let Some(TreeValue::Map(entries)) = map.tree.get("data").map(|data| &data.value) else { return };
        for entry in entries.iter().filter(|entry| !is_policy_key(&entry.key)) {
            if let Some(meant) = meant_key(&entry.key, entry.value.as_str().unwrap_or("")) {
                let message =
                    format!("no scheduler reads the key `{}` of the ConfigMap `{}`", entry.key, map.name);
                odd(entry.key_at, message, format!("call it `{meant}`"));
            }
        }
    }

    fn wrong(&mut self, at: At, message: String, help: &str) {
        let said = Diagnostic::new(&codes::BAD_POLICY_MAP, self.span(at), message);
        self.diagnostics.push(said.with_help(help));
    }

    fn span(&self, at: At) -> Span {
        Span::new(self.file, at.start, at.end)
    }

    /// Takes one policy text of a ConfigMap.
    fn policy(&mut self, text: &str, map: &ConfigMap, entry: &TreeEntry, policy: &str, first: bool) {
        let span = self.span(entry.value.at);
        let labelled = map.label.is_some();
        if !labelled && first {
            let message = "no scheduler will read this policy";
            let help = format!("add the label `{LABEL}: \"true\"` to the ConfigMap `{}`", map.name);
            let said = Diagnostic::new(&codes::UNLABELLED_POLICY_MAP, span.at_start(), message);
            self.diagnostics.push(said.with_help(help));
        }
        if map.labelled_as.as_deref() == Some(EXCEPTIONS) && holds_policy(policy) {
            let message = format!(
                "the ConfigMap `{}` may hold exceptions alone, and its key `{}` has a policy",
                map.name, entry.key
            );
            let help =
                format!("the label `{LABEL}` is `{EXCEPTIONS}`: write the policy into another ConfigMap");
            self.wrong(entry.key_at, message, &help);
            return;
        }
        // Line breaks mean nothing to JSON.
        let lines = Form::of(&entry.key) == Form::Language || !policy.trim_start().starts_with('{');
        if let Some(mark) = folded(text, span).filter(|_| lines) {
            let mark = Span::new(self.file, mark, mark + 1);
            let help = format!("write `{}: |`", entry.key);
            let message = "line breaks are lost in a folded block";
            let said = Diagnostic::new(&codes::FOLDED_POLICY, mark, message);
            self.diagnostics.push(said.with_help(help.clone()).with_fix(help, mark, "|"));
        }
        let origin = Origin { object: map.name.clone(), key: entry.key.clone() };
        let source = self.sources.embed(self.file, span.range(), policy, origin);
        if let Some(said) = yaml::template_of(source, policy) {
            self.diagnostics.push(said);
            return;
        }
        self.found.push(PolicyText { source, labelled });
    }
}

/// Whether a text declares a policy, so far as that is seen without parsing it.
fn holds_policy(text: &str) -> bool {
    text.lines().any(|line| line.split_whitespace().next() == Some("policy"))
        || mentions_documents(text.as_bytes())
}

/// The key that was meant, where a key that no scheduler reads holds a policy or has nearly the ending of one.
fn meant_key(key: &str, text: &str) -> Option<String> {
    let holds_policy = || text.lines().any(|line| line.starts_with("policy ") && line.contains('{'));
    let by_content = |stem: &str| {
        let ending = if holds_policy() { ENDING } else { ".yaml" };
        (holds_policy() || mentions_documents(text.as_bytes())).then(|| format!("{stem}{ending}"))
    };
    let Some((stem, ending)) = key.rsplit_once('.').filter(|(_, ending)| *ending != "bak") else {
        return by_content(key.strip_suffix(".bak").unwrap_or(key));
    };
    let known = ["bay", "yaml", "yml", "json"];
    let near = suggest::nearest(ending, known).map(|near| format!("{stem}.{near}"));
    near.or_else(|| by_content(stem))
}

/// The entries of a field whose keys hold policies. Without the label, YAML and JSON are policies only where they
/// say so: such ConfigMaps may hold anything.
fn policy_keys<'t>(map: &ConfigMap<'t>, field: &str) -> Vec<&'t TreeEntry> {
    let is_policy = |entry: &&TreeEntry| {
        let says = || entry.value.as_str().is_some_and(|text| mentions_documents(text.as_bytes()));
        entry.key.ends_with(ENDING) || is_policy_key(&entry.key) && (map.label.is_some() || says())
    };
    match map.tree.get(field).map(|data| &data.value) {
        Some(TreeValue::Map(entries)) => entries.iter().filter(is_policy).collect(),
        _ => Vec::new(),
    }
}

/// The `>` of a folded block scalar whose content begins at a place.
fn folded(text: &str, content: Span) -> Option<usize> {
    let before = text.get(..content.start as usize)?;
    let line = before.rfind('\n')?;
    if !before.get(line..)?.trim().is_empty() {
        return None;
    }
    // Empty lines may precede the content.
    let head = before.get(..line)?.trim_end();
    let start = head.rfind('\n').map_or(0, |end| end + 1);
    let header = head.get(start..)?;
    let header = header.split(" #").next()?.trim_end();
    let mark = header.trim_end_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    let before_mark = mark.strip_suffix('>')?;
    before_mark.ends_with([' ', '\t']).then_some(start + before_mark.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn load(text: &str) -> (SourceMap, Vec<PolicyText>, Vec<Diagnostic>) {
        let mut sources = SourceMap::new();
        let file = sources.add("x.yaml", text);
        let (found, diagnostics) = policies_in(&mut sources, file);
        (sources, found, diagnostics)
    }

    const HEAD: &str = "kind: ConfigMap\nmetadata:\n  name: rules\n  namespace: platform\n  labels: {bayplan.dev/policy: \"true\"}\n";

    #[test]
    fn texts_come_with_their_object_key_and_places() {
        let (sources, found, diagnostics) =
            load(&format!("{HEAD}data:\n  a.bay: |\n    policy x {{\n    }}\n  readme: no\n"));
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(found.len(), 1);
        let source = sources.get(found[0].source).unwrap();
        assert_eq!(source.text(), "policy x {\n}\n");
        assert_eq!(
            source.origin().unwrap(),
            &Origin { object: "platform/rules".into(), key: "a.bay".into() }
        );
        let (start, end) = sources.places(Span::new(source.id(), 11, 12));
        assert_eq!((start.line, start.column, end.column), (9, 5, 6));
    }

    #[test]
    fn lists_streams_and_json_are_read_and_other_kinds_are_not() {
        let list = r#"{"kind": "List", "items": [
            {"data": {"a.bay": "policy x {\n}\n"}, "kind": "ConfigMap", "metadata": {"name": "r", "labels": {"bayplan.dev/policy": "true"}}},
            {"kind": "Secret", "data": {"b.bay": "eA=="}}, 7, null]}"#;
        let (sources, found, diagnostics) = load(list);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(found.len(), 1);
        let source = found[0].source;
        assert_eq!(sources.places(Span::new(source, 11, 12)).0.line, 2);
        let stream = format!(
            "---\nkind: Pod\nmetadata: {{name: x}}\n---\n{HEAD}data: {{a.bay: \"policy x {{}}\"}}\n---\n"
        );
        assert_eq!(load(&stream).1.len(), 1);
    }

    #[test]
    fn a_broken_document_does_not_stop_the_others() {
        let map = |name: &str| HEAD.replace("rules", name);
        let text = format!(
            "{}data:\n  a.bay: |\n    policy a {{\n    ---\n    }}\n---\nkind: ConfigMap\nmetadata: {{name: [\n--- # third\n{}data:\n  b.bay: |\n    policy b {{\n    }}\n---\nx: \"\n",
            map("one"),
            map("two")
        );
        let (sources, found, diagnostics) = load(&text);
        let texts: Vec<&str> = found.iter().map(|found| sources.get(found.source).unwrap().text()).collect();
        assert_eq!(texts, ["policy a {\n---\n}\n", "policy b {\n}\n"]);
        let lines: Vec<usize> = diagnostics.iter().map(|said| sources.places(said.span).0.line).collect();
        assert_eq!(diagnostics.len(), 2, "{diagnostics:?}");
        assert!(diagnostics.iter().all(|said| said.code.slug == "bad-yaml"));
        assert!((12..=14).contains(&lines[0]) && lines[1] >= 24, "{lines:?}\n{text}");
        // Places of the texts are those of the whole file.
        let second = sources.places(Span::new(found[1].source, 7, 8)).0;
        let line = text.lines().position(|line| line.contains("policy b")).unwrap() + 1;
        assert_eq!((second.line, second.column), (line, 12));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let (_, found, diagnostics) =
            load("kind: ConfigMap\nmetadata: {name: x}\ndata:\n  a.bay: >-\n    policy x {}\n");
        assert_eq!(found.len(), 1);
        assert!(!found[0].labelled);
        let codes: Vec<_> = diagnostics.iter().map(|d| d.code.slug).collect();
        assert_eq!(codes, ["unlabelled-policy-map", "folded-policy"]);
        assert_eq!(diagnostics[1].span.start, 51);
        let (_, _, diagnostics) = load(&format!("{HEAD}data:\n  a.bay: [1]\n"));
        assert_eq!(diagnostics[0].code.slug, "bad-policy-map");
        let (sources, _, diagnostics) = load(&format!("{HEAD}data:\n  a.bay: \"x\n b: [\n"));
        assert_eq!(diagnostics[0].code.slug, "bad-yaml");
        assert!(sources.places(diagnostics[0].span).0.line >= 6, "{diagnostics:?}");
    }
}

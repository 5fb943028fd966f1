//! What is written to extenders and read from them: JSON with the names of Go's fields. Answers are read as Go reads
//! them: without regard to the case of keys, unknown keys ignored, `null` as nothing. Both `ask`, which asks, and
//! `server`, which answers, use it.
//!
//! Source: `staging/src/k8s.io/kube-scheduler/extender/v1/types.go`.

use super::objects::Text;
use bayplan_framework::{ExtenderAnswer, Filtered};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::Value;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A struct whose keys are read without regard to case; each key is written in lower case here.
macro_rules! any_case {
    ($($(#[$doc:meta])* pub(crate) struct $name:ident { $($(#[$field_doc:meta])* pub $field:ident: $type:ty = $key:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub(crate) struct $name {
            $($(#[$field_doc])* pub $field: Option<$type>,)*
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Keys(PhantomData<$name>);

                impl<'de> Visitor<'de> for Keys {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let mut read = $name::default();
                        while let Some(key) = map.next_key::<String>()? {
                            match key.to_ascii_lowercase().as_str() {
                                $($key => read.$field = map.next_value()?,)*
                                _ => {
                                    map.next_value::<IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(read)
                    }
                }

                from.deserialize_map(Keys(PhantomData))
            }
        }
    )*};
}

any_case! {
    /// `ExtenderFilterResult`.
    pub(crate) struct FilterResult {
        /// Whole nodes, of which only the names are read.
        pub nodes: NodeList = "nodes",
        /// Names of nodes.
        pub names: Vec<String> = "nodenames",
        /// Refused nodes with reasons.
        pub failed: BTreeMap<String, Option<String>> = "failednodes",
        /// Nodes that evicting pods does not help, with reasons.
        pub unresolvable: BTreeMap<String, Option<String>> = "failedandunresolvablenodes",
        /// Why the call failed.
        pub error: String = "error",
    }

    /// `NodeList`.
    pub(crate) struct NodeList {
        /// The nodes.
        pub items: Vec<NodeItem> = "items",
    }

    /// A node of an answer.
    pub(crate) struct NodeItem {
        /// Its metadata.
        pub metadata: NodeMetadata = "metadata",
    }

    /// The metadata of a node.
    pub(crate) struct NodeMetadata {
        /// Its name.
        pub name: String = "name",
    }

    /// `NodeList` of a question.
    pub(crate) struct WholeNodes {
        /// The nodes.
        pub items: Vec<WholeNode> = "items",
    }

    /// `HostPriority`.
    pub(crate) struct HostPriority {
        /// The name of the node.
        pub host: String = "host",
        /// Its score.
        pub score: i64 = "score",
    }

    /// `ExtenderBindingResult`.
    pub(crate) struct BindingResult {
        /// Why the call failed.
        pub error: String = "error",
    }

    /// `ExtenderPreemptionResult`.
    pub(crate) struct PreemptionResult {
        /// The nodes that remain with their victims.
        pub victims: BTreeMap<String, Option<MetaVictims>> = "nodenametometavictims",
    }

    /// `MetaVictims`.
    pub(crate) struct MetaVictims {
        /// The victims.
        pub pods: Vec<Option<MetaPod>> = "pods",
        /// How many of them violate budgets.
        pub violations: i64 = "numpdbviolations",
    }

    /// `MetaPod`.
    pub(crate) struct MetaPod {
        /// The UID.
        pub uid: String = "uid",
    }

    /// `ExtenderArgs`.
    pub(crate) struct Args {
        /// The pod, as the API has it.
        pub pod: Value = "pod",
        /// The nodes, as the API has them.
        pub nodes: WholeNodes = "nodes",
        /// The names of the nodes.
        pub names: Vec<String> = "nodenames",
    }

    /// `ExtenderPreemptionArgs`.
    pub(crate) struct PreemptionArgs {
        /// The pod, as the API has it.
        pub pod: Value = "pod",
        /// The candidates with whole pods.
        pub victims: BTreeMap<String, Option<Victims>> = "nodenametovictims",
        /// The candidates with UIDs of pods.
        pub meta_victims: BTreeMap<String, Option<MetaVictims>> = "nodenametometavictims",
    }

    /// `Victims`.
    pub(crate) struct Victims {
        /// The pods.
        pub pods: Vec<Option<VictimPod>> = "pods",
        /// How many of them violate budgets.
        pub violations: i64 = "numpdbviolations",
    }

    /// A whole pod, of which only the UID is read.
    pub(crate) struct VictimPod {
        /// Its metadata.
        pub metadata: MetaPod = "metadata",
    }

    /// `ExtenderBindingArgs`.
    pub(crate) struct BindingArgs {
        /// The name of the pod.
        pub name: String = "podname",
        /// Its namespace.
        pub namespace: String = "podnamespace",
        /// Its UID.
        pub uid: String = "poduid",
        /// The node.
        pub node: String = "node",
    }
}

/// A node as the API has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct WholeNode(pub Value);

impl WholeNode {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().unwrap_or_default()
    }
}

impl NodeList {
    /// The names of the nodes.
    pub(crate) fn names(self) -> Vec<String> {
        let name = |node: NodeItem| node.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
        self.items.into_iter().flatten().map(name).collect()
    }
}

/// Reads the first JSON value of a text, as Go's decoder does. `null` is a value without fields.
pub(crate) fn read<'de, T: Deserialize<'de> + Default>(text: &'de [u8]) -> Result<T, String> {
    let mut decoder = serde_json::Deserializer::from_slice(text);
    match Option::<T>::deserialize(&mut decoder) {
        Ok(value) => Ok(value.unwrap_or_default()),
        Err(_) if text.iter().all(u8::is_ascii_whitespace) => Err(String::from("EOF")),
        Err(error) => Err(format!("cannot read the answer of the extender: {error}")),
    }
}

/// The answer to a filter question. `Err`: why the extender failed.
pub fn filtered(text: &[u8]) -> Result<ExtenderAnswer, String> {
    let result: FilterResult = read(text)?;
    if let Some(error) = result.error.filter(|error| !error.is_empty()) {
        return Err(error);
    }
    let reasons = |all: Option<BTreeMap<String, Option<String>>>| {
        let all = all.into_iter().flatten();
        all.map(|(name, reason)| (name, reason.unwrap_or_default())).collect()
    };
    Ok(ExtenderAnswer::Filtered(Filtered {
        names: result.names,
        nodes: result.nodes.map(NodeList::names),
        failed: reasons(result.failed),
        unresolvable: reasons(result.unresolvable),
    }))
}

/// The answer to a question for scores.
pub fn scores(text: &[u8]) -> Result<ExtenderAnswer, String> {
    let all: Vec<HostPriority> = read(text)?;
    let score = |one: HostPriority| (one.host.unwrap_or_default(), one.score.unwrap_or_default());
    Ok(ExtenderAnswer::Scores(all.into_iter().map(score).collect()))
}

/// The answer to a bind.
pub(crate) fn bound(text: &[u8]) -> Result<ExtenderAnswer, String> {
    let result: BindingResult = read(text)?;
    match result.error.filter(|error| !error.is_empty()) {
        Some(error) => Err(error),
        None => Ok(ExtenderAnswer::Bound),
    }
}

/// The answer to a question about candidates of a preemption.
pub fn victims(text: &[u8]) -> Result<ExtenderAnswer, String> {
    let result: PreemptionResult = read(text)?;
    let uids = |victims: &mut MetaVictims| {
        let pods = victims.pods.take().into_iter().flatten();
        pods.map(|pod| pod.and_then(|pod| pod.uid).unwrap_or_default()).collect()
    };
    let candidates = result.victims.into_iter().flatten().map(|(node, victims)| {
        let mut victims = victims.unwrap_or_default();
        (node, uids(&mut victims), victims.violations.unwrap_or_default())
    });
    Ok(ExtenderAnswer::Victims(candidates.collect()))
}

/// Writes JSON piece by piece, so that texts of objects are copied and not parsed.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    /// Text as it is.
    pub(crate) fn raw(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        self.0.extend_from_slice(text.as_ref());
        self
    }

    /// A text in quotes.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut self.0, text);
        self
    }

    /// Items between commas.
    pub(crate) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.raw(",");
            }
            write(self, item);
        }
        self
    }
}

/// The nodes of a question: whole objects, or names.
pub(crate) enum Nodes<'a> {
    /// As the API server gave them.
    Whole(Vec<Text>),
    /// Their names.
    Names(&'a [bayplan_model::Symbol]),
}

/// `ExtenderArgs`.
pub(crate) fn args(pod: &Text, nodes: &Nodes) -> Vec<u8> {
    let mut out = Writer::default();
    out.raw("{\"Pod\":").raw(pod).raw(",\"Nodes\":");
    match nodes {
        Nodes::Whole(all) => {
            out.raw("{\"metadata\":{},\"items\":[").list(all, |out, node| {
                out.raw(node);
            });
            out.raw("]},\"NodeNames\":null}");
        }
        Nodes::Names(all) => {
            out.raw("null,\"NodeNames\":[").list(*all, |out, name| {
                out.text(name);
            });
            out.raw("]}");
        }
    }
    out.0
}

/// A candidate of a preemption for a question: the node, its victims as JSON, and the violated budgets.
pub(crate) type Candidate = (String, Vec<Text>, i64);

/// `ExtenderPreemptionArgs`, with whole pods or with UIDs as `{"UID":…}`.
pub(crate) fn preemption_args(pod: &Text, mut candidates: Vec<Candidate>, meta: bool) -> Vec<u8> {
    candidates.sort();
    let mut out = Writer::default();
    out.raw("{\"Pod\":").raw(pod);
    out.raw(if meta {
        ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":{"
    } else {
        ",\"NodeNameToVictims\":{"
    });
    out.list(&candidates, |out, (node, pods, violations)| {
        out.text(node).raw(":{\"Pods\":[").list(pods, |out, pod| {
            out.raw(pod);
        });
        out.raw("],\"NumPDBViolations\":").raw(violations.to_string()).raw("}");
    });
    out.raw(if meta { "}}" } else { "},\"NodeNameToMetaVictims\":null}" });
    out.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filter_answer(text: &str) -> Result<Filtered, String> {
        match filtered(text.as_bytes())? {
            ExtenderAnswer::Filtered(filtered) => Ok(filtered),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn answers_are_read_as_go_reads_them() {
        let read = filter_answer(
            r#"{"nodenames":["a"],"NODES":{"items":[{"metadata":{"name":"b","labels":{}},"spec":{}},{}]},"later":[1],
            "FailedNodes":{"c":"hot"},"failedAndUnresolvableNodes":null,"error":""} and more"#,
        );
        let read = read.unwrap();
        assert_eq!(read.names, Some(vec![String::from("a")]));
        assert_eq!(read.nodes, Some(vec![String::from("b"), String::new()]));
        assert_eq!(read.failed, [(String::from("c"), String::from("hot"))]);
        assert_eq!(filter_answer("null"), Ok(Filtered::default()));
        assert_eq!(filter_answer("{\"Error\":\"no\"}"), Err(String::from("no")));
        assert_eq!(filter_answer(" \n"), Err(String::from("EOF")));
        for garbage in ["<html>", "{\"NodeNames\":7}", "{\"NodeNames\":[\"a\"", "[]"] {
            let said = filter_answer(garbage).unwrap_err();
            assert!(said.starts_with("cannot read the answer of the extender: "), "{said}");
        }
        let all = scores(br#"[{"host":"a","score":-3},{"Host":"b"}]"#).unwrap();
        assert_eq!(all, ExtenderAnswer::Scores(vec![(String::from("a"), -3), (String::from("b"), 0)]));
        assert_eq!(scores(b"null").unwrap(), ExtenderAnswer::Scores(Vec::new()));
        assert_eq!(bound(b"{}"), Ok(ExtenderAnswer::Bound));
        assert_eq!(bound(b"{\"error\":\"taken\"}"), Err(String::from("taken")));
        let read = victims(
            br#"{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u"}],"NumPDBViolations":2},"b":null}}"#,
        );
        let expected = vec![(String::from("a"), vec![String::from("u")], 2), (String::from("b"), vec![], 0)];
        assert_eq!(read, Ok(ExtenderAnswer::Victims(expected)));
    }

    #[test]
    fn questions_have_the_fields_of_go() {
        let value = |text: Vec<u8>| serde_json::from_slice::<Value>(&text).unwrap();
        let pod = Text::from(*b"{\"metadata\":{}}");
        let node = Text::from(*b"{\"metadata\":{\"name\":\"a\"}}");
        let names = ["a\"b".into(), "c".into()];
        assert_eq!(
            value(args(&pod, &Nodes::Names(&names))),
            json!({"Pod": {"metadata": {}}, "Nodes": null, "NodeNames": ["a\"b", "c"]})
        );
        assert_eq!(
            value(args(&pod, &Nodes::Whole(vec![node.clone(), node]))),
            json!({"Pod": {"metadata": {}}, "Nodes": {"metadata": {}, "items": [
                {"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}]}, "NodeNames": null})
        );
        let uid = Text::from(*b"{\"UID\":\"u\"}");
        let candidates = || vec![(String::from("n"), vec![uid.clone()], 1)];
        assert_eq!(
            value(preemption_args(&pod, candidates(), true)),
            json!({"Pod": {"metadata": {}}, "NodeNameToVictims": null,
                "NodeNameToMetaVictims": {"n": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}})
        );
        assert_eq!(
            value(preemption_args(&pod, candidates(), false))["NodeNameToVictims"],
            json!({"n": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}})
        );
    }
}

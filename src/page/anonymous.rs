//! The document without names and texts of its cluster, for files that are sent on.
//!
//! What stays is named here: numbers, states, plugins of the scheduler, well-known resources and label keys. Everything
//! else becomes a number of its kind, or is left out. The document is made anew field by field, so that a new field does
//! not come through by itself.

use crate::Strings;
use crate::document::{
    BayPlan, CauseOfWait, Explained, LabelColumn, NodeColumns, NodeScore, Placement, PodColumns, PolicyText,
    RuleReasons, RuleText,
};
use bayplan_dry_run::anonymous::words::{KEYS, RESOURCES};
use bayplan_explain::{Conflict, NodeSetCount, Refusal, Requirement};
use bayplan_model::Symbol;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

/// A copy that names nothing of the cluster. `plugins`: the plugins of the scheduler, which keep their names.
pub fn anonymized(plan: &BayPlan, plugins: &[&str]) -> BayPlan {
    let mut names = Names { plugins, known: FxHashMap::default(), counts: FxHashMap::default() };
    let mut strings = Strings::default();
    let text =
        |at: i64| usize::try_from(at).ok().and_then(|at| plan.strings.get(at)).map_or("", String::as_str);
    let mut column = |kind: &'static str, values: &[i64], names: &mut Names| -> Vec<i64> {
        let each = |at: &i64| if *at < 0 { -1 } else { strings.place(&names.of(kind, text(*at))) };
        values.iter().map(each).collect()
    };
    let NodeColumns { name, trouble, allocatable, requested, scarcest, slots, taints, labels } = &plan.nodes;
    let nodes = NodeColumns {
        name: name.iter().map(|name| names.of("node", name)).collect(),
        trouble: column(AS_IT_IS, trouble, &mut names),
        allocatable: allocatable.clone(),
        requested: requested.clone(),
        scarcest: scarcest.clone(),
        slots: slots.clone(),
        taints: taints.iter().map(|taints| column("taint", taints, &mut names)).collect(),
        labels: labels
            .iter()
            .map(|label| LabelColumn {
                key: names.key(&label.key),
                value: column("value", &label.value, &mut names),
            })
            .collect(),
    };
    let of_pods = &plan.pods;
    let pods = PodColumns {
        name: (1..=of_pods.name.len()).map(|number| format!("pod-{number}")).collect(),
        namespace: column("namespace", &of_pods.namespace, &mut names),
        owner: column("owner", &of_pods.owner, &mut names),
        application: column("application", &of_pods.application, &mut names),
        priority: of_pods.priority.clone(),
        requests: of_pods.requests.clone(),
        age: of_pods.age.clone(),
        before: of_pods.before.clone(),
        node: of_pods.node.clone(),
        state: column(AS_IT_IS, &of_pods.state, &mut names),
        message: vec![-1; of_pods.message.len()],
        cause: of_pods.cause.clone(),
    };
    let decisions = plan.decisions.iter().map(|of| Placement {
        pod: of.pod,
        why: String::new(),
        feasible: of.feasible,
        victims: of.victims.clone(),
        nodes: of
            .nodes
            .iter()
            .map(|score| NodeScore {
                node: score.node,
                total: score.total,
                by: score
                    .by
                    .iter()
                    .map(|(by, points)| (strings.place(&names.rule(text(*by))), *points))
                    .collect(),
            })
            .collect(),
    });
    let decisions = decisions.collect();
    BayPlan {
        api_version: plan.api_version.clone(),
        kind: plan.kind.clone(),
        program: plan.program.clone(),
        command: plan.command.clone(),
        flags: String::new(),
        at: plan.at.clone(),
        opens: plan.opens.clone(),
        focus: plan.focus,
        answer: Vec::new(),
        totals: plan.totals.clone(),
        resources: plan.resources.iter().map(|name| names.resource(name)).collect(),
        requests: plan.requests.clone(),
        decisions,
        causes: plan
            .causes
            .iter()
            .enumerate()
            .map(|(at, cause)| CauseOfWait {
                cause: format!("cause {}", at + 1),
                pods: cause.pods,
                oldest: cause.oldest.clone(),
                would_help: String::new(),
                example: cause.example,
            })
            .collect(),
        gated: held(&plan.gated),
        foreign: json!([]),
        explained: plan.explained.iter().map(|of| names.explained(of)).collect(),
        policies: plan.policies.iter().map(|of| names.policy(of)).collect(),
        nodes,
        pods,
        strings: strings.into_texts(),
    }
}

/// The kind of texts that are our own words.
const AS_IT_IS: &str = "";

/// Gates by number, with how many pods each holds.
fn held(gated: &Value) -> Value {
    let all = gated.as_array().into_iter().flatten().enumerate();
    let each = |(at, of): (usize, &Value)| json!({"by": format!("gate {}", at + 1), "pods": of.get("pods"), "reason": "", "opens": null, "then": ""});
    all.map(each).collect()
}

/// Names by kind, each with the number that stands for it.
struct Names<'a> {
    plugins: &'a [&'a str],
    known: FxHashMap<(&'static str, String), usize>,
    counts: FxHashMap<&'static str, usize>,
}

impl Names<'_> {
    fn of(&mut self, kind: &'static str, name: &str) -> String {
        if kind == AS_IT_IS {
            return name.to_owned();
        }
        let count = self.counts.entry(kind).or_default();
        let number = *self.known.entry((kind, name.to_owned())).or_insert_with(|| {
            *count += 1;
            *count
        });
        format!("{kind}-{number}")
    }

    fn resource(&mut self, name: &str) -> String {
        if RESOURCES.contains(&name) { name.to_owned() } else { self.of("resource", name) }
    }

    fn key(&mut self, key: &str) -> String {
        if KEYS.contains(&key) { key.to_owned() } else { self.of("label", key) }
    }

    /// A plugin of the scheduler, or a rule by its number.
    fn rule(&mut self, name: &str) -> String {
        if self.plugins.contains(&name) { name.to_owned() } else { self.of("rule", name) }
    }

    fn rules(&mut self, names: &[String]) -> Vec<String> {
        names.iter().map(|name| self.rule(name)).collect()
    }

    /// `Insufficient cpu` stays; other reasons have words of a policy, of a label or of a volume.
    fn reason(&mut self, resource: Option<&Symbol>) -> String {
        resource.map_or_else(String::new, |resource| format!("Insufficient {}", self.resource(resource)))
    }

    fn policy(&mut self, of: &PolicyText) -> PolicyText {
        let rule = |of: &RuleText, names: &mut Self| RuleText {
            rule: names.rule(&of.rule),
            place: String::new(),
            first: of.first,
            last: of.last,
            doc: None,
            mode: of.mode.clone(),
        };
        PolicyText {
            name: self.of("policy", &of.name),
            file: String::new(),
            line: of.line,
            text: String::new(),
            rules: of.rules.iter().map(|of| rule(of, self)).collect(),
        }
    }

    fn explained(&mut self, of: &Explained) -> Explained {
        let pod = of.pod + 1;
        let verdict = if of.refused_before_nodes.is_some() {
            format!("pod-{pod} waits: refused before nodes are evaluated")
        } else if of.refused_late.is_some() {
            format!("pod-{pod} waits: refused once a node is chosen")
        } else {
            format!("pod-{pod}: {} of {} nodes fit", of.fits, of.nodes)
        };
        let before = of.refused_before_nodes.as_ref();
        Explained {
            pod: of.pod,
            verdict,
            message: String::new(),
            nodes: of.nodes,
            fits: of.fits,
            refused_before_nodes: before.map(|(plugin, _)| (self.rule(plugin), String::new())),
            refused_late: None,
            sets: of
                .sets
                .iter()
                .map(|set| NodeSetCount { rules: self.rules(&set.rules), nodes: set.nodes })
                .collect(),
            rules: of.rules.iter().map(|rule| self.counted(rule)).collect(),
            funnel: of.funnel.iter().map(|(rule, left)| (self.rule(rule), *left)).collect(),
            conflicts: of.conflicts.iter().map(|conflict| self.conflict(conflict)).collect(),
            would_refuse: Vec::new(),
            exceptions: Vec::new(),
            refused_by: json!([]),
            group: json!([]),
            refusals: of.refusals.iter().map(|refusal| self.refusal(refusal)).collect(),
            reasons: of.reasons.clone(),
            per_node: of.per_node.clone(),
            would_help: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The words of its reasons stay where they are about a well-known resource.
    fn counted(&mut self, of: &RuleReasons) -> RuleReasons {
        let known = |words: &&String| {
            RESOURCES.iter().any(|resource| words.starts_with(&format!("{resource}: needs ")))
        };
        RuleReasons {
            rule: self.rule(&of.rule),
            place: String::new(),
            refuses: of.refuses,
            alone: of.alone,
            because: of.because.iter().filter(known).cloned().collect(),
        }
    }

    fn conflict(&mut self, of: &Conflict) -> Conflict {
        let requirement = |of: &Requirement| Requirement {
            rule: self.rule(&of.rule),
            what: String::new(),
            need: String::new(),
            meet: of.meet,
        };
        Conflict { requirements: of.requirements.iter().map(requirement).collect() }
    }

    fn refusal(&mut self, of: &Refusal) -> Refusal {
        let resource = of.shortage.as_ref().map(|shortage| &shortage.resource);
        let amount = |text: &String| if resource.is_some() { text.clone() } else { String::new() };
        Refusal {
            rule: self.rule(&of.rule),
            place: String::new(),
            reason: self.reason(resource),
            what: String::new(),
            need: amount(&of.need),
            have: amount(&of.have),
            shortage: None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_become_numbers_and_the_schedulers_own_words_stay() {
        let mut names =
            Names { plugins: &["NodeName"], known: FxHashMap::default(), counts: FxHashMap::default() };
        assert_eq!(names.of("node", "secret"), "node-1");
        assert_eq!(names.of("node", "other"), "node-2");
        assert_eq!(names.of("node", "secret"), "node-1");
        assert_eq!(names.rule("NodeName"), "NodeName");
        assert_eq!(names.rule("secret/rule"), "rule-1");
        assert_eq!(names.resource("cpu"), "cpu");
        assert_eq!(names.resource("secret.com/chip"), "resource-1");
        assert_eq!(names.key("secret"), "label-1");
    }

    /// Every text of a document in which every text is a secret is gone.
    #[test]
    fn no_text_comes_through() {
        let secret = || "secret".to_owned();
        let plan = BayPlan {
            flags: secret(),
            answer: vec![secret()],
            resources: vec![secret()],
            strings: vec![secret(), "placed".to_owned()],
            nodes: NodeColumns {
                name: vec![secret()],
                taints: vec![vec![0]],
                labels: vec![LabelColumn { key: secret(), value: vec![0] }],
                ..NodeColumns::default()
            },
            pods: PodColumns {
                name: vec![secret()],
                namespace: vec![0],
                owner: vec![0],
                application: vec![0],
                message: vec![0],
                state: vec![1],
                ..PodColumns::default()
            },
            causes: vec![CauseOfWait { cause: secret(), would_help: secret(), ..CauseOfWait::default() }],
            gated: json!([{"by": "secret", "reason": "secret", "then": "secret", "pods": 1}]),
            foreign: json!([{"schedulerName": "secret"}]),
            policies: vec![PolicyText {
                name: secret(),
                file: secret(),
                text: secret(),
                ..PolicyText::default()
            }],
            explained: vec![Explained {
                verdict: secret(),
                message: secret(),
                refused_before_nodes: Some((secret(), secret())),
                refusals: vec![Refusal {
                    rule: secret(),
                    place: secret(),
                    reason: secret(),
                    what: secret(),
                    need: secret(),
                    have: secret(),
                    shortage: None,
                }],
                ..Explained::default()
            }],
            ..BayPlan::default()
        };
        let text = serde_json::to_string(&anonymized(&plan, &[])).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert!(text.contains("placed"), "{text}");
    }
}

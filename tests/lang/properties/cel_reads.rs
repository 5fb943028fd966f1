//! Conditions in CEL for the property of reads: over everything that `reads.rs` changes, with faults.

use super::Random;
use super::reads::{KEYS, VALUES};
use serde_json::json;

struct Maker<'r> {
    random: &'r mut Random,
    nodes: Vec<String>,
    pods: Vec<String>,
    fresh: usize,
}

impl Maker<'_> {
    /// The macro over pods or nodes, with a condition on its variable.
    fn over(&mut self, pods: bool, form: &str, d: usize) -> String {
        self.fresh += 1;
        let name = format!("v{}", self.fresh);
        let known = if pods { &mut self.pods } else { &mut self.nodes };
        known.push(name.clone());
        let condition = self.atom(d.saturating_sub(1));
        let known = if pods { &mut self.pods } else { &mut self.nodes };
        known.pop();
        form.replace('V', &name).replace('C', &condition)
    }

    fn atom(&mut self, d: usize) -> String {
        let (key, value) = (self.random.of(&KEYS), self.random.of(&VALUES));
        let (nodes, pods) = (self.nodes.clone(), self.pods.clone());
        let (node, pod) = (self.random.of(&nodes), self.random.of(&pods));
        let owner = self.random.of(&[node.clone(), pod.clone(), pod.clone(), "ns".to_owned()]);
        let quantifier = self.random.of(&["all", "exists", "exists_one"]);
        match self.random.below(if d == 0 { 13 } else { 22 }) {
            0 => format!("{owner}.labels.{key} == '{value}'"),
            1 => format!("{owner}.labels[?'{key}'].orValue('') == '{value}'"),
            2 => format!("'{key}' in {owner}.labels"),
            3 => format!("(has({owner}.labels.{key}) && {owner}.labels.{key} != '{value}')"),
            4 => format!("dyn({owner}.labels).{key} == '{value}'"),
            5 => format!("{owner}.labels.exists(k, v, k == '{key}' && v == '{value}')"),
            6 => format!("{node}.unschedulable"),
            7 => format!("{node}.free.cpu >= quantity('{}m')", 500 * self.random.below(8)),
            8 => format!("{node}.spec.providerID == '{value}'"),
            9 => format!("6 / {pod}.priority > {}", self.random.below(4)),
            10 => format!("{pod}.requests.cpu > quantity('{}m')", 500 * self.random.below(4)),
            11 => format!("{pod}.?node.optMap(n, n.labels.{key} == '{value}').orValue(false)"),
            12 => format!("{pod}.node.labels.{key} == '{value}'"),
            13 | 14 => format!("({} && {})", self.atom(d - 1), self.atom(d - 1)),
            15 | 16 => format!("({} || {})", self.atom(d - 1), self.atom(d - 1)),
            17 => format!("({} ? {} : {})", self.atom(d - 1), self.atom(d - 1), self.atom(d - 1)),
            18 => self.over(false, &format!("nodes.{quantifier}(V, C)"), d),
            19 => self.over(true, &format!("pods.{quantifier}(V, C)"), d),
            20 => self.over(true, &format!("{node}.pods.filter(V, C).size() > {}", d), d),
            _ => self.over(true, "groups.mates.map(V, C).all(x, x)", d),
        }
    }
}

/// A policy as a document.
pub(super) fn program(random: &mut Random) -> String {
    let (nodes, pods) = (vec!["node".to_owned()], vec!["pod".to_owned()]);
    let mut maker = Maker { random, nodes, pods, fresh: 0 };
    let (here, check) = (maker.atom(2), maker.atom(3));
    let check = if maker.random.one_in(2) { format!("({check}) && variables.here") } else { check };
    let rule = match maker.random.one_in(2) {
        true => json!({"require": check, "else": "no"}),
        false => json!({"reject": "no", "when": check}),
    };
    json!({"apiVersion": "bayplan.dev/v1", "kind": "SchedulingPolicy", "metadata": {"name": "random"}, "spec": {
        "appliesToAllPods": true,
        "groups": [{"name": "mates", "expression": "p.labels['job'] == pod.labels['job']"}],
        "variables": [{"name": "here", "expression": here}],
        "filters": [{"name": "f", "rules": [rule]}],
    }})
    .to_string()
}

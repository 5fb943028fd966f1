//! What explanations say of a node that a hard constraint refuses: the domain, its count, the fewest pods elsewhere and
//! the skew; and which edits may help.

use super::PodTopologySpread;
use super::hard::{Hard, REASON, REASON_LABEL, RuleCounts, Skew};
use super::rules::own;
use bayplan_framework::{Edit, Handle, Violation};
use bayplan_model::{NodeId, NodeInfo, Symbol};

/// `1 pod`, `3 pods`
fn pods(count: i64) -> String {
    if count == 1 { String::from("1 pod") } else { format!("{count} pods") }
}

/// `skew 3 in a: 3 pods there, 1 in b`
fn have(hard: &Hard, at: usize, of: &RuleCounts, node: NodeId, skew: Skew) -> String {
    let name = |domain: usize| of.domains.value(domain).filter(|value| !value.is_empty()).map(Symbol::as_str);
    let here = of.domains.get(node.row()).and_then(name).unwrap_or("the empty value");
    let elsewhere = match hard.least(at, of).1 {
        _ if of.has_few_domains() => {
            let (eligible, wanted) = (of.eligible(), of.rule.min_domains);
            let domains = if eligible == 1 { "1 domain".to_owned() } else { format!("{eligible} domains") };
            format!("{domains} of {wanted} (minDomains)")
        }
        Some(least) => format!("{} in {}", skew.least, name(least).unwrap_or("the empty value")),
        None => String::from("no domain counts"),
    };
    format!("skew {} in {here}: {} there, {elsewhere}", skew.skew, pods(skew.count))
}

impl PodTopologySpread {
    /// All hard constraints that keep the pod off a node.
    pub(super) fn spread_violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        let hard = match self.hard(h) {
            Ok(Some(hard)) => hard,
            Ok(None) => return,
            Err(status) => {
                out.push(Violation { reason: status.message(), ..Violation::default() });
                return;
            }
        };
        let by_default = if own(h.pod).is_empty() { "default " } else { "" };
        for (at, of) in hard.rules() {
            let key = &of.rule.topology_key;
            match hard.skew(at, of, node.id()) {
                None => out.push(Violation {
                    reason: REASON_LABEL.to_owned(),
                    what: format!("label {key}"),
                    need: String::from("any value"),
                    have: String::from("absent"),
                    ..Violation::default()
                }),
                Some(skew) if skew.skew > i64::from(of.rule.max_skew) => out.push(Violation {
                    reason: REASON.to_owned(),
                    what: format!("{by_default}spread over {key}"),
                    need: format!("a skew of at most {}", of.rule.max_skew),
                    have: have(&hard, at, of, node.id(), skew),
                    ..Violation::default()
                }),
                Some(_) => {}
            }
        }
    }

    /// Edits that may help against hard constraints. Defaults are not the pod's to edit.
    pub(super) fn spread_remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        let (Ok(Some(hard)), Some(node)) = (self.hard(h), node) else { return Vec::new() };
        let is_own = !own(h.pod).is_empty();
        let mut edits = Vec::new();
        let mut full = false;
        for (at, of) in hard.rules() {
            let topology_key = of.rule.topology_key.clone();
            match hard.skew(at, of, node.id()) {
                None => {}
                Some(skew) if skew.skew > i64::from(of.rule.max_skew) => {
                    full = true;
                    let from = of.rule.max_skew;
                    if let (true, Ok(to)) = (is_own, i32::try_from(skew.skew)) {
                        edits.push(Edit::MaxSkew { topology_key: topology_key.clone(), from, to });
                    }
                }
                Some(_) => continue,
            }
            if is_own {
                edits.push(Edit::SpreadAnyway { topology_key });
            }
        }
        if full {
            edits.push(Edit::PodsEnd);
        }
        edits
    }
}

//! Extenders of a world: what they refuse is fixed for a pod and a node, so that waiting for them has a reason; what
//! goes wrong with their answers is not.

use crate::world::World;
use bayplan::dry_run::Fault;
use bayplan::framework::*;
use bayplan::model::{Duration, PodInfo, Symbol};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Three extenders: two filter, two score, two take part in preemption, the last binds and is ignorable.
pub(crate) fn extenders() -> Arc<Extenders> {
    let verb = |has: bool, name: &str| if has { name.to_owned() } else { String::new() };
    let extender = |at: u64| Extender {
        url: format!("http://extender-{at}"),
        filter_verb: verb(at < 2, "filter"),
        prioritize_verb: verb(at != 1, "prioritize"),
        preempt_verb: verb(at != 1, "preempt"),
        bind_verb: verb(at == 2, "bind"),
        weight: 1 + at as i64,
        node_cache_capable: at != 1,
        ignorable: at == 2,
        timeout: Duration::from_seconds(2),
        ..Extender::default()
    };
    Arc::new(Extenders::new((0..3).map(extender).collect()))
}

fn number(of: impl Hash) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    of.hash(&mut hasher);
    hasher.finish() >> 7
}

/// Whether an extender leaves a node to a pod.
pub(crate) fn leaves(at: u16, pod: &Symbol, node: &Symbol) -> bool {
    at > 1 || !number((at, pod.as_str(), node.as_str())).is_multiple_of(5)
}

/// Whether all extenders leave a node to a pod.
pub(crate) fn all_leave(pod: &PodInfo, node: &Symbol) -> bool {
    (0..3).all(|at| leaves(at, &pod.name, node))
}

impl World {
    /// Carries out a call, with what goes wrong on the way.
    pub(crate) fn answer(&mut self, call: &ApiCall, fault: Option<Fault>) -> Result<Answer, CallError> {
        let ApiCall::Extender { at, ask } = call else { return self.api.answer(call, self.now, fault) };
        let lost = || CallError::Unknown(String::from("context deadline exceeded"));
        match fault {
            Some(Fault::Refuse(code)) => {
                let message = format!("failed verb with extender, code {code}");
                return Err(CallError::Refused { code, reason: String::new(), message });
            }
            Some(Fault::LoseCall) => return Err(lost()),
            // A lie in place of an answer; a bind happens all the same.
            Some(Fault::LoseAnswer) => match ask {
                ExtenderAsk::Filter { .. } => {
                    let names = Some(vec![String::from("nowhere")]);
                    let lie = Filtered { nodes: names.clone(), names, ..Filtered::default() };
                    return Ok(Answer::Extender(ExtenderAnswer::Filtered(lie)));
                }
                ExtenderAsk::Bind { .. } => {
                    let _ = self.answer(call, None);
                    return Err(lost());
                }
                _ => return Ok(Answer::Done),
            },
            None => {}
        }
        Ok(Answer::Extender(match ask {
            ExtenderAsk::Filter { pod, nodes } => {
                let (left, refused): (Vec<_>, Vec<_>) =
                    nodes.iter().partition(|node| leaves(*at, &pod.name, node));
                let left: Vec<String> = left.iter().map(|node| node.to_string()).collect();
                let refused = refused.iter().filter(|node| number(node.as_str()) % 3 > 0);
                ExtenderAnswer::Filtered(Filtered {
                    names: Some(left.clone()).filter(|_| *at != 1),
                    nodes: Some(left).filter(|_| *at == 1),
                    failed: refused
                        .map(|node| (node.to_string(), format!("extender {at} refuses")))
                        .collect(),
                    unresolvable: Vec::new(),
                })
            }
            ExtenderAsk::Prioritize { pod, nodes } => {
                let score = |node: &Symbol| number((at, pod.uid.as_str(), node.as_str())) as i64 % 12 - 1;
                ExtenderAnswer::Scores(nodes.iter().map(|node| (node.to_string(), score(node))).collect())
            }
            ExtenderAsk::Preempt { pod, candidates } => {
                let left = |of: &&NodeVictims| number((at, pod.uid.as_str(), of.node.as_str())) % 4 > 0;
                let victims = candidates.iter().filter(left).map(|of| {
                    let uids = of.pods.iter().map(|victim| victim.uid.to_string()).collect();
                    (of.node.to_string(), uids, of.pdb_violations)
                });
                ExtenderAnswer::Victims(victims.collect())
            }
            ExtenderAsk::Bind { pod, node } => {
                let bind = ApiCall::Bind { pod: pod.clone(), node: node.clone(), marks: Default::default() };
                self.api.answer(&bind, self.now, None)?;
                ExtenderAnswer::Bound
            }
        }))
    }
}

/// The pod that a call binds, by the API server or by an extender.
pub(crate) fn bound_by(call: &ApiCall) -> Option<&bayplan::model::ObjectKey> {
    match call {
        ApiCall::Bind { pod, .. } | ApiCall::Extender { ask: ExtenderAsk::Bind { pod, .. }, .. } => Some(pod),
        _ => None,
    }
}

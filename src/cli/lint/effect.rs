//! The effect of a wrong name in a cluster: for how many pods the filter that reads it refuses every node.
//! Decided by the reference evaluator on the objects of the cluster file.

use crate::dry_run::World;
use crate::lang::eval::context::EvalContext;
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::typed::Rule;
use crate::model::{NodeInfo, PodInfo, Snapshot, Time};
use crate::plugins::policy::{ExemptPods, why_exempt};

/// How many pairs of a pod and a node are evaluated for one filter, at most: about a second.
const MOST: usize = 500_000;

/// The effect of a filter in words. `None` when it refuses all nodes of no pod, or when the cluster is too
/// large to tell.
pub(super) fn of_filter(
    compiled: &CompiledPolicy,
    filter: &Rule,
    world: &World,
    snapshot: &Snapshot,
) -> Option<String> {
    let pods = world.objects.iter().filter_map(|object| match object {
        crate::model::Object::Pod(pod) => Some(pod),
        _ => None,
    });
    let nodes = snapshot.nodes().count();
    let (mut waiting, mut looked) = (0, 0);
    for pod in pods.chain(&world.pending) {
        if !applies(compiled, pod, snapshot) {
            continue;
        }
        let mut let_in = false;
        for node in snapshot.nodes() {
            looked += 1;
            let_in = !refuses(compiled, filter, pod, node, snapshot);
            if let_in || looked > MOST {
                break;
            }
        }
        if looked > MOST {
            return None;
        }
        waiting += usize::from(!let_in);
    }
    let all = if nodes == 1 { "the only node".to_owned() } else { format!("all {nodes} nodes") };
    let would = match waiting {
        0 => return None,
        1 => "1 pod would wait".to_owned(),
        many => format!("{many} pods would wait"),
    };
    (nodes > 0).then(|| format!("as written, `{}` refuses {all}, and {would}", filter.name()))
}

fn context<'a>(pod: &'a PodInfo, node: Option<NodeInfo<'a>>, snapshot: &'a Snapshot) -> EvalContext<'a> {
    EvalContext { node, ..EvalContext::new(pod, snapshot, Time(0)) }
}

/// Whether the policy is about a pod.
fn applies(compiled: &CompiledPolicy, pod: &PodInfo, snapshot: &Snapshot) -> bool {
    let policy = &compiled.policy;
    if !policy.to_all_pods && why_exempt(pod, &ExemptPods::default(), snapshot).is_some() {
        return false;
    }
    let mut evaluator = compiled.evaluator(context(pod, None, snapshot));
    let guards = policy.lets.iter().filter(|of| of.missing.is_some());
    policy.narrows().all(|condition| evaluator.holds(condition))
        && guards.into_iter().all(|of| !evaluator.value(&of.value).is_absent())
}

fn refuses(
    compiled: &CompiledPolicy,
    filter: &Rule,
    pod: &PodInfo,
    node: NodeInfo<'_>,
    snapshot: &Snapshot,
) -> bool {
    let mut evaluator = compiled.evaluator(context(pod, Some(node), snapshot));
    if filter.head.guard.iter().any(|leave| evaluator.holds(&leave.holds)) {
        return false;
    }
    filter.checks().any(|check| {
        let holds = check.condition.as_ref().map(|condition| evaluator.holds(condition));
        holds.unwrap_or(check.refuses_when) == check.refuses_when
    })
}

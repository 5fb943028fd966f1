//! The cache debugger, as in kube-scheduler: SIGUSR2 makes it compare the cache with the API server
//! and write the differences, the cache and the queue into the log. Each node is one line; its
//! field `node` is JSON. `run` starts it. It changes nothing.
//!
//! Source: `pkg/scheduler/backend/cache/debugger`.

use super::comparer::{self, Mismatches, compare};
use super::driver::Driver;
use super::supervisor::{Supervisor, Task};
use crate::api::client::{Api, ApiError};
use crate::inputs::informers;
use crate::inputs::objects::OfKind;
use crate::inputs::watch::{self, Collection};
use bayplan_model::objects::projection::Projection;
use bayplan_model::objects::{node, pod};
use bayplan_model::{Node, NodeId, NodeInfo, Object, PodInfo, Resource, Snapshot};
use bayplan_scheduler::Scheduler;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// A difference may only mean that a watch event is on its way. A second comparison after this time
/// tells.
const AGAIN: Duration = Duration::from_secs(1);

/// The scheduler at one moment.
struct Picture {
    snapshot: Snapshot,
    /// Number of pods that are active, in backoff, unschedulable and gated.
    counts: [usize; 4],
    queued: Vec<Arc<PodInfo>>,
}

impl Picture {
    fn of(scheduler: &Scheduler) -> Self {
        let snapshot = scheduler.fork();
        let queued = scheduler.all_queued();
        let queued = queued.iter().filter_map(|key| Some(snapshot.pod(key)?.pod.clone())).collect();
        Self { snapshot, counts: scheduler.queue_counts(), queued }
    }
}

/// Handles SIGUSR2 until the scheduler ends.
pub(crate) fn start(supervisor: &Supervisor, api: Api, driver: Driver<Scheduler>) -> std::io::Result<()> {
    // Registered at once, because without a handler the signal ends the process.
    let mut asked = signal(SignalKind::user_defined2())?;
    supervisor.spawn(Task::Debugger, async move {
        while asked.recv().await.is_some() {
            let Some(picture) = show_differences(&api, &driver).await else { return };
            dump(&picture);
        }
    });
    Ok(())
}

/// Compares and logs the differences; returns the last picture of the scheduler, or `None` if it
/// has ended.
async fn show_differences(api: &Api, driver: &Driver<Scheduler>) -> Option<Picture> {
    tracing::debug!("Cache comparer started");
    let mut found: Option<Mismatches> = None;
    let picture = loop {
        let listed = list(api).await;
        let picture = driver.inspect(|scheduler| Picture::of(scheduler)).await?;
        let (nodes, pods) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                tracing::error!(%error, "cannot compare the cache: listing the objects of the API server failed");
                return Some(picture);
            }
        };
        let seen = compare(&picture.snapshot, &nodes, &pods);
        let stays = match found.take() {
            _ if seen.is_empty() => break picture,
            None => {
                found = Some(seen);
                tokio::time::sleep(AGAIN).await;
                continue;
            }
            Some(before) => before.intersection(&seen).cloned().collect::<Mismatches>(),
        };
        let of = |kind: &str| -> Vec<&str> {
            stays.iter().filter(|(of, _)| *of == kind).map(|(_, name)| name.as_str()).collect()
        };
        if !stays.is_empty() {
            tracing::warn!(
                missedNodes = ?of(comparer::MISSED_NODES), redundantNodes = ?of(comparer::REDUNDANT_NODES),
                changedNodes = ?of(comparer::CHANGED_NODES), wrongSums = ?of(comparer::WRONG_SUMS),
                missedPods = ?of(comparer::MISSED_PODS), redundantPods = ?of(comparer::REDUNDANT_PODS),
                changedPods = ?of(comparer::CHANGED_PODS), "Cache mismatch"
            );
        }
        break picture;
    };
    tracing::debug!("Cache comparer finished");
    Some(picture)
}

type Listed = (Vec<Arc<Node>>, Vec<Arc<PodInfo>>);

async fn list(api: &Api) -> Result<Listed, ApiError> {
    let nodes = list_of::<node::Node>(api).await?.into_iter().filter_map(|object| match object {
        Object::Node(node) => Some(node),
        _ => None,
    });
    let nodes = nodes.collect();
    let pods = list_of::<pod::Pod>(api).await?.into_iter().filter_map(|object| match object {
        Object::Pod(pod) => Some(pod),
        _ => None,
    });
    Ok((nodes, pods.collect()))
}

/// The objects of a kind without annotations, which are not compared: those of a large cluster take more
/// memory than all that the scheduler keeps.
fn compared<T: OfKind>() -> Collection {
    Collection { keep: Projection::default(), ..informers::collection(&T::KIND) }
}

async fn list_of<T: OfKind>(api: &Api) -> Result<Vec<Object>, ApiError> {
    let (objects, _) = watch::list::<T>(api, &compared::<T>()).await?;
    // The cache leaves out objects that cannot be read at all, too.
    Ok(objects.into_iter().filter_map(|object| Some(object.parse().ok()?.object)).collect())
}

fn dump(picture: &Picture) {
    for row in 0..picture.snapshot.columns().rows() {
        let Some(node) = picture.snapshot.node(NodeId::from_row(row)) else { continue };
        let alive = picture.snapshot.columns().alive().contains(node.id());
        if alive || node.pod_count() > 0 {
            tracing::info!(node = %shown_node(node, alive), "Dump of cached NodeInfo");
        }
    }
    let [active, backoff, unschedulable, gated] = picture.counts;
    let summary =
        format!("activeQ:{active}; backoffQ:{backoff}; unschedulablePods:{}", unschedulable + gated);
    let pods = json!(picture.queued.iter().map(|pod| shown_pod(pod)).collect::<Vec<_>>());
    tracing::info!(summary, pods = %pods, "Dump of scheduling queue");
}

fn shown_node(node: NodeInfo<'_>, alive: bool) -> Value {
    let object = node.node();
    let mut pods: Vec<&Arc<PodInfo>> = node.pods().collect();
    pods.sort_by_key(|pod| (&pod.namespace, &pod.name));
    let labels = object.labels.iter().map(|(key, value)| (key.to_string(), json!(value)));
    let taints = object
        .taints
        .iter()
        .map(|taint| json!({"key": taint.key, "value": taint.value, "effect": taint.effect.name()}));
    let nominated = node.snapshot().nominated(node.id());
    json!({
        "name": object.name,
        "deleted": !alive,
        "requested": amounts(node.requested()),
        "allocatable": amounts(node.allocatable()),
        "labels": labels.collect::<Map<String, Value>>(),
        "taints": taints.collect::<Vec<Value>>(),
        "unschedulable": object.unschedulable,
        "pods": pods.into_iter().map(|pod| shown_pod(pod)).collect::<Vec<Value>>(),
        "nominated": nominated.iter().map(|pod| shown_pod(pod)).collect::<Vec<Value>>(),
    })
}

fn shown_pod(pod: &PodInfo) -> Value {
    json!({
        "name": pod.name, "namespace": pod.namespace, "uid": pod.uid, "phase": pod.phase,
        "nominatedNode": pod.nominated_node,
    })
}

/// Amounts, with the names of upstream.
fn amounts(of: &Resource) -> Value {
    let scalars = of.scalars.iter().filter(|(_, amount)| *amount != 0);
    json!({
        "milliCPU": of.milli_cpu, "memory": of.memory, "ephemeralStorage": of.ephemeral_storage,
        "allowedPodNumber": of.pods,
        "scalarResources": scalars.map(|(name, amount)| (name.to_string(), json!(amount))).collect::<Map<_, _>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::objects::Slim;
    use crate::inputs::watch::Watched;

    #[test]
    fn a_comparison_lists_no_annotations() {
        let text = r#"{"metadata":{"name":"a","annotations":{"large":"x"}},"spec":{"containers":[]}}"#;
        let mut pod: pod::Pod = serde_json::from_str(text).unwrap();
        pod.keep(&compared::<pod::Pod>().keep);
        let Ok(Object::Pod(pod)) = pod.parse().map(|seen| seen.object) else { panic!("no pod") };
        assert_eq!(pod.annotations.iter().len(), 0);
    }
}

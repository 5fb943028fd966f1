//! GPUs by number: how many GPUs a pod requests, which share of each, and what is free on each GPU of a node.
//!
//! Read by the fields `pod.gpu` and `node.gpus` of the language. Kubernetes counts devices without naming them;
//! clusters that share GPUs use the labels and annotations of [`KEYS`].

use super::node_info::NodeInfo;
use super::pod::{PodInfo, PodKey};
use super::resource::Resource;
use super::symbol::Symbol;
use std::sync::LazyLock;

/// A whole GPU, in thousandths.
pub const WHOLE: i64 = 1000;

/// Maximum number of GPUs of a node.
const MOST: i64 = 1024;

/// The names of resources, annotations and labels that describe GPUs.
struct Keys {
    /// Resources that count GPUs; the first that an object names is meant. The first is also an annotation of pods.
    count: [&'static str; 3],
    /// Resource or annotation of a pod: thousandths of each GPU that it requests.
    milli: &'static str,
    /// Annotation of a pod: the numbers of its GPUs, with `-` or `,` between them.
    index: &'static str,
    /// Labels of a node: the model of its GPUs.
    model: [&'static str; 3],
}

const KEYS: Keys = Keys {
    count: ["alibabacloud.com/gpu-count", "nvidia.com/gpu", "amd.com/gpu"],
    milli: "alibabacloud.com/gpu-milli",
    index: "alibabacloud.com/gpu-index",
    model: ["nvidia.com/gpu.product", "alibabacloud.com/gpu-card-model", "amd.com/gpu.product-name"],
};

/// The names of [`KEYS`] under which amounts and labels are found.
struct Names {
    count: [Symbol; 3],
    milli: Symbol,
    model: [Symbol; 3],
}

/// Made once: to make a symbol takes a lock and a hash, and a rule about GPUs reads every pod of every node.
static NAMES: LazyLock<Names> = LazyLock::new(|| Names {
    count: KEYS.count.map(Symbol::new),
    milli: Symbol::new(KEYS.milli),
    model: KEYS.model.map(Symbol::new),
});

/// A pod's request for GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GpuRequest {
    /// GPUs.
    pub count: i64,
    /// Thousandths of each of them, 0 to 1000.
    pub milli: i64,
}

/// A GPU of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its number on the node, from 0.
    pub index: i64,
    /// What of it no pod has, in thousandths.
    pub free: i64,
}

/// The annotations of pods that are read here.
pub const ANNOTATIONS: [&str; 3] = [KEYS.count[0], KEYS.milli, KEYS.index];

fn counted(amounts: &Resource) -> i64 {
    NAMES.count.iter().map(|name| amounts.get(name)).find(|count| *count > 0).unwrap_or(0)
}

fn number(pod: &PodInfo, annotation: &str) -> Option<i64> {
    pod.annotations.get(annotation).and_then(|text| text.parse().ok())
}

/// A pod's request for GPUs: a share of one GPU, or whole GPUs.
pub fn requested(pod: &PodInfo) -> GpuRequest {
    let [key, ..] = KEYS.count;
    let count = number(pod, key).filter(|count| *count > 0).unwrap_or_else(|| counted(&pod.requests));
    let named = number(pod, KEYS.milli).unwrap_or_else(|| pod.requests.get(&NAMES.milli));
    match (count, named) {
        (0, 0) => GpuRequest::default(),
        (0, milli) => GpuRequest { count: i64::from(milli > 0), milli: milli.clamp(0, WHOLE) },
        (count, milli) if milli <= 0 => GpuRequest { count, milli: WHOLE },
        (count, milli) => GpuRequest { count, milli: milli.min(WHOLE) },
    }
}

/// The model of a node's GPUs, when a label says it.
pub fn model(node: NodeInfo<'_>) -> Option<&Symbol> {
    NAMES.model.iter().find_map(|key| node.label(key))
}

/// The GPUs of a node, in the order of their numbers, minus its pods' use, ignoring pod `but`.
///
/// A pod whose annotation names its GPUs uses those. The other pods, in the order of their names, are assumed to use
/// the first entirely free GPUs, or for a share the fullest GPU that has room for it, as a device plugin would assign
/// them.
pub fn of_node(node: NodeInfo<'_>, but: &PodKey) -> Vec<Gpu> {
    let count = counted(node.allocatable()).clamp(0, MOST);
    let mut gpus: Vec<Gpu> = (0..count).map(|index| Gpu { index, free: WHOLE }).collect();
    if gpus.is_empty() {
        return gpus;
    }
    let mut unnamed: Vec<(&PodKey, GpuRequest)> = Vec::new();
    for pod in node.pods().filter(|pod| pod.key != *but) {
        let wanted = requested(pod);
        if wanted.count == 0 {
            continue;
        }
        match pod.annotations.get(KEYS.index) {
            Some(numbers) => {
                let numbers = numbers.split(['-', ',']).filter_map(|text| text.trim().parse::<usize>().ok());
                for number in numbers {
                    if let Some(gpu) = gpus.get_mut(number) {
                        gpu.free = (gpu.free - wanted.milli).max(0);
                    }
                }
            }
            None => unnamed.push((&pod.key, wanted)),
        }
    }
    unnamed.sort_by(|a, b| a.0.cmp(b.0));
    for (_, wanted) in unnamed {
        for _ in 0..wanted.count.min(count) {
            let fullest = gpus
                .iter_mut()
                .filter(|gpu| gpu.free >= wanted.milli)
                .min_by_key(|gpu| (gpu.free, gpu.index));
            if let Some(gpu) = fullest {
                gpu.free -= wanted.milli;
            }
        }
    }
    gpus
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::{node, pod};
    use crate::{Change, Placement, Snapshot};

    fn free(pods: Vec<std::sync::Arc<PodInfo>>) -> Vec<i64> {
        let mut snapshot = Snapshot::default();
        let of = node("n").cpu("8").resource("alibabacloud.com/gpu-count", "3").build();
        snapshot.apply(Change::NodeUpserted { node: of });
        let id = snapshot.node_by_name(&Symbol::new("n")).unwrap();
        for pod in pods {
            snapshot.apply(Change::PodPlaced { pod, node: id, how: Placement::Bound });
        }
        let but = pod("asked").build();
        of_node(snapshot.node(id).unwrap(), &but.key).iter().map(|gpu| gpu.free).collect()
    }

    fn shared(name: &str, milli: &str) -> crate::testing::PodMaker {
        pod(name).annotation("alibabacloud.com/gpu-milli", milli)
    }

    #[test]
    fn a_request_is_a_share_or_whole_gpus() {
        let of = |pod: crate::testing::PodMaker| requested(&pod.build());
        assert_eq!(of(pod("a")), GpuRequest { count: 0, milli: 0 });
        assert_eq!(of(pod("a").request("nvidia.com/gpu", "2")), GpuRequest { count: 2, milli: 1000 });
        assert_eq!(of(shared("a", "460")), GpuRequest { count: 1, milli: 460 });
        assert_eq!(
            of(shared("a", "500").annotation("alibabacloud.com/gpu-count", "2")),
            GpuRequest { count: 2, milli: 500 }
        );
        assert_eq!(of(shared("a", "4000")), GpuRequest { count: 1, milli: 1000 });
        assert_eq!(of(shared("a", "-3")), GpuRequest { count: 0, milli: 0 });
    }

    #[test]
    fn pods_take_the_gpus_that_they_name_and_others_the_fullest_with_room() {
        assert_eq!(free(vec![]), [1000, 1000, 1000]);
        let named = shared("a", "300").annotation("alibabacloud.com/gpu-index", "2").build();
        assert_eq!(free(vec![named.clone()]), [1000, 1000, 700]);
        assert_eq!(free(vec![named.clone(), shared("b", "600").build()]), [1000, 1000, 100]);
        assert_eq!(free(vec![named.clone(), shared("b", "800").build()]), [200, 1000, 700]);
        let two = pod("c").request("nvidia.com/gpu", "2").build();
        assert_eq!(free(vec![named, two]), [0, 0, 700]);
        let both = shared("d", "500").annotation("alibabacloud.com/gpu-index", "0-1").build();
        assert_eq!(free(vec![both]), [500, 500, 1000]);
    }
}

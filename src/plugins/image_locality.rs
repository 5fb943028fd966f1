//! Prefers nodes that have the pod's images already, by their size and by how many nodes have them.
//!
//! The number of nodes is exact here; upstream uses the number at the time the node last changed.
//!
//! Source: `pkg/scheduler/framework/plugins/imagelocality/image_locality.go`.

use bayplan_framework::{ArgsError, Features, Handle, Plugin, Reads, Score, Status, Tree};
use bayplan_model::{
    Change, Delta, Feeds, Image, Index, IndexError, IndexKey, Kinds, Moved, Moves, NodeId, NodeInfo, NodeSet,
    Snapshot, Symbol, VersionRow, blocks_mut,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

const NAME: &str = "ImageLocality";
const MIB: i64 = 1024 * 1024;
/// Below this sum of sizes an image is not worth going anywhere for.
const MIN_THRESHOLD: i64 = 23 * MIB;
/// Above this size per container more does not count.
const MAX_CONTAINER_THRESHOLD: i64 = 1000 * MIB;

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, ImageLocality)
}

struct ImageLocality;

/// Which nodes have an image, and its size there; by row.
type Holders = Vec<(NodeId, i64)>;

/// The index from image names to the nodes that have them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImageHolders {
    by_name: FxHashMap<Symbol, Arc<Holders>>,
}

impl ImageHolders {
    /// The key of the index.
    pub fn key() -> IndexKey {
        IndexKey(Symbol::new(NAME))
    }

    /// The size of an image, as the first node in row order reports it, and the nodes that have it.
    fn image(&self, name: &Symbol) -> Option<(i64, &Arc<Holders>)> {
        let holders = self.by_name.get(name)?;
        Some((holders.first()?.1, holders))
    }

    fn add(&mut self, node: NodeId, images: &[Image]) {
        for image in images {
            for name in &image.names {
                let holders = Arc::make_mut(self.by_name.entry(name.clone()).or_default());
                if let Err(at) = holders.binary_search_by_key(&node, |(node, _)| *node) {
                    holders.insert(at, (node, image.size));
                }
            }
        }
    }

    fn remove(&mut self, node: NodeId, images: &[Image]) {
        for name in images.iter().flat_map(|image| image.names.iter()) {
            let Some(holders) = self.by_name.get_mut(name) else { continue };
            let holders = Arc::make_mut(holders);
            if let Ok(at) = holders.binary_search_by_key(&node, |(node, _)| *node) {
                holders.remove(at);
            }
            if holders.is_empty() {
                self.by_name.remove(name);
            }
        }
    }
}

impl Index for ImageHolders {
    fn feeds(&self) -> Feeds {
        Feeds::NODES
    }
    fn apply(&mut self, delta: &Delta<'_>, _: &Snapshot, moved: &mut Moves) {
        let now = match delta.change {
            Change::NodeUpserted { node } => Some(node),
            Change::NodeRemoved { .. } => None,
            _ => return,
        };
        let (Some(row), before) = (delta.node, &delta.node_before) else { return };
        if before.as_ref().zip(now).is_some_and(|(before, now)| before.images == now.images) {
            return;
        }
        if let Some(before) = before {
            self.remove(row, &before.images);
        }
        if let Some(now) = now {
            self.add(row, &now.images);
        }
        moved.0.push((Moved::Global, Kinds::IMAGES));
    }

    fn rebuild(&mut self, snapshot: &Snapshot) {
        self.by_name.clear();
        for node in snapshot.nodes() {
            self.add(node.id(), &node.node().images);
        }
    }

    fn fork(&self) -> Box<dyn Index> {
        Box::new(self.clone())
    }
}

/// The amount that an image adds to the sum of a node that has it: its size, scaled by the share of nodes that have it.
fn scaled(size: i64, holders: usize, nodes: usize) -> i64 {
    (size as f64 * (holders as f64 / nodes as f64)) as i64
}

/// How many images count in the maximum of the score: of containers, and since 1.37 of volumes.
fn counted(h: &Handle) -> usize {
    let volumes = h.snapshot.version_rows().has(VersionRow::ImageVolumes);
    if volumes { h.pod.images.len() } else { h.pod.containers.len() }
}

fn score(sum: i64, containers: usize) -> i64 {
    let max = MAX_CONTAINER_THRESHOLD * containers as i64;
    if max <= MIN_THRESHOLD {
        return 0;
    }
    let sum = sum.min(max).max(MIN_THRESHOLD);
    100 * (sum - MIN_THRESHOLD) / (max - MIN_THRESHOLD)
}

/// The share and the holders of each image of the pod; an image of two containers comes twice.
type Images<'h> = SmallVec<[(i64, &'h Holders); 4]>;

/// Calls `with` with the images of the pod that some node has.
fn with_images(h: &Handle, with: impl FnOnce(&Images<'_>)) -> Result<(), Status> {
    let built;
    let index = match h.snapshot.try_index::<ImageHolders>(&ImageHolders::key()) {
        Ok(index) => index,
        Err(error @ IndexError::Broken) => return Err(Status::error(error.to_string())),
        // A snapshot without this plugin's index: build the index.
        Err(IndexError::Absent) => {
            let mut fresh = ImageHolders::default();
            fresh.rebuild(h.snapshot);
            built = fresh;
            &built
        }
    };
    let nodes = h.snapshot.node_count();
    let images = h.pod.images.iter().filter_map(|name| index.image(name));
    with(&images.map(|(size, holders)| (scaled(size, holders.len(), nodes), &**holders)).collect());
    Ok(())
}

impl Plugin for ImageLocality {
    fn name(&self) -> &str {
        NAME
    }
    fn reads(&self) -> Reads {
        Reads::of(Kinds::IMAGES.with(Kinds::NODES))
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        vec![(ImageHolders::key(), Box::new(ImageHolders::default()))]
    }
    bayplan_framework::serves!(Score);
}

impl Score for ImageLocality {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        let mut sum = 0i64;
        with_images(h, |images| {
            for (share, holders) in images {
                if holders.binary_search_by_key(&node.id(), |(node, _)| *node).is_ok() {
                    sum = sum.saturating_add(*share);
                }
            }
        })?;
        Ok(score(sum, counted(h)))
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        out.fill(0);
        let containers = counted(h);
        with_images(h, |images| match images[..] {
            [] => {}
            // One image has one score where it is, and none where it is not.
            [(share, holders)] => {
                let score = score(share, containers);
                for (node, _) in holders {
                    if let Some(out) = out.get_mut(node.row()) {
                        *out = score;
                    }
                }
            }
            _ => {
                for (share, holders) in images {
                    for (node, _) in holders.iter() {
                        if let Some(out) = out.get_mut(node.row()) {
                            *out = out.saturating_add(*share);
                        }
                    }
                }
                // Sums are few: as many as sets of the images.
                let mut known: SmallVec<[(i64, i64); 8]> = SmallVec::new();
                for sum in blocks_mut(nodes, out).flat_map(|(_, _, out)| out) {
                    let score = match known.iter().find(|(of, _)| of == sum) {
                        Some((_, score)) => *score,
                        None => {
                            known.push((*sum, score(*sum, containers)));
                            known[known.len() - 1].1
                        }
                    };
                    *sum = score;
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map};
    use bayplan_model::testing::{node, pod};

    #[test]
    fn a_node_that_has_the_image_scores_by_its_size_and_by_how_many_nodes_have_it() {
        let mib = 1024 * 1024;
        let has = |name: &str, size: i64| node(name).image("web:1", size * mib).object();
        let trial = Trial::of("ImageLocality", vec![has("a", 500), node("b").object()]);
        // 500 MiB on one node of two count as 250: (250 - 23) of (1000 - 23).
        assert_eq!(trial.scores(&pod("p").image("web:1").build()), map([("a", 23), ("b", 0)]));
        assert_eq!(trial.scores(&pod("p").image("db:1").build()), map([("a", 0), ("b", 0)]));
        // Below 23 MiB an image does not matter.
        let trial = Trial::of("ImageLocality", vec![has("a", 20), has("b", 20)]);
        assert_eq!(trial.scores(&pod("p").image("web:1").build()), map([("a", 0), ("b", 0)]));
    }
}

//! Code that the two resource scorers share: the amounts of a node and a pod that count for a resource, and the
//! parsing of `resources` lists in arguments.
//!
//! Source: `pkg/scheduler/framework/plugins/noderesources/resource_allocation.go`.

use super::dynamic_resources::need;
use bayplan_devices::{ClassTally, DeviceSelectors};
use bayplan_framework::{ArgsError, Features, Field, Gate, Handle, Need};
use bayplan_model::{
    Columns, DeviceIndex, Index, IndexKey, Kind, NodeInfo, NodeSet, PodInfo, ResourceColumn, Symbol, block,
    is_scalar, may_be_of_devices,
};
use smallvec::SmallVec;
use std::sync::Arc;

/// A resource that is scored, with its weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Weighted {
    pub(super) name: Symbol,
    pub(super) weight: i64,
}

/// CPU and memory with weight 1: the default of both plugins.
pub(super) fn cpu_and_memory() -> Vec<Weighted> {
    ["cpu", "memory"].map(|name| Weighted { name: Symbol::new(name), weight: 1 }).to_vec()
}

/// Reads a list of `{name, weight}`; `None` when it is not given or empty.
pub(super) fn read(
    field: Option<Field>,
    check: impl Fn(&Field, i64) -> Option<ArgsError>,
    errors: &mut Vec<ArgsError>,
) -> Option<Vec<Weighted>> {
    let mut resources: Vec<Weighted> = Vec::new();
    for entry in field?.list(errors) {
        let fields = entry.object(&["name", "weight"], errors);
        let name = fields.place("name");
        let text = fields.get("name").and_then(|name| name.string(errors)).unwrap_or_default();
        if text.is_empty() {
            errors.push(name.error("a resource needs a name"));
        }
        let weight = match fields.get("weight") {
            Some(weight) => weight.int(errors).unwrap_or(1),
            None => 0,
        };
        let weight = if weight == 0 { 1 } else { weight };
        if let Some(error) = check(&fields.place("weight"), weight) {
            errors.push(error);
        }
        let symbol = Symbol::new(text);
        if resources.iter().any(|known| known.name == symbol) {
            errors.push(name.error(format!("duplicate resource name `{text}`")));
        }
        resources.push(Weighted { name: symbol, weight });
    }
    (!resources.is_empty()).then_some(resources)
}

/// Whose numbers count for CPU and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Amounts {
    /// Requests as they are.
    Requested,
    /// Requests with upstream's default for containers that name none.
    NonZero,
}

impl Amounts {
    /// What the pod requests of a resource.
    pub(super) fn of_pod(self, pod: &PodInfo, name: &Symbol) -> i64 {
        match self {
            Self::NonZero => pod.score_requests.get(name),
            Self::Requested => pod.requests.get(name),
        }
    }

    /// What a node has and what its pods request of a resource; `None` when the resource does not count there. Devices
    /// count where the node has nothing of the resource itself.
    pub(super) fn of_node(
        self,
        node: NodeInfo,
        name: &Symbol,
        of_pod: i64,
        devices: Option<&OfClasses>,
    ) -> Option<(i64, i64)> {
        if of_pod == 0 && is_scalar(name) {
            return None;
        }
        let allocatable = node.allocatable().get(name);
        if allocatable == 0
            && let Some(tally) = devices.and_then(|devices| devices.on(node, name))
        {
            return Some((tally.devices, tally.allocated));
        }
        let requested = match (self, name.as_str()) {
            (_, "pods") => return None,
            (Self::NonZero, "cpu") => node.nonzero_requested().0,
            (Self::NonZero, "memory") => node.nonzero_requested().1,
            _ => node.requested().get(name),
        };
        (allocatable != 0).then_some((allocatable, requested))
    }
}

/// Selectors of the classes of devices that may stand for some of the resources; `None` where none can.
pub(super) fn selectors(resources: &[Weighted], features: Features) -> Option<Arc<DeviceSelectors>> {
    let may = features.on(Gate::DRAExtendedResource)
        && resources.iter().any(|resource| may_be_of_devices(&resource.name));
    may.then(|| Arc::new(DeviceSelectors::of_scores(features.rows())))
}

/// The kinds of objects that tell of devices behind resources. They are read without DynamicResources, too.
///
/// Source: `pkg/scheduler/scheduler.go`, `New`, which makes one `SharedDRAManager` for all plugins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// No class stands for a resource.
    Nothing,
    /// Whether a class stands for a resource.
    Classes,
    /// How many devices a class has on a node, and how many of them are allocated.
    Devices,
}

impl Behind {
    pub(super) fn kinds(self) -> &'static [Need] {
        const CLASSES: &[Need] = &[need(Kind::DeviceClass)];
        const DEVICES: &[Need] =
            &[need(Kind::DeviceClass), need(Kind::ResourceSlice), need(Kind::ResourceClaim)];
        match self {
            Self::Nothing => &[],
            Self::Classes => CLASSES,
            Self::Devices => DEVICES,
        }
    }

    pub(super) fn indexes(self) -> Vec<(IndexKey, Box<dyn Index>)> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Classes | Self::Devices => vec![(DeviceIndex::key(), Box::new(DeviceIndex::default()))],
        }
    }
}

/// Devices that count as amounts of resources, for a pod that requests some of them.
///
/// Upstream keeps for its life what selectors of classes say of a device of some name, and selectors of nodes of a node
/// of some name; this one sees the devices and nodes that there are.
pub(super) struct OfClasses<'a> {
    index: &'a DeviceIndex,
    selectors: &'a DeviceSelectors,
}

impl<'a> OfClasses<'a> {
    /// `None`: no class stands for a resource that is scored and that the pod requests.
    pub(super) fn of(
        h: &Handle<'a>,
        resources: &[Weighted],
        selectors: Option<&'a Arc<DeviceSelectors>>,
    ) -> Option<Self> {
        let selectors = selectors?;
        let index = h.snapshot.try_index::<DeviceIndex>(&DeviceIndex::key()).ok()?;
        let requested =
            |name: &Symbol| h.pod.requests.scalars.iter().any(|(known, of)| known == name && *of != 0);
        let mut names = resources.iter().map(|resource| &resource.name);
        let any = names.any(|name| requested(name) && index.class_of_resource(name).is_some());
        any.then_some(Self { index, selectors })
    }

    /// The devices of the class that stands for the resource, if the node has any.
    fn on(&self, node: NodeInfo, resource: &Symbol) -> Option<ClassTally> {
        let class = self.index.class_of_resource(resource)?;
        let tally = ClassTally::of(self.index, class, node.node(), self.selectors)?;
        (tally.devices > 0).then_some(tally)
    }
}

/// A resource over all rows.
pub(super) struct Column<'a> {
    pub(super) allocatable: &'a [i64],
    pub(super) requested: &'a [i64],
    pub(super) of_pod: i64,
    pub(super) weight: i64,
}

/// A resource over the 64 rows of a word.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) allocatable: &'a [i64; 64],
    pub(super) requested: &'a [i64; 64],
    pub(super) of_pod: i64,
    pub(super) weight: i64,
}

/// The blocks of `columns` in a word of rows, where all amounts are at least 0 and small enough that floats hold a
/// hundred times as much exactly. `None`: the caller computes node by node.
pub(super) fn blocks<'a>(columns: &[Column<'a>], word: usize) -> Option<SmallVec<[Block<'a>; 4]>> {
    const BITS: u32 = 45;
    let mut blocks = SmallVec::with_capacity(columns.len());
    for column in columns {
        let (allocatable, requested) = (block(column.allocatable, word)?, block(column.requested, word)?);
        let rows = allocatable.iter().zip(requested);
        let all = rows.fold(column.of_pod, |all, (has, used)| all | has | used);
        if all >> BITS != 0 {
            return None;
        }
        blocks.push(Block { allocatable, requested, of_pod: column.of_pod, weight: column.weight });
    }
    Some(blocks)
}

/// 2^52: floats from here on are integers, and their lowest bits are the bits of the integer.
const WHOLE: f64 = 4_503_599_627_370_496.0;
const WHOLE_BITS: u64 = WHOLE.to_bits();

/// A number of 0 up to 2^52 as a float. Unlike the machine's conversion it is done for several rows at a time.
#[inline]
pub(super) fn float(number: i64) -> f64 {
    f64::from_bits(number as u64 | WHOLE_BITS) - WHOLE
}

/// The whole part of a float of 0 up to 2^51.
#[inline]
pub(super) fn floor(number: f64) -> f64 {
    let near = (number + WHOLE) - WHOLE;
    near - if near > number { 1.0 } else { 0.0 }
}

/// A whole float of 0 up to 2^52 as a number.
#[inline]
pub(super) fn whole(number: f64) -> i64 {
    ((number + WHOLE).to_bits() & (WHOLE_BITS ^ u64::MAX)) as i64
}

/// The columns of the resources that count for this pod.
pub(super) fn columns<'a>(h: &Handle<'a>, amounts: Amounts, resources: &[Weighted]) -> Vec<Column<'a>> {
    let columns: &'a Columns = h.snapshot.columns();
    let mut found = Vec::with_capacity(resources.len());
    for Weighted { name, weight } in resources {
        let of_pod = amounts.of_pod(h.pod, name);
        if of_pod == 0 && is_scalar(name) || name == "pods" {
            continue;
        }
        let Some(ResourceColumn { allocatable, requested }) = columns.resource(name) else { continue };
        let requested: &'a [i64] = match (amounts, name.as_str()) {
            (Amounts::NonZero, "cpu") => columns.nonzero_milli_cpu(),
            (Amounts::NonZero, "memory") => columns.nonzero_memory(),
            _ => requested,
        };
        found.push(Column { allocatable, requested, of_pod, weight: *weight });
    }
    found
}

/// The score of each node by itself.
pub(super) fn score_each(h: &Handle, nodes: &NodeSet, out: &mut [i64], score: impl Fn(NodeInfo) -> i64) {
    for id in nodes.iter() {
        if let (Some(node), Some(out)) = (h.snapshot.node(id), out.get_mut(id.row())) {
            *out = score(node);
        }
    }
}

/// The largest divisor for which [`quotient`] may go through floating point.
const FAST_DIVISOR: i64 = 1 << 46;

/// `part / whole`, cut, where both are at least 0 and the result is at most 100.
///
/// Integer division is slow on many machines. In floating point the result is the same: the error of a quotient of at
/// most 100 is at most 2^-47, and a quotient that is not an integer differs from the nearest integer by at least
/// `1 / whole`, that is 2^-46.
#[inline]
pub(super) fn quotient(part: i64, whole: i64) -> i64 {
    if whole < FAST_DIVISOR { (part as f64 / whole as f64) as i64 } else { part / whole }
}

/// `100 * part / whole`, cut; `part` is at least 0 and at most `whole`, which is above 0.
#[inline]
pub(super) fn percent(part: i64, whole: i64) -> i64 {
    if whole < FAST_DIVISOR {
        return quotient(part * 100, whole);
    }
    (i128::from(part) * 100 / i128::from(whole)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_hold_whole_numbers() {
        for number in [0, 1, 99, 100, 4_294_967_297, (1 << 51) - 1] {
            assert_eq!(float(number), number as f64);
            assert_eq!(whole(float(number)), number);
        }
        for number in [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 99.999_999_999_999_99, 100.0] {
            assert_eq!(floor(number), number.floor(), "{number}");
        }
    }

    #[test]
    fn shares_are_cut_exactly() {
        let mut seed = 7u64;
        let mut next = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 1
        };
        for round in 0..200_000 {
            let bits = round % 62 + 1;
            let whole = (next() % (1 << bits)) as i64 + 1;
            let part = match round % 3 {
                // Next to where the result steps up.
                0 => (whole / 100)
                    .saturating_mul((next() % 101) as i64)
                    .saturating_add((next() % 3) as i64 - 1),
                _ => (next() % (whole as u64 + 1)) as i64,
            };
            let part = part.clamp(0, whole);
            let exact = (i128::from(part) * 100 / i128::from(whole)) as i64;
            assert_eq!(percent(part, whole), exact, "{part} of {whole}");
        }
        assert_eq!(percent(0, 1), 0);
        assert_eq!(percent(FAST_DIVISOR - 1, FAST_DIVISOR - 1), 100);
        assert_eq!(percent(i64::MAX, i64::MAX), 100);
    }
}

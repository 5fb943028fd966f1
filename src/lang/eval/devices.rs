//! Getters of claims and devices: `pod.claims`, `node.devices` and their fields.
//!
//! They read the snapshot's [`DeviceIndex`], which plugins of policies that read devices keep; where there is none, as
//! in a single evaluation, one is made for the call.

use super::context::EvalContext;
use super::getters::{Getter, records};
use crate::types::value::{ReachedDevice, Value};
use bayplan_model::objects::devices::{
    AllocationMode, ClaimRequest, Device, DeviceId, DeviceRequest, RequestKind,
};
use bayplan_model::{
    ClaimSource, DeviceIndex, DeviceUse, Index, IndexKey, NodeInfo, PodClaim, PodDevices, PodInfo,
    ResourceClaim, ResourceSlice, Snapshot,
};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// The index of the snapshot, or one that is made of its objects.
fn index(snapshot: &Snapshot) -> Cow<'_, DeviceIndex> {
    static KEY: LazyLock<IndexKey> = LazyLock::new(DeviceIndex::key);
    match snapshot.index(&KEY) {
        Some(index) => Cow::Borrowed(index),
        None => {
            let mut index = DeviceIndex::default();
            index.rebuild(snapshot);
            Cow::Owned(index)
        }
    }
}

/// `pod.claims`.
pub(super) fn claims<'a>(c: &EvalContext<'a>, pod: &'a PodInfo) -> Value<'a> {
    let all = pod.devices().into_iter().flat_map(|of| of.claims.iter().map(move |claim| (of, claim)));
    Value::list(all.map(|(of, entry)| claim(c, pod, of, entry)))
}

/// A claim, as [`CLAIM`] has its fields.
fn claim<'a>(c: &EvalContext<'a>, pod: &'a PodInfo, of: &'a PodDevices, entry: &'a PodClaim) -> Value<'a> {
    let made = || {
        of.claim_statuses.iter().find(|(name, _)| *name == entry.name).and_then(|(_, claim)| claim.as_ref())
    };
    let name = match &entry.source {
        ClaimSource::Claim(name) => Some(name),
        ClaimSource::Template(_) | ClaimSource::Neither => made(),
    };
    let claim = name.and_then(|name| c.snapshot.object::<ResourceClaim>(&pod.namespace, name));
    let requests = claim.into_iter().flat_map(|claim| claim.requests.iter()).flat_map(requests);
    let fields = [
        Value::symbol(&entry.name),
        Value::optional(name.map(Value::symbol)),
        Value::Bool(claim.is_some_and(|claim| claim.allocation.is_some())),
        Value::list(requests),
    ];
    Value::Record(fields.into())
}

/// A request, or its alternatives, as [`CLAIM_REQUEST`] has its fields.
fn requests(of: &ClaimRequest) -> Vec<Value<'_>> {
    match of.kind() {
        RequestKind::Exactly(exactly) => vec![request(Value::symbol(&of.name), &exactly.device)],
        RequestKind::FirstAvailable(alternatives) => alternatives
            .iter()
            .map(|one| request(Value::text(format!("{}/{}", of.name, one.name)), &one.device))
            .collect(),
        RequestKind::Unknown => Vec::new(),
    }
}

fn request<'a>(name: Value<'a>, of: &'a DeviceRequest) -> Value<'a> {
    let (count, all) = match of.mode() {
        AllocationMode::ExactCount(count) => (Value::Int(count), false),
        AllocationMode::All => (Value::Absent, true),
        AllocationMode::Unknown(_) => (Value::Absent, false),
    };
    Value::Record([name, Value::symbol(&of.device_class_name), count, Value::Bool(all)].into())
}

records! { CLAIM; 0 "name"; 1 "claim"; 2 "allocated"; 3 "requests"; }
records! { CLAIM_REQUEST; 0 "name"; 1 "class"; 2 "count"; 3 "all"; }

/// `node.devices`.
pub(super) fn reached<'a>(c: &EvalContext<'a>, node: NodeInfo<'a>) -> Value<'a> {
    let (name, labels) = (node.name(), &node.node().labels);
    let of = |(slice, device): (&'a Arc<ResourceSlice>, &'a Arc<Device>)| {
        Value::Device(ReachedDevice { slice, device })
    };
    match index(c.snapshot) {
        Cow::Borrowed(index) => Value::list(index.reached_by(name, labels).into_iter().map(of)),
        Cow::Owned(index) => {
            let reached = index.reached_by(name, labels).into_iter();
            // The same, of the snapshot, which outlives the index.
            let kept = reached.filter_map(|(slice, device)| {
                let of = &slice.metadata;
                let slice = c.snapshot.object::<ResourceSlice>(&of.namespace, &of.name)?;
                let device = slice.devices.iter().find(|other| Arc::ptr_eq(other, device))?;
                Some((slice, device))
            });
            Value::list(kept.map(of))
        }
    }
}

/// What is allocated of a device.
fn of_use<'a>(
    c: &EvalContext<'a>,
    of: ReachedDevice<'a>,
    read: impl FnOnce(Option<&DeviceUse>) -> Value<'a>,
) -> Value<'a> {
    let id = DeviceId { pool: of.slice.pool.clone(), name: of.device.name.clone() };
    read(index(c.snapshot).allocated().device(&id))
}

/// The fields of a device.
pub(super) static DEVICE: &[(&str, Getter)] = &[
    ("driver", |_, value| of_device(value, |of| Value::symbol(of.id().0))),
    ("pool", |_, value| of_device(value, |of| Value::symbol(of.id().1))),
    ("name", |_, value| of_device(value, |of| Value::symbol(of.id().2))),
    ("attributes", |_, value| of_device(value, ReachedDevice::attributes)),
    ("capacity", |_, value| of_device(value, |of| Value::resources(of.capacity()))),
    ("consumed", |c, value| {
        of_device(value, |of| {
            of_use(c, of, |taken| {
                let consumed = taken.into_iter().flat_map(|taken| taken.consumed());
                Value::resources(of.amounts(consumed.map(|(name, amount)| (name, *amount))))
            })
        })
    }),
    ("shared", |_, value| of_device(value, |of| Value::Bool(of.device.allow_multiple_allocations))),
    ("allocated", |c, value| of_device(value, |of| of_use(c, of, |taken| Value::Bool(taken.is_some())))),
];

fn of_device<'a>(value: &Value<'a>, field: impl FnOnce(ReachedDevice<'a>) -> Value<'a>) -> Value<'a> {
    match value {
        Value::Device(of) => field(*of),
        _ => Value::Absent,
    }
}

//! The rows of the field table, object by object.

use super::{Eviction, FieldDef, Moves, ObjectType};
use crate::lang::types::Ty;

const MAX: i64 = i64::MAX;
const LABELS: Ty = Ty::Map(&Ty::String, &Ty::String);

macro_rules! fields {
    ($($owner:ident $name:literal $ty:expr, $range:expr, $size:literal $(of $text:literal)?, $moves:ident, $eviction:ident, $doc:literal;)*) => {
        /// Every field with a short name.
        pub static FIELDS: &[FieldDef] = &[$(FieldDef {
            owner: ObjectType::$owner, name: $name, ty: $ty, range: $range, size: $size, text: 0 $(+ $text)?,
            moves: Moves::$moves, eviction: Eviction::$eviction, doc: $doc,
        }),*];
    };
}

#[rustfmt::skip]
fields! {
    // ---- pods
    Pod "name" Ty::String, None, 253, Never, None, "the pod's name";
    Pod "namespace" Ty::String, None, 63, Never, None, "the namespace it lies in";
    Pod "uid" Ty::String, None, 63, Never, None, "the identity that outlives no deletion";
    Pod "labels" LABELS, None, 1000 of 63, Labels, None, "its labels";
    Pod "annotations" LABELS, None, 1000 of 262_144, Annotations, None, "its annotations";
    Pod "created" Ty::Time, None, 0, Never, None, "when it was created";
    Pod "priority" Ty::Int, Some((-2_147_483_648, 2_147_483_647)), 0, Object, None, "`spec.priority`, 0 when not given";
    Pod "priority_class" Ty::Optional(&Ty::String), None, 253, Object, None, "`spec.priorityClassName`";
    Pod "qos" Ty::String, None, 10, Object, None, "`Guaranteed`, `Burstable` or `BestEffort`";
    Pod "scheduler" Ty::String, None, 253, Never, None, "`spec.schedulerName`";
    Pod "phase" Ty::String, None, 9, Object, None, "`status.phase`";
    Pod "queued_at" Ty::Time, None, 0, Queue, None, "when it was first put into the queue";
    Pod "attempts" Ty::Int, Some((0, MAX)), 0, Queue, None, "how often it was tried";
    Pod "terminating" Ty::Bool, None, 0, Object, Changes, "it is being deleted";
    Pod "gated" Ty::Bool, None, 0, Object, None, "it has scheduling gates";
    Pod "nominated" Ty::Optional(&Ty::String), None, 253, Object, None, "the node that preemption promised it";
    Pod "placed" Ty::Bool, None, 0, Placement, Changes, "it has a node: bound, assumed, waiting at permit or binding";
    Pod "bound" Ty::Bool, None, 0, Placement, Changes, "the API knows its node";
    Pod "waiting" Ty::Bool, None, 0, Placement, Changes, "it waits at permit";
    Pod "node" Ty::Optional(&Ty::Object(ObjectType::Node)), None, 0, Placement, Changes, "the node it is placed on";
    Pod "placed_at" Ty::Optional(&Ty::Time), None, 0, Placement, Changes, "when this scheduler assumed it, else the time of its condition PodScheduled";
    Pod "requests" Ty::Resources, None, 64 of 316, Object, None, "what it asks for in effect, with init containers and overhead";
    Pod "limits" Ty::Resources, None, 64 of 316, Object, None, "what it may use, computed as the requests are";
    Pod "overhead" Ty::Resources, None, 64 of 316, Object, None, "`spec.overhead`";
    Pod "containers" Ty::List(&Ty::Object(ObjectType::Container)), None, 50, Object, None, "its containers, init containers first";
    Pod "images" Ty::List(&Ty::String), None, 50 of 1000, Object, None, "the images of its containers, with `:latest` where no tag is given";

    Pod "gpu" Ty::Object(ObjectType::GpuRequest), None, 0, Object, None, "the GPUs that it asks for: how many, and which share of each";

    // ---- nodes
    Node "name" Ty::String, None, 253, Never, None, "the node's name";
    Node "uid" Ty::String, None, 63, Never, None, "the identity that outlives no deletion";
    Node "labels" LABELS, None, 1000 of 63, Labels, None, "its labels";
    Node "annotations" LABELS, None, 1000 of 262_144, Annotations, None, "its annotations";
    Node "created" Ty::Time, None, 0, Never, None, "when it joined";
    Node "taints" Ty::List(&Ty::Object(ObjectType::Taint)), None, 100, Taints, None, "its taints";
    Node "allocatable" Ty::Resources, None, 64 of 316, Allocatable, None, "what pods may use of it";
    Node "capacity" Ty::Resources, None, 64 of 316, Allocatable, None, "what it has";
    Node "requested" Ty::Resources, None, 64 of 316, PodsRequests, Lowers, "the requests of the pods on it";
    Node "nonzero_requested" Ty::Resources, None, 64 of 316, PodsRequests, Lowers, "the same, with upstream's defaults for containers that ask for nothing; cpu and memory only";
    Node "free" Ty::Resources, None, 64 of 316, PodsRequests, Raises, "allocatable less requested, never below 0";
    Node "pods" Ty::List(&Ty::Object(ObjectType::Pod)), None, 1000, PodsOther, Lowers, "the pods on it, assumed ones included";
    Node "zone" Ty::Optional(&Ty::String), None, 63, Labels, None, "its label `topology.kubernetes.io/zone`";
    Node "region" Ty::Optional(&Ty::String), None, 63, Labels, None, "its label `topology.kubernetes.io/region`";
    Node "ready" Ty::Bool, None, 0, Conditions, None, "its condition Ready is True";
    Node "unschedulable" Ty::Bool, None, 0, Unschedulable, None, "`spec.unschedulable`";
    Node "images" Ty::List(&Ty::String), None, 250 of 1000, Images, None, "all names of the images on it: a kubelet reports five names of fifty images";
    Node "gpus" Ty::List(&Ty::Object(ObjectType::Gpu)), None, 16, Allocatable, None, "its GPUs one by one, with what is free of each";

    // ---- namespaces
    Namespace "name" Ty::String, None, 63, Never, None, "the namespace's name";
    Namespace "labels" LABELS, None, 1000 of 63, Labels, None, "its labels";
    Namespace "annotations" LABELS, None, 1000 of 262_144, Annotations, None, "its annotations";

    // ---- containers of a pod
    Container "name" Ty::String, None, 63, Never, None, "the container's name";
    Container "image" Ty::String, None, 1000, Object, None, "its image, as written";
    Container "requests" Ty::Resources, None, 64 of 316, Object, None, "what it requests";
    Container "limits" Ty::Resources, None, 64 of 316, Object, None, "what it may use";

    // ---- taints of a node
    Taint "key" Ty::String, None, 316, Taints, None, "the taint's key";
    Taint "value" Ty::String, None, 63, Taints, None, "its value, empty when none is given";
    Taint "effect" Ty::String, None, 16, Taints, None, "`NoSchedule`, `PreferNoSchedule` or `NoExecute`";

    // ---- GPUs of a node, and what a pod asks for; who has which is told by `model::gpus`
    Gpu "index" Ty::Int, Some((0, 1023)), 0, Allocatable, None, "its number on the node, from 0";
    Gpu "model" Ty::Optional(&Ty::String), None, 63, Labels, None, "the node's label `nvidia.com/gpu.product` or `alibabacloud.com/gpu-card-model`";
    Gpu "capacity" Ty::Int, Some((1000, 1000)), 0, Allocatable, None, "what it has, in thousandths of a GPU";
    Gpu "free" Ty::Int, Some((0, 1000)), 0, PodsOther, Raises, "what no pod has of it, in thousandths; the pod being scheduled has none yet";
    GpuRequest "count" Ty::Int, Some((0, MAX)), 0, Object, None, "how many GPUs, 1 where it asks for a share";
    GpuRequest "milli" Ty::Int, Some((0, 1000)), 0, Object, None, "thousandths of each of them, 1000 where it asks for whole ones";
}

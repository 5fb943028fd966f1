//! The rows of the field table, object by object.

use super::{Access, CountedPart, Eviction, FieldDef, Meaning, ObjectType};
use crate::types::Ty;
use bayplan_model::Kinds;

const MAX: i64 = i64::MAX;
const LABELS: Ty = Ty::Map(&Ty::String, &Ty::String);

/// A number, or the part that tells it.
macro_rules! size {
    ($size:literal) => {
        ($size, None::<CountedPart>)
    };
    ($part:ident) => {
        (0, Some(CountedPart::$part))
    };
}

/// What the value is, if a row says it.
macro_rules! meaning {
    () => {
        None
    };
    ($meaning:ident) => {
        Some(Meaning::$meaning)
    };
}

/// How the value is got: stored with the object, if a row does not say else.
macro_rules! access {
    () => {
        Access::Stored
    };
    (made) => {
        Access::Made
    };
    (json) => {
        Access::Json
    };
}

macro_rules! fields {
    ($($owner:ident $name:literal $ty:expr, $range:expr, $size:tt $(of $text:literal)?, $changed_by:ident, $eviction:ident,
        $(is $meaning:ident,)? $doc:literal $(in $unit:literal)? $(as [$($value:literal),*])? from $source:literal $($access:ident)?;)*) => {
        /// Every field with a short name.
        pub static FIELDS: &[FieldDef] = &[$(FieldDef {
            owner: ObjectType::$owner, name: $name, ty: $ty, range: $range, size: size!($size).0, part: size!($size).1, text: 0 $(+ $text)?,
            changed_by: Kinds::$changed_by, eviction: Eviction::$eviction, meaning: meaning!($($meaning)?), doc: $doc,
            unit: concat!($($unit)?), values: &[$($($value),*)?], source: $source, access: access!($($access)?),
        }),*];
    };
}

#[rustfmt::skip]
fields! {
    // ---- pods
    Pod "name" Ty::String, None, 253, NONE, None, is Identity,
        "the name of the pod" from "metadata.name";
    Pod "namespace" Ty::String, None, 63, NONE, None, is Namespace,
        "the name of the pod's namespace" from "metadata.namespace";
    Pod "uid" Ty::String, None, 63, NONE, None, is Identity,
        "the unique id of the pod; a pod that is created again with the same name has another one"
        from "metadata.uid";
    Pod "labels" LABELS, None, Labels of 63, LABELS, None, is Labels,
        "the labels of the pod" from "metadata.labels";
    Pod "annotations" LABELS, None, Annotations of 262_144, ANNOTATIONS, None, is Annotations,
        "the annotations of the pod" from "metadata.annotations";
    Pod "created" Ty::Time, None, 0, NONE, None,
        "when the pod was created" from "metadata.creationTimestamp";
    Pod "priority" Ty::Int, Some((-2_147_483_648, 2_147_483_647)), 0, OTHER, None, is Priority,
        "the priority of the pod; 0 if it has none" from "spec.priority";
    Pod "priority_class" Ty::Optional(&Ty::String), None, 253, OTHER, None, is Priority,
        "the name of the pod's PriorityClass" from "spec.priorityClassName";
    Pod "qos" Ty::String, None, 10, OTHER, None,
        "the QoS class: `Guaranteed`, `Burstable` or `BestEffort`" as ["Guaranteed", "Burstable", "BestEffort"] from "spec.containers[].resources, as the kubelet computes it";
    Pod "scheduler" Ty::String, None, 253, NONE, None,
        "the name of the scheduler that the pod asks for" from "spec.schedulerName";
    Pod "phase" Ty::String, None, 9, OTHER, None,
        "the phase: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`"
        as ["Pending", "Running", "Succeeded", "Failed", "Unknown"] from "status.phase";
    Pod "queued_at" Ty::Time, None, 0, QUEUE, None,
        "when the pod first entered the scheduling queue" from "the scheduler's queue";
    Pod "attempts" Ty::Int, Some((0, MAX)), 0, ATTEMPTS, None,
        "the number of attempts to schedule the pod so far; a pod that a rule refuses which reads it is tried again \
         every minute" from "the scheduler's queue";
    Pod "terminating" Ty::Bool, None, 0, OTHER, Changes,
        "true if the pod is being deleted" from "metadata.deletionTimestamp";
    Pod "gated" Ty::Bool, None, 0, OTHER, None,
        "true if the pod has scheduling gates" from "spec.schedulingGates";
    Pod "nominated" Ty::Optional(&Ty::String), None, 253, OTHER, None, is Nomination,
        "the name of the node that preemption reserved for the pod" from "status.nominatedNodeName";
    Pod "placed" Ty::Bool, None, 0, PLACEMENT, Changes,
        "true if the pod has a node: it is bound, assumed, waiting at permit or being bound"
        from "spec.nodeName and the scheduler's cache";
    Pod "bound" Ty::Bool, None, 0, PLACEMENT, Changes, is Binding,
        "true if the API server has a node for the pod" from "spec.nodeName";
    Pod "waiting" Ty::Bool, None, 0, PLACEMENT, Changes, is Binding,
        "true if the pod waits at permit" from "the scheduler's cache";
    Pod "node" Ty::Optional(&Ty::Object(ObjectType::Node)), None, 0, PLACEMENT, Changes,
        "the node that the pod is placed on" from "spec.nodeName and the scheduler's cache";
    Pod "placed_at" Ty::Optional(&Ty::Time), None, 0, PLACEMENT, Changes,
        "when this scheduler assumed the pod; for other pods, when PodScheduled became true"
        from "the scheduler's cache, or the condition PodScheduled in status.conditions";
    Pod "requests" Ty::Resources, None, 64 of 316, OTHER, None, is Requests,
        "the effective requests of the pod, as kube-scheduler computes them: containers, init \
         containers, sidecars and overhead"
        from "spec.containers[].resources.requests, spec.initContainers[].resources.requests, spec.overhead";
    Pod "limits" Ty::Resources, None, 64 of 316, OTHER, None,
        "the effective limits of the pod, computed in the same way as the requests"
        from "spec.containers[].resources.limits, spec.initContainers[].resources.limits";
    Pod "overhead" Ty::Resources, None, 64 of 316, OTHER, None,
        "the overhead of the pod's RuntimeClass" from "spec.overhead";
    Pod "containers" Ty::List(&Ty::Object(ObjectType::Container)), None, Containers, OTHER, None,
        "the containers of the pod, init containers first" from "spec.initContainers, spec.containers" made;
    Pod "images" Ty::List(&Ty::String), None, Containers of 1000, OTHER, None,
        "the images of the pod's containers, with `:latest` where no tag is given"
        from "spec.containers[].image, spec.initContainers[].image" made;

    Pod "tolerations" Ty::List(&Ty::Object(ObjectType::Toleration)), None, Tolerations, OTHER, None,
        "the tolerations of the pod" from "spec.tolerations" made;
    Pod "node_selector" LABELS, None, Labels of 63, OTHER, None,
        "the node selector of the pod" from "spec.nodeSelector";
    Pod "owner" Ty::Optional(&Ty::Object(ObjectType::Owner)), None, 0, OTHER, None,
        "the controller of the pod, such as its ReplicaSet or Job" from "metadata.ownerReferences";
    Pod "service_account" Ty::Optional(&Ty::String), None, 253, NONE, None,
        "the name of the pod's service account" from "spec.serviceAccountName" json;
    Pod "age" Ty::Duration, None, 0, TIME, None,
        "the time since the pod was created: `now() - pod.created`" from "metadata.creationTimestamp";
    Pod "gpu" Ty::Object(ObjectType::GpuRequest), None, 0, OTHER, None,
        "the GPUs that the pod requests: how many, and which share of each"
        from "spec.containers[].resources.requests, metadata.annotations" made;
    Pod "claims" Ty::List(&Ty::Object(ObjectType::Claim)), None, Claims, DEVICES, None,
        "the claims of devices of the pod, in the order of its spec; without the claim that is made for extended resources"
        from "spec.resourceClaims, status.resourceClaimStatuses and the ResourceClaims" made;

    // ---- nodes
    Node "name" Ty::String, None, 253, NONE, None, is Identity,
        "the name of the node" from "metadata.name";
    Node "uid" Ty::String, None, 63, NONE, None, is Identity,
        "the unique id of the node; a node that is created again with the same name has another \
         one" from "metadata.uid";
    Node "labels" LABELS, None, Labels of 63, LABELS, None, is Labels,
        "the labels of the node" from "metadata.labels";
    Node "annotations" LABELS, None, Annotations of 262_144, ANNOTATIONS, None, is Annotations,
        "the annotations of the node" from "metadata.annotations";
    Node "created" Ty::Time, None, 0, NONE, None,
        "when the node was created" from "metadata.creationTimestamp";
    Node "age" Ty::Duration, None, 0, TIME, None,
        "the time since the node was created: `now() - node.created`" from "metadata.creationTimestamp";
    Node "taints" Ty::List(&Ty::Object(ObjectType::Taint)), None, Taints, TAINTS, None,
        "the taints of the node" from "spec.taints" made;
    Node "allocatable" Ty::Resources, None, 64 of 316, ALLOCATABLE, None, is Allocatable,
        "the resources of the node that pods may use" from "status.allocatable";
    Node "capacity" Ty::Resources, None, 64 of 316, ALLOCATABLE, None, is Capacity,
        "all resources of the node" from "status.capacity";
    Node "requested" Ty::Resources, None, 64 of 316, PODS_REQUESTS, Lowers, is Requested,
        "the sum of the effective requests of the pods on the node" from "the requests of the pods on the node" made;
    Node "nonzero_requested" Ty::Resources, None, 64 of 316, PODS_REQUESTS, Lowers,
        "the same sum for cpu and memory, with kube-scheduler's defaults (100m, 200Mi) for \
         containers that request none" from "the requests of the pods on the node";
    Node "free" Ty::Resources, None, 64 of 316, PODS_REQUESTS, Raises, is Free,
        "allocatable minus requested, at least 0" from "status.allocatable and the requests of the pods on the node" made;
    Node "pods" Ty::List(&Ty::Object(ObjectType::Pod)), None, 1000, PODS_OTHER, Lowers,
        "the pods on the node, including assumed pods" from "spec.nodeName of the pods and the scheduler's cache" made;
    Node "zone" Ty::Optional(&Ty::String), None, 63, LABELS, None, is Zone,
        "the zone of the node" from "metadata.labels[\"topology.kubernetes.io/zone\"]";
    Node "region" Ty::Optional(&Ty::String), None, 63, LABELS, None,
        "the region of the node" from "metadata.labels[\"topology.kubernetes.io/region\"]";
    Node "ready" Ty::Bool, None, 0, CONDITIONS, None,
        "true if the node's condition Ready is True" from "the condition Ready in status.conditions";
    Node "unschedulable" Ty::Bool, None, 0, UNSCHEDULABLE, None,
        "true if the node is cordoned" from "spec.unschedulable";
    Node "images" Ty::List(&Ty::String), None, Images of 1000, IMAGES, None,
        "all names of the images on the node; a kubelet reports at most fifty images with five \
         names each" from "status.images[].names" made;
    Node "gpus" Ty::List(&Ty::Object(ObjectType::Gpu)), None, 1024, ALLOCATABLE, None,
        "the GPUs of the node, with the free share of each" from "status.allocatable, metadata.labels, annotations of the pods on the node" made;
    Node "devices" Ty::List(&Ty::Object(ObjectType::Device)), None, Devices, DEVICES, None,
        "the devices that the node reaches, in use or not: those of ResourceSlices that name the node, select it or are \
         for all nodes, of the highest generation of each pool" from "spec.devices of ResourceSlices" made;

    // ---- namespaces
    Namespace "name" Ty::String, None, 63, NONE, None, is Namespace,
        "the name of the namespace" from "metadata.name";
    Namespace "labels" LABELS, None, Labels of 63, LABELS, None, is Labels,
        "the labels of the namespace" from "metadata.labels";
    Namespace "annotations" LABELS, None, Annotations of 262_144, ANNOTATIONS, None, is Annotations,
        "the annotations of the namespace" from "metadata.annotations";

    // ---- containers of a pod
    Container "name" Ty::String, None, 63, NONE, None,
        "the name of the container" from "spec.containers[].name";
    Container "image" Ty::String, None, 1000, OTHER, None,
        "the image of the container, as written" from "spec.containers[].image";
    Container "requests" Ty::Resources, None, 64 of 316, OTHER, None,
        "the requests of the container" from "spec.containers[].resources.requests";
    Container "limits" Ty::Resources, None, 64 of 316, OTHER, None,
        "the limits of the container" from "spec.containers[].resources.limits";

    // ---- taints of a node
    Taint "key" Ty::String, None, 316, TAINTS, None,
        "the key of the taint" from "spec.taints[].key";
    Taint "value" Ty::String, None, 63, TAINTS, None,
        "the value of the taint; empty if it has none" from "spec.taints[].value";
    Taint "effect" Ty::String, None, 16, TAINTS, None,
        "the effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`"
        as ["NoSchedule", "PreferNoSchedule", "NoExecute"]
        from "spec.taints[].effect";

    // ---- tolerations of a pod
    Toleration "key" Ty::String, None, 316, OTHER, None,
        "the key of the toleration; empty if it tolerates every key" from "spec.tolerations[].key";
    Toleration "operator" Ty::String, None, 6, OTHER, None,
        "how values are compared: `Equal`, `Exists`, `Lt` or `Gt`" as ["Equal", "Exists", "Lt", "Gt"] from "spec.tolerations[].operator";
    Toleration "value" Ty::String, None, 63, OTHER, None,
        "the value of the toleration; empty if it has none" from "spec.tolerations[].value";
    Toleration "effect" Ty::String, None, 16, OTHER, None,
        "the effect that is tolerated; empty if it tolerates every effect"
        as ["NoSchedule", "PreferNoSchedule", "NoExecute", ""] from "spec.tolerations[].effect";

    // ---- objects of the kinds that policies look up
    LookedUp "name" Ty::String, None, 253, NONE, None, is Identity,
        "the name of the object" from "metadata.name";
    LookedUp "namespace" Ty::String, None, 63, NONE, None, is Namespace,
        "the name of the object's namespace; empty for a kind without namespaces" from "metadata.namespace";
    LookedUp "uid" Ty::String, None, 63, NONE, None, is Identity,
        "the unique id of the object; an object that is created again with the same name has another one"
        from "metadata.uid";
    LookedUp "labels" LABELS, None, Labels of 63, OTHER, None, is Labels,
        "the labels of the object" from "metadata.labels" json;
    LookedUp "annotations" LABELS, None, Annotations of 262_144, OTHER, None, is Annotations,
        "the annotations of the object" from "metadata.annotations" json;
    LookedUp "created" Ty::Time, None, 0, NONE, None,
        "when the object was created" from "metadata.creationTimestamp" json;

    // ---- the controller of a pod
    Owner "kind" Ty::String, None, 63, OTHER, None,
        "the kind of the controller: `ReplicaSet`, `StatefulSet`, `DaemonSet`, `Job` or another one"
        from "metadata.ownerReferences[].kind";
    Owner "name" Ty::String, None, 253, OTHER, None,
        "the name of the controller" from "metadata.ownerReferences[].name";
    Owner "uid" Ty::String, None, 63, OTHER, None,
        "the unique id of the controller" from "metadata.ownerReferences[].uid";

    // ---- GPUs of a node, and the GPUs that a pod requests; `model::gpus` assigns them
    Gpu "index" Ty::Int, Some((0, 1023)), 0, ALLOCATABLE, None,
        "the number of the GPU on its node, from 0" from "status.allocatable[\"nvidia.com/gpu\"]";
    Gpu "model" Ty::Optional(&Ty::String), None, 63, LABELS, None,
        "the model: the node's label `nvidia.com/gpu.product` or `alibabacloud.com/gpu-card-model`"
        from "metadata.labels";
    Gpu "capacity" Ty::Int, Some((1000, 1000)), 0, ALLOCATABLE, None,
        "the capacity of the GPU" in "thousandths of a GPU" from "status.allocatable[\"nvidia.com/gpu\"]";
    Gpu "free" Ty::Int, Some((0, 1000)), 0, PODS_OTHER, Raises,
        "the part of the GPU that no pod uses; the pod that is being scheduled counts as using \
         none" in "thousandths of a GPU" from "annotations and requests of the pods on the node" made;
    GpuRequest "count" Ty::Int, Some((0, MAX)), 0, OTHER, None,
        "the number of GPUs; 1 if the pod requests a share of one GPU"
        from "spec.containers[].resources.requests, metadata.annotations";
    GpuRequest "milli" Ty::Int, Some((0, 1000)), 0, OTHER, None,
        "the share of each GPU; 1000 if the pod requests whole GPUs" in "thousandths of a GPU" from "metadata.annotations";

    // ---- devices that a node reaches, and the claims of a pod. Sizes are those that the API server accepts: 32
    // attributes and capacities of a device, with names of 63 + 1 + 32 bytes.
    Device "driver" Ty::String, None, 63, DEVICES, None,
        "the name of the driver" from "spec.driver of the ResourceSlice";
    Device "pool" Ty::String, None, 253, DEVICES, None,
        "the name of the pool, unique for the driver" from "spec.pool.name of the ResourceSlice";
    Device "name" Ty::String, None, 63, DEVICES, None,
        "the name of the device, unique in its pool" from "spec.devices[].name of the ResourceSlice";
    Device "attributes" LABELS, None, 32 of 64, DEVICES, None, is Attributes,
        "the attributes as text: strings and versions, numbers in digits, `true` and `false`; an attribute of the driver's \
         own domain is named without the domain, and lists have no text"
        from "spec.devices[].attributes of the ResourceSlice" made;
    Device "capacity" Ty::Resources, None, 32 of 96, DEVICES, None,
        "the capacities of the device, rounded up; one of the driver's own domain is named without the domain"
        from "spec.devices[].capacity of the ResourceSlice" made;
    Device "consumed" Ty::Resources, None, 32 of 96, DEVICES, None,
        "what claims that share the device consume of its capacities, in the same names; nothing of a device that a claim has \
         for itself" from "status.allocation of the ResourceClaims" made;
    Device "shared" Ty::Bool, None, 0, DEVICES, None,
        "true if several claims may share the device"
        from "spec.devices[].allowMultipleAllocations of the ResourceSlice";
    Device "allocated" Ty::Bool, None, 0, DEVICES, None,
        "true if a claim has the device, or a share of it; an access of administrators takes nothing. A claim keeps its \
         devices while preemption weighs the eviction of its pods" from "status.allocation of the ResourceClaims" made;
    Claim "name" Ty::String, None, 63, OTHER, None,
        "the name by which the containers of the pod refer to the claim" from "spec.resourceClaims[].name";
    Claim "claim" Ty::Optional(&Ty::String), None, 253, OTHER, None,
        "the name of the ResourceClaim in the pod's namespace; absent while it is not made from its template yet"
        from "spec.resourceClaims[].resourceClaimName, status.resourceClaimStatuses[].resourceClaimName";
    Claim "allocated" Ty::Bool, None, 0, DEVICES, None,
        "true if the claim has its devices: the pod takes no others for it" from "status.allocation of the ResourceClaim";
    Claim "requests" Ty::List(&Ty::Object(ObjectType::ClaimRequest)), None, Requests, DEVICES, None,
        "the requests of the claim, the alternatives of `firstAvailable` each on its own; empty while the ResourceClaim \
         is not there" from "spec.devices.requests of the ResourceClaim" made;
    ClaimRequest "name" Ty::String, None, 127, DEVICES, None,
        "the name of the request; of an alternative, `REQUEST/ALTERNATIVE`"
        from "spec.devices.requests[].name of the ResourceClaim";
    ClaimRequest "class" Ty::String, None, 253, DEVICES, None,
        "the name of the DeviceClass" from "deviceClassName of the request";
    ClaimRequest "count" Ty::Optional(&Ty::Int), Some((0, MAX)), 0, DEVICES, None,
        "the number of devices; absent if the request is for all devices that match" from "count of the request";
    ClaimRequest "all" Ty::Bool, None, 0, DEVICES, None,
        "true if the request is for all devices that match" from "allocationMode of the request";

    // ---- what a node used: `NAME[node.name]` of a source
    Load "cpu" Ty::Object(ObjectType::CpuUsage), None, 0, METRICS, None,
        "the CPU that the node used" from "usage.cpu of NodeMetrics";
    Load "memory" Ty::Object(ObjectType::MemoryUsage), None, 0, METRICS, None,
        "the memory that the node used" from "usage.memory of NodeMetrics";
    Load "samples" Ty::Int, Some((0, 241)), 0, METRICS, None,
        "the number of samples in the window" from "the polls of the metrics API";
    Load "window_end" Ty::Time, None, 0, METRICS, None,
        "the instant of the newest sample, at which the window ends" from "timestamp of NodeMetrics";
    Load "age" Ty::Duration, Some((0, MAX)), 0, METRICS, None,
        "how old the newest sample was when the metrics API was last polled" from "timestamp of NodeMetrics";
    CpuUsage "latest" Ty::Cpu, Some((0, 1_000_000_000_000)), 0, METRICS, None,
        "the newest sample" from "usage.cpu of NodeMetrics";
    CpuUsage "mean" Ty::Cpu, Some((0, 1_000_000_000_000)), 0, METRICS, None,
        "the mean of the samples, rounded" from "usage.cpu of NodeMetrics";
    CpuUsage "std" Ty::Cpu, Some((0, 1_000_000_000_000)), 0, METRICS, None,
        "the population standard deviation of the samples, rounded" from "usage.cpu of NodeMetrics";
    CpuUsage "max" Ty::Cpu, Some((0, 1_000_000_000_000)), 0, METRICS, None,
        "the largest sample" from "usage.cpu of NodeMetrics";
    MemoryUsage "latest" Ty::Bytes, Some((0, 1 << 60)), 0, METRICS, None,
        "the newest sample" from "usage.memory of NodeMetrics";
    MemoryUsage "mean" Ty::Bytes, Some((0, 1 << 60)), 0, METRICS, None,
        "the mean of the samples, rounded" from "usage.memory of NodeMetrics";
    MemoryUsage "std" Ty::Bytes, Some((0, 1 << 60)), 0, METRICS, None,
        "the population standard deviation of the samples, rounded" from "usage.memory of NodeMetrics";
    MemoryUsage "max" Ty::Bytes, Some((0, 1 << 60)), 0, METRICS, None,
        "the largest sample" from "usage.memory of NodeMetrics";
}

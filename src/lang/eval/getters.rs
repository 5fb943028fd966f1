//! One getter for each row of the field table, which has the names and types. Both evaluators call
//! them. A field of an absent object is absent.

use super::context::EvalContext;
use super::devices;
use super::interpret::{less, owned_resources};
use crate::language::fields::{FIELDS, FieldDef, FieldId, ObjectType};
use crate::types::value::{Resources, Value};
use bayplan_model::{ApiObject, Effect, Load, NodeId, NodeInfo, Placement, Resource, Time, Usage, gpus};

/// The value of a field of an object.
pub(crate) type Getter = for<'a> fn(&EvalContext<'a>, &Value<'a>) -> Value<'a>;

/// The getter of a row. Every row has one, which a test asserts; without one the value is absent.
pub(crate) fn getter(field: FieldId) -> Getter {
    FIELDS.get(usize::from(field.0)).and_then(find).unwrap_or(|_, _| Value::Absent)
}

fn find(row: &FieldDef) -> Option<Getter> {
    let table = match row.owner {
        ObjectType::Pod => POD,
        ObjectType::Node => NODE,
        ObjectType::Namespace => NAMESPACE,
        ObjectType::LookedUp => LOOKED_UP,
        ObjectType::Container => CONTAINER,
        ObjectType::Taint => TAINT,
        ObjectType::Toleration => TOLERATION,
        ObjectType::Owner => OWNER,
        ObjectType::Gpu => GPU,
        ObjectType::GpuRequest => GPU_REQUEST,
        ObjectType::Device => devices::DEVICE,
        ObjectType::Claim => devices::CLAIM,
        ObjectType::ClaimRequest => devices::CLAIM_REQUEST,
        ObjectType::Load => LOAD,
        ObjectType::CpuUsage | ObjectType::MemoryUsage => USAGE,
    };
    table.iter().find(|(name, _)| *name == row.name).map(|(_, getter)| *getter)
}

/// A field of an object as the API has it: `spec`, `status` or `metadata` of an object of the
/// cluster, or a field below them.
pub(crate) fn api_field<'a>(context: &EvalContext<'a>, object: &Value<'a>, name: &str) -> Value<'a> {
    let raw = match object {
        Value::Pod(pod) => pod.raw.as_deref(),
        Value::Node(node) => context.node_info(*node).and_then(|node| node.node().raw.as_deref()),
        Value::Namespace(namespace) => namespace.raw.as_deref(),
        Value::LookedUp(object) => Some(object.fields()),
        Value::Json(json) => Some(*json),
        // JSON that a profile gave as an argument.
        Value::Map(_) => return object.key(name),
        _ => None,
    };
    Value::optional(raw.and_then(|raw| raw.get(name)).map(|json| Value::Json(json).plain()))
}

/// One table: the object's variant, how the object is reached from it, and a row per field.
macro_rules! table {
    ($name:ident, $variant:ident, $reach:expr; $($field:literal => |$context:ident, $object:ident| $body:expr;)*) => {
        static $name: &[(&str, Getter)] = &[$(($field, {
            fn get<'a>($context: &EvalContext<'a>, value: &Value<'a>) -> Value<'a> {
                let Value::$variant(object) = value else { return Value::Absent };
                let Some($object) = $reach($context, *object) else { return Value::Absent };
                $body
            }
            get
        })),*];
    };
}

fn itself<'a, T: ?Sized>(_: &EvalContext<'a>, object: &'a T) -> Option<&'a T> {
    Some(object)
}

fn info<'a>(context: &EvalContext<'a>, node: NodeId) -> Option<NodeInfo<'a>> {
    context.node_info(node)
}

fn resources(of: &Resource) -> Value<'_> {
    Value::Resources(Resources::Borrowed(of))
}

/// Times that every object of a real cluster has; 1970 for objects from files that lack them.
fn time<'a>(at: Option<Time>) -> Value<'a> {
    Value::Time(at.unwrap_or_default())
}

/// `now()` minus the time at which an object was created.
fn age<'a>(context: &EvalContext<'a>, created: Option<Time>) -> Value<'a> {
    Value::Int(context.now.0.saturating_sub(created.unwrap_or_default().0))
}

table! { POD, Pod, itself;
    "name" => |_c, pod| Value::symbol(&pod.name);
    "namespace" => |_c, pod| Value::symbol(&pod.namespace);
    "uid" => |_c, pod| Value::symbol(&pod.uid);
    "labels" => |_c, pod| Value::Labels(&pod.labels);
    "annotations" => |_c, pod| Value::Annotations(&pod.annotations);
    "created" => |_c, pod| time(pod.created);
    "priority" => |_c, pod| Value::Int(i64::from(pod.priority));
    "priority_class" => |_c, pod| Value::optional(pod.priority_class.as_ref().map(Value::symbol));
    "qos" => |_c, pod| Value::borrowed(pod.qos.name());
    "scheduler" => |_c, pod| Value::symbol(&pod.scheduler_name);
    "phase" => |_c, pod| Value::symbol(&pod.phase);
    "queued_at" => |c, pod| time(if pod.key == c.pod.key { c.queued.since.or(pod.created) } else { pod.created });
    "attempts" => |c, pod| Value::Int(if pod.key == c.pod.key { i64::from(c.queued.attempts) } else { 0 });
    "terminating" => |_c, pod| Value::Bool(pod.is_terminating());
    "gated" => |_c, pod| Value::Bool(!pod.scheduling_gates.is_empty());
    "nominated" => |c, pod| Value::optional(match c.snapshot.nominated_node(&pod.key).and_then(|id| c.snapshot.node(id)) {
        Some(node) => Some(Value::symbol(node.name())),
        None => pod.nominated_node.as_ref().map(Value::symbol),
    });
    "placed" => |c, pod| Value::Bool(c.placement(pod).is_some());
    "bound" => |c, pod| Value::Bool(c.placement(pod).is_some_and(|(_, how)| how == Placement::Bound));
    "waiting" => |c, pod| Value::Bool(c.is_waiting(pod));
    "node" => |c, pod| Value::optional(
        c.placement(pod)
            .map(|(node, _)| node)
            .filter(|node| c.snapshot.columns().alive().contains(*node))
            .map(Value::Node),
    );
    "placed_at" => |c, pod| Value::optional(c.placed_at(pod).map(Value::Time));
    "requests" => |_c, pod| resources(&pod.requests);
    "limits" => |_c, pod| resources(&pod.limits);
    "overhead" => |_c, pod| resources(&pod.overhead);
    "containers" => |_c, pod| Value::list(pod.containers.iter().map(Value::Container));
    "images" => |_c, pod| Value::list(pod.images.iter().map(Value::symbol));
    "tolerations" => |_c, pod| Value::list(pod.tolerations.iter().map(Value::Toleration));
    "node_selector" => |_c, pod| Value::Labels(&pod.node_affinity.node_selector);
    "owner" => |_c, pod| Value::optional(pod.owners.iter().find(|owner| owner.controller).map(Value::Owner));
    "service_account" => |_c, pod| Value::optional(
        pod.raw
            .as_deref()
            .and_then(|raw| raw["spec"]["serviceAccountName"].as_str())
            .filter(|name| !name.is_empty())
            .map(Value::borrowed),
    );
    "age" => |c, pod| age(c, pod.created);
    "gpu" => |_c, pod| {
        let of = gpus::requested(pod);
        Value::Record([Value::Int(of.count), Value::Int(of.milli)].into())
    };
    "claims" => |c, pod| devices::claims(c, pod);
}

table! { NODE, Node, info;
    "name" => |_c, node| Value::symbol(node.name());
    "uid" => |_c, node| Value::symbol(&node.node().uid);
    "labels" => |_c, node| Value::Labels(&node.node().labels);
    "annotations" => |_c, node| Value::Annotations(&node.node().annotations);
    "created" => |_c, node| time(node.node().created);
    "age" => |c, node| age(c, node.node().created);
    "taints" => |_c, node| Value::list(node.node().taints.iter().map(Value::Taint));
    "allocatable" => |_c, node| resources(&node.node().allocatable);
    "capacity" => |_c, node| resources(&node.node().capacity);
    "requested" => |_c, node| owned_resources(requested(node));
    "nonzero_requested" => |_c, node| {
        let (milli_cpu, memory) = node.nonzero_requested();
        owned_resources(Resource { milli_cpu, memory, ..Resource::default() })
    };
    "free" => |_c, node| owned_resources(less(&node.node().allocatable, &requested(node)));
    "pods" => |_c, node| Value::list(node.pods().map(|pod| Value::Pod(pod)));
    "zone" => |_c, node| Value::optional(node.node().zone().map(Value::symbol));
    "region" => |_c, node| Value::optional(node.node().region().map(Value::symbol));
    "ready" => |_c, node| Value::Bool(node.node().is_ready());
    "unschedulable" => |_c, node| Value::Bool(node.node().unschedulable);
    "images" => |_c, node| Value::list(
        node.node().images.iter().flat_map(|image| image.names.iter()).map(Value::symbol),
    );
    "gpus" => |c, node| {
        let model = Value::optional(gpus::model(node).map(Value::symbol));
        Value::list(gpus::of_node(node, &c.pod.key).into_iter().map(|gpu| {
            Value::Record([Value::Int(gpu.index), model.clone(), Value::Int(gpus::WHOLE), Value::Int(gpu.free)].into())
        }))
    };
    "devices" => |c, node| devices::reached(c, node);
}

table! { NAMESPACE, Namespace, itself;
    "name" => |_c, namespace| Value::symbol(&namespace.name);
    "labels" => |_c, namespace| Value::Labels(&namespace.labels);
    "annotations" => |_c, namespace| Value::Annotations(&namespace.annotations);
}

table! { LOOKED_UP, LookedUp, itself;
    "name" => |_c, object| Value::symbol(&object.metadata().name);
    "namespace" => |_c, object| Value::symbol(&object.metadata().namespace);
    "uid" => |_c, object| Value::symbol(&object.metadata().uid);
    "labels" => |_c, object| Value::Labels(object.labels());
    "annotations" => |_c, object| Value::Annotations(object.annotations());
    "created" => |_c, object| time(object.created());
}

table! { CONTAINER, Container, itself;
    "name" => |_c, container| Value::symbol(&container.name);
    "image" => |_c, container| Value::symbol(&container.image);
    "requests" => |_c, container| resources(&container.requests);
    "limits" => |_c, container| resources(&container.limits);
}

table! { TAINT, Taint, itself;
    "key" => |_c, taint| Value::symbol(&taint.key);
    "value" => |_c, taint| Value::symbol(&taint.value);
    "effect" => |_c, taint| Value::borrowed(taint.effect.name());
}

table! { TOLERATION, Toleration, itself;
    "key" => |_c, toleration| Value::symbol(&toleration.key);
    "operator" => |_c, toleration| Value::borrowed(toleration.operator.name());
    "value" => |_c, toleration| Value::symbol(&toleration.value);
    "effect" => |_c, toleration| Value::borrowed(toleration.effect.map_or("", Effect::name));
}

table! { OWNER, Owner, itself;
    "kind" => |_c, owner| Value::symbol(&owner.kind);
    "name" => |_c, owner| Value::symbol(&owner.name);
    "uid" => |_c, owner| Value::symbol(&owner.uid);
}

/// Fields of a part of an object: a record with the fields in the order of the table.
macro_rules! records {
    ($name:ident; $($at:literal $field:literal;)*) => {
        pub(super) static $name: &[(&str, Getter)] = &[$(($field, {
            fn get<'a>(_: &EvalContext<'a>, value: &Value<'a>) -> Value<'a> {
                let Value::Record(fields) = value else { return Value::Absent };
                Value::optional(fields.get($at).cloned())
            }
            get
        })),*];
    };
}

pub(super) use records;

records! { GPU; 0 "index"; 1 "model"; 2 "capacity"; 3 "free"; }
records! { GPU_REQUEST; 0 "count"; 1 "milli"; }

/// What the pods on a node request; `pods` is their number.
pub(crate) fn requested(node: NodeInfo<'_>) -> Resource {
    let mut requested = node.requested().clone();
    requested.pods = i64::try_from(node.pod_count()).unwrap_or(i64::MAX);
    requested
}

static LOAD: &[(&str, Getter)] = &[
    ("cpu", |_, of| of_load(of, |load| Value::Usage(load.cpu))),
    ("memory", |_, of| of_load(of, |load| Value::Usage(load.memory))),
    ("samples", |_, of| of_load(of, |load| Value::Int(i64::from(load.samples)))),
    ("window_end", |c, of| of_load(of, |load| Value::Time(c.snapshot.wall_clock(load.at)))),
    ("age", |c, of| of_load(of, |load| Value::Int(c.snapshot.metrics().age(load).0))),
];

fn of_load<'a>(of: &Value<'a>, field: impl FnOnce(&Load) -> Value<'a>) -> Value<'a> {
    match of {
        Value::Load(load) => field(load),
        _ => Value::Absent,
    }
}

static USAGE: &[(&str, Getter)] = &[
    ("latest", |_, of| of_usage(of, |usage| usage.latest)),
    ("mean", |_, of| of_usage(of, |usage| usage.mean)),
    ("std", |_, of| of_usage(of, |usage| usage.std)),
    ("max", |_, of| of_usage(of, |usage| usage.max)),
];

fn of_usage<'a>(of: &Value<'a>, field: fn(&Usage) -> i64) -> Value<'a> {
    match of {
        Value::Usage(usage) => Value::Int(field(usage)),
        _ => Value::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_getter() {
        let without: Vec<_> =
            FIELDS.iter().filter(|row| find(row).is_none()).map(|row| (row.owner, row.name)).collect();
        assert_eq!(without, []);
    }
}

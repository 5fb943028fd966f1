//! The kinds of objects and structures that a type can name.

/// The kinds of objects that have rows in the table of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectType {
    /// A pod, with its placement in the snapshot.
    Pod,
    /// A node, with the pods that are placed on it.
    Node,
    /// A namespace.
    Namespace,
    /// An object of a kind that is looked up.
    LookedUp,
    /// A container of a pod.
    Container,
    /// A taint of a node.
    Taint,
    /// A toleration of a pod.
    Toleration,
    /// The controller that a pod belongs to.
    Owner,
    /// A GPU of a node.
    Gpu,
    /// The GPUs that a pod requests.
    GpuRequest,
    /// A device that a node reaches.
    Device,
    /// A claim of devices of a pod.
    Claim,
    /// A request of a claim, or an alternative of one.
    ClaimRequest,
    /// What a node used over the window of a source.
    Load,
    /// What a node used of its CPU.
    CpuUsage,
    /// What a node used of its memory.
    MemoryUsage,
}

impl ObjectType {
    /// The word it is written with, in messages and after `:`.
    pub fn name(self) -> &'static str {
        match self {
            ObjectType::Pod => "pod",
            ObjectType::Node => "node",
            ObjectType::Namespace => "ns",
            ObjectType::LookedUp => "object",
            ObjectType::Container => "container",
            ObjectType::Taint => "taint",
            ObjectType::Toleration => "toleration",
            ObjectType::Owner => "owner",
            ObjectType::Gpu => "gpu",
            ObjectType::GpuRequest => "gpu request",
            ObjectType::Device => "device",
            ObjectType::Claim => "claim",
            ObjectType::ClaimRequest => "claim request",
            ObjectType::Load => "load",
            ObjectType::CpuUsage => "cpu usage",
            ObjectType::MemoryUsage => "memory usage",
        }
    }
}

/// A structure of the Kubernetes API, below `spec`, `status` or `metadata` of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiType {
    /// Its row in `language::fields::api`.
    pub row: u16,
    /// Its name.
    pub name: &'static str,
}

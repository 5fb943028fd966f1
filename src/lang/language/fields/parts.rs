//! [`PARTS`]: how many parts an object has, for the bound in steps. `--size` declares other numbers.

/// A kind of part of which an object has many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedPart {
    /// Labels, and terms of a node selector.
    Labels,
    /// Annotations.
    Annotations,
    /// Containers of a pod.
    Containers,
    /// Taints of a node.
    Taints,
    /// Tolerations of a pod.
    Tolerations,
    /// Names of images on a node.
    Images,
    /// Elements of a list or map below `spec`, `status` and `metadata`.
    Terms,
    /// Objects of a kind that policies look up.
    Objects,
    /// Pods that preemption has promised a node.
    Nominated,
    /// Claims of devices of a pod.
    Claims,
    /// Requests of a claim.
    Requests,
    /// Devices that a node reaches.
    Devices,
}

/// A row of [`PARTS`].
#[derive(Debug)]
pub struct PartDef {
    /// The part.
    pub part: CountedPart,
    /// The name, as `--size` takes it.
    pub name: &'static str,
    /// How many an object has, if `--size` does not say else.
    pub number: u32,
    /// What is counted, in a few words.
    pub doc: &'static str,
}

/// The parts of objects. An object with more is decided in the same way; it may take longer than the bound.
pub static PARTS: [PartDef; 12] = [
    row(CountedPart::Labels, "labels", 32, "labels of an object, and terms of a node selector"),
    row(CountedPart::Annotations, "annotations", 32, "annotations of an object"),
    row(CountedPart::Containers, "containers", 50, "containers of a pod, and their images"),
    row(CountedPart::Taints, "taints", 100, "taints of a node"),
    row(CountedPart::Tolerations, "tolerations", 50, "tolerations of a pod"),
    // A kubelet reports at most fifty images with five names each.
    row(CountedPart::Images, "images", 250, "names of images on a node"),
    row(CountedPart::Terms, "terms", 64, "elements of a list or map below `spec`, `status` and `metadata`"),
    row(CountedPart::Objects, "objects", 10_000, "objects of a kind that policies look up"),
    // They leave the list when they get their node.
    row(CountedPart::Nominated, "nominated", 100, "pods that preemption has promised a node, at one time"),
    row(CountedPart::Claims, "claims", 16, "claims of devices of a pod"),
    row(CountedPart::Requests, "requests", 16, "requests of a claim of devices, with their alternatives"),
    // Eight boards, or half a board in parts. A slice may have 128.
    row(CountedPart::Devices, "devices", 32, "devices that a node reaches"),
];

const fn row(part: CountedPart, name: &'static str, number: u32, doc: &'static str) -> PartDef {
    PartDef { part, name, number, doc }
}

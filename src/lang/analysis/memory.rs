//! Estimates the memory that a policy takes for what it keeps of pods beside their slim fields, on
//! the pod of a usual Deployment (`typical_pod.json`). `plan`, `lint` and the lints show it.

use bayplan_model::objects::projection::{AnnotationKeys, Projection};
use serde_json::Value;

/// A pod of a Deployment with a sidecar, as an API server returns it, without managed fields.
static TYPICAL: &str = include_str!("typical_pod.json");

/// What the allocator adds to each piece of memory, in bytes.
const OVERHEAD: usize = 16;

/// What is kept of pods for a policy, and how much memory that takes.
#[derive(Debug)]
pub struct Memory {
    /// Fields and annotations, as the language writes them.
    pub kept: Vec<String>,
    /// For 100,000 typical pods, in MiB, rounded up.
    pub mib: u64,
}

impl Memory {
    /// Of what is kept of pods.
    pub fn of(pods: &Projection) -> Self {
        let mut kept: Vec<String> =
            pods.fields.paths().into_iter().map(|path| format!("pod.{path}")).collect();
        match &pods.annotations {
            AnnotationKeys::All => kept.push("pod.annotations".into()),
            AnnotationKeys::Only(keys) => {
                kept.extend(keys.iter().map(|key| format!("pod.annotations[{key:?}]")));
            }
        }
        Self { kept, mib: mib_per_100_000_pods(pods) }
    }

    /// In words; `None` if nothing is kept.
    pub fn text(&self) -> Option<String> {
        let (mib, kept) = (bayplan_diag::with_commas(self.mib.into()), self.kept.join(", "));
        (!self.kept.is_empty()).then(|| format!("about {mib} MiB per 100,000 pods, for {kept}"))
    }
}

/// MiB for 100,000 pods, rounded up.
pub(crate) fn mib_per_100_000_pods(projection: &Projection) -> u64 {
    let bytes = bytes_per_pod(projection) as u64 * 100_000;
    bytes.div_ceil(1 << 20)
}

/// Bytes for one pod.
fn bytes_per_pod(projection: &Projection) -> usize {
    // The text is ours; a test reads it.
    let pod: Value = serde_json::from_str(TYPICAL).unwrap_or_default();
    let annotations = match &projection.annotations {
        AnnotationKeys::All => {
            let all = pod["metadata"]["annotations"].as_object();
            let lengths = all.into_iter().flatten().map(|(_, value)| value.as_str().map_or(0, str::len));
            lengths.map(annotation).sum()
        }
        // As long as a hash or a name.
        AnnotationKeys::Only(keys) => keys.len() * annotation(64),
    };
    match projection.fields.is_empty() {
        true => annotations,
        false => annotations + OVERHEAD + size_of::<Value>() + behind(&projection.fields.of(pod)),
    }
}

/// An annotation: key and value in the list, and the text.
fn annotation(length: usize) -> usize {
    size_of::<(bayplan_model::Symbol, std::sync::Arc<str>)>() + 2 * OVERHEAD + length
}

/// The memory behind a value.
fn behind(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len() + OVERHEAD,
        Value::Array(items) => {
            OVERHEAD + items.iter().map(|item| size_of::<Value>() + behind(item)).sum::<usize>()
        }
        Value::Object(fields) => {
            // A hash table of positions, at most seven eighths full, beside the list of entries.
            let table = (fields.len() * 8 / 7 + 1).next_power_of_two().max(4) * (size_of::<usize>() + 1);
            let entry = size_of::<u64>() + size_of::<String>() + size_of::<Value>();
            let entries = fields.iter().map(|(name, value)| entry + name.len() + OVERHEAD + behind(value));
            table + 2 * OVERHEAD + entries.sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::PodInfo;
    use bayplan_model::objects::projection::Fields;

    fn estimate(paths: &[&str]) -> u64 {
        let mut fields = Fields::default();
        paths.iter().for_each(|path| fields.add(&path.split('.').collect::<Vec<_>>()));
        mib_per_100_000_pods(&Projection { fields, ..Projection::default() })
    }

    #[test]
    fn the_typical_pod_is_a_pod() {
        let pod: Value = serde_json::from_str(TYPICAL).unwrap();
        assert!(PodInfo::from_value(std::sync::Arc::new(pod)).is_ok());
    }

    #[test]
    fn the_estimate_grows_with_what_is_kept() {
        assert_eq!(mib_per_100_000_pods(&Projection::default()), 0);
        let (path, list, spec) =
            (estimate(&["spec.hostname"]), estimate(&["spec.containers.image"]), estimate(&["spec"]));
        let all = mib_per_100_000_pods(&Projection::everything());
        assert!(path > 0 && path < list && list < spec && spec < all, "{path} {list} {spec} {all}");
        assert!(path < 60 && spec > 500, "{path} {spec}");
    }
}

//! [`Resource`]: amounts by resource, as kube-scheduler's `framework.Resource` keeps them.

use super::symbol::Symbol;
use smallvec::SmallVec;

/// Amounts of resources: CPU in millicores, everything else in whole units (bytes, pieces).
///
/// Source: `pkg/scheduler/framework/types.go`, `Resource`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Resource {
    /// CPU in thousandths of a core.
    pub milli_cpu: i64,
    /// Memory in bytes.
    pub memory: i64,
    /// Local ephemeral storage in bytes.
    pub ephemeral_storage: i64,
    /// Number of pods a node takes; 0 in requests.
    pub pods: i64,
    /// Extended resources, hugepages and attachable volumes, ordered by name.
    pub scalars: SmallVec<[(Symbol, i64); 2]>,
}

impl Resource {
    /// The amount of the scalar resource `name`, 0 when it is not named.
    #[inline]
    pub fn scalar(&self, name: &Symbol) -> i64 {
        self.scalars.iter().find(|(n, _)| n == name).map_or(0, |(_, amount)| *amount)
    }

    /// The amount of any resource by its Kubernetes name (`cpu` in millicores), 0 when it is not named.
    #[inline]
    pub fn get(&self, name: &Symbol) -> i64 {
        match name.as_str() {
            "cpu" => self.milli_cpu,
            "memory" => self.memory,
            "ephemeral-storage" => self.ephemeral_storage,
            "pods" => self.pods,
            _ => self.scalar(name),
        }
    }

    /// Sets the scalar resource `name`.
    pub fn set_scalar(&mut self, name: Symbol, amount: i64) {
        match self.scalars.binary_search_by(|(n, _)| n.cmp(&name)) {
            Ok(at) => self.scalars[at].1 = amount,
            Err(at) => self.scalars.insert(at, (name, amount)),
        }
    }

    /// Adds `other` resource by resource; saturates.
    pub fn add(&mut self, other: &Resource) {
        self.combine(other, i64::saturating_add);
    }

    /// Subtracts `other` resource by resource; saturates. Scalars stay named at 0.
    pub fn sub(&mut self, other: &Resource) {
        self.combine(other, i64::saturating_sub);
    }

    /// Takes the larger amount, resource by resource.
    pub fn max(&mut self, other: &Resource) {
        self.combine(other, i64::max);
    }

    fn combine(&mut self, other: &Resource, op: fn(i64, i64) -> i64) {
        self.milli_cpu = op(self.milli_cpu, other.milli_cpu);
        self.memory = op(self.memory, other.memory);
        self.ephemeral_storage = op(self.ephemeral_storage, other.ephemeral_storage);
        self.pods = op(self.pods, other.pods);
        for (name, amount) in &other.scalars {
            self.set_scalar(name.clone(), op(self.scalar(name), *amount));
        }
    }
}

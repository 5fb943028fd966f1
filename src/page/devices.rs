//! Devices of nodes as resources of the page, by the name of their driver: how many a node has, and how many each pod holds
//! by its claims. A claim that several pods use counts for the first; devices that are not of one node count for none.

use bayplan_model::objects::devices::DeviceId;
use bayplan_model::{DeviceIndex, Node, PodInfo, ResourceClaim, Snapshot, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};

/// Devices of the nodes of a snapshot.
#[derive(Default)]
pub(crate) struct Devices<'s> {
    index: Option<&'s DeviceIndex>,
    drivers: Vec<&'s Symbol>,
    /// How many devices each pod holds, by UID, in the order of the drivers.
    held: FxHashMap<&'s Symbol, Vec<i64>>,
}

impl<'s> Devices<'s> {
    pub(crate) fn of(snapshot: &'s Snapshot) -> Self {
        let Ok(index) = snapshot.try_index::<DeviceIndex>(&DeviceIndex::key()) else {
            return Self::default();
        };
        let mut drivers: Vec<&Symbol> = Vec::new();
        let mut on_nodes: FxHashSet<DeviceId> = FxHashSet::default();
        for node in snapshot.nodes() {
            for slice in index.slices_of(node.name()) {
                drivers.push(&slice.pool.driver);
                let id = |name: &Symbol| DeviceId { pool: slice.pool.clone(), name: name.clone() };
                on_nodes.extend(slice.devices.iter().map(|device| id(&device.name)));
            }
        }
        drivers.sort();
        drivers.dedup();
        let mut held: FxHashMap<&Symbol, Vec<i64>> = FxHashMap::default();
        for claim in snapshot.objects::<ResourceClaim>() {
            let (Some(user), Some(allocation)) = (claim.reserved_for.first(), &claim.allocation) else {
                continue;
            };
            let results = allocation.devices.results.iter().filter(|result| !result.admin_access);
            for result in results.filter(|result| on_nodes.contains(&result.id())) {
                let Ok(at) = drivers.binary_search(&&result.driver) else { continue };
                let of_pod = held.entry(&user.uid).or_insert_with(|| vec![0; drivers.len()]);
                of_pod.iter_mut().skip(at).take(1).for_each(|count| *count += 1);
            }
        }
        Self { index: Some(index), drivers, held }
    }

    /// The drivers, by name.
    pub(crate) fn names(&self) -> impl Iterator<Item = Symbol> {
        self.drivers.iter().map(|name| (*name).clone())
    }

    /// How many devices a pod holds of each driver.
    pub(crate) fn of_pod(&self, pod: &PodInfo) -> Vec<i64> {
        self.held.get(&pod.uid).cloned().unwrap_or_else(|| vec![0; self.drivers.len()])
    }

    /// How many devices of each driver a node has, and how many of them claims hold.
    pub(crate) fn of_node(&self, node: &Node) -> (Vec<i64>, Vec<i64>) {
        let (mut all, mut used) = (vec![0; self.drivers.len()], vec![0; self.drivers.len()]);
        let Some(index) = self.index else { return (all, used) };
        let newest = |slice: &bayplan_model::ResourceSlice| {
            index.pool(&slice.pool).all(|other| other.generation <= slice.generation)
        };
        for slice in index.slices_of(&node.name).filter(|slice| newest(slice)) {
            let Ok(at) = self.drivers.binary_search(&&slice.pool.driver) else { continue };
            let is_held = |name: &Symbol| {
                let id = DeviceId { pool: slice.pool.clone(), name: name.clone() };
                index.allocated().has_any(&id)
            };
            let held = slice.devices.iter().filter(|device| is_held(&device.name)).count();
            for (column, count) in [(&mut all, slice.devices.len()), (&mut used, held)] {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                column.iter_mut().skip(at).take(1).for_each(|sum| *sum = i64::saturating_add(*sum, count));
            }
        }
        (all, used)
    }
}

#[cfg(test)]
mod tests {
    use super::Devices;
    use bayplan_model::testing::{node, object_of, pod};
    use bayplan_model::{Change, DeviceIndex, Object, Snapshot, Symbol};
    use serde_json::{Value, json};

    fn see(snapshot: &mut Snapshot, kind: &str, mut value: Value) {
        value["apiVersion"] = json!("resource.k8s.io/v1");
        value["kind"] = json!(kind);
        match object_of(value) {
            Object::Other(object) => snapshot.apply(Change::ObjectSeen { object }),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn devices_of_one_node_are_counted_by_driver_node_and_pod() {
        let mut snapshot = Snapshot::default();
        snapshot.add_index(DeviceIndex::key(), Box::new(DeviceIndex::default()));
        snapshot.apply(Change::NodeUpserted { node: node("n").build() });
        for (name, driver, nodes) in
            [("a", "gpu", json!({"nodeName": "n"})), ("b", "nic", json!({"allNodes": true}))]
        {
            let mut spec = json!({
                "driver": driver, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "0"}, {"name": "1"}, {"name": "2"}],
            });
            spec.as_object_mut().unwrap().extend(nodes.as_object().unwrap().clone());
            see(&mut snapshot, "ResourceSlice", json!({"metadata": {"name": name}, "spec": spec}));
        }
        let result = |driver: &str, device: &str, admin: bool| json!({"request": "r", "driver": driver, "pool": "p", "device": device, "adminAccess": admin});
        let results = [
            result("gpu", "0", false),
            result("gpu", "2", false),
            result("gpu", "1", true),
            result("nic", "0", false),
        ];
        let users = json!([{"resource": "pods", "name": "x", "uid": "x"}, {"resource": "pods", "name": "y", "uid": "y"}]);
        let status = json!({"reservedFor": users, "allocation": {"devices": {"results": results}}});
        let metadata = json!({"name": "c", "namespace": "default"});
        see(&mut snapshot, "ResourceClaim", json!({"metadata": metadata, "spec": {}, "status": status}));
        let devices = Devices::of(&snapshot);
        assert_eq!(devices.names().collect::<Vec<_>>(), [Symbol::new("gpu")]);
        assert_eq!(devices.of_node(&node("n").build()), (vec![3], vec![2]));
        assert_eq!(devices.of_pod(&pod("x").uid("x").build()), [2]);
        assert_eq!(devices.of_pod(&pod("y").uid("y").build()), [0]);
        assert_eq!(Devices::of(&Snapshot::default()).of_node(&node("n").build()), (vec![], vec![]));
    }
}

//! A snapshot as canonical text, and a snapshot rebuilt from its objects. Tests compare both, so that applying changes
//! one by one equals a fresh start. Rows are named by node; their order does not matter.

use super::changes::Change;
use super::columns::Want;
use super::snapshot::Snapshot;
use super::symbol::Symbol;
use std::fmt::Write;

impl Snapshot {
    /// Everything that can be seen of nodes, pods, columns and promises, by name and in order.
    pub fn describe(&self) -> String {
        let mut lines = Vec::new();
        let columns = self.columns();
        let mut resources: Vec<Symbol> =
            ["cpu", "memory", "ephemeral-storage", "pods"].map(Symbol::new).to_vec();
        resources.extend(columns.scalar_names().cloned());
        resources.sort();
        let labels = columns.label_keys();
        for info in self.nodes() {
            let row = info.id().row();
            let mut line = format!("node {} {:?}", info.name(), info.node());
            for resource in &resources {
                let column = columns.resource(resource);
                let at =
                    |values: Option<&Vec<i64>>| values.and_then(|v| v.get(row)).copied().unwrap_or_default();
                let allocatable = at(column.map(|column| &*column.allocatable));
                let requested = at(column.map(|column| &*column.requested));
                // A rebuilt snapshot has no column for a resource that no node or pod names.
                if allocatable != 0 || requested != 0 {
                    let _ = write!(line, " {resource}={requested}/{allocatable}");
                }
            }
            let nonzero = (columns.nonzero_milli_cpu().get(row), columns.nonzero_memory().get(row));
            let taints = columns.taints().get(row).and_then(|id| columns.taint_sets().get(id.0 as usize));
            let taints = taints.map(|set| set.taints());
            let _ = write!(line, " nonzero={nonzero:?} taints={taints:?}");
            let _ = write!(line, " unschedulable={}", columns.unschedulable().contains(info.id()));
            let _ = write!(line, " host_ports={}", columns.host_ports().contains(info.id()));
            for key in &labels {
                let value = columns.label(key).and_then(|column| column.get(row));
                let _ = write!(line, " {key}={value:?}");
            }
            let mut pods: Vec<&Symbol> = info.pods().map(|pod| &pod.key.0).collect();
            pods.sort();
            let mut promised: Vec<&Symbol> = self.nominated(info.id()).iter().map(|pod| &pod.key.0).collect();
            promised.sort();
            let mut ports: Vec<_> = info.used_ports().collect();
            ports.sort();
            let requested = info.requested();
            let _ = write!(line, " pods={pods:?} promised={promised:?} ports={ports:?}");
            let _ = write!(
                line,
                " sum={}/{}/{}",
                requested.milli_cpu, requested.memory, requested.ephemeral_storage
            );
            lines.push(line);
        }
        for entry in self.pods() {
            let node = entry.placed.and_then(|(node, how)| Some((self.node(node)?.name().clone(), how)));
            lines.push(format!("pod {:?} {node:?} waiting={} {:?}", entry.pod.key, entry.waiting, entry.pod));
        }
        lines.sort();
        lines.push(format!("{} nodes, {} pods", self.node_count(), self.pod_count()));
        lines.join("\n")
    }

    /// A snapshot made anew from the objects of this one, with the same label columns and no indexes.
    pub fn rebuilt(&self) -> Snapshot {
        let mut made = Snapshot::default();
        for key in self.columns().label_keys() {
            made.want(&[Want::Label(key.clone())]);
        }
        for info in self.nodes() {
            made.apply(Change::NodeUpserted { node: info.node().clone() });
        }
        let mut pods: Vec<_> = self.pods().collect();
        pods.sort_by(|a, b| a.pod.key.cmp(&b.pod.key));
        for entry in pods {
            match entry.placed {
                Some((node, how)) => {
                    let Some(info) = self.node(node) else { continue };
                    let node = made.row_or_placeholder(info.name());
                    made.apply(Change::PodPlaced { pod: entry.pod.clone(), node, how });
                }
                None => made.apply(Change::PodPending { pod: entry.pod.clone() }),
            }
            if entry.waiting {
                made.apply(Change::PodWaiting { pod: entry.pod.key.clone(), waiting: true });
            }
        }
        for (pod, node) in self.nominations() {
            let Some(info) = self.node(node) else { continue };
            let node = made.row_or_placeholder(info.name());
            made.apply(Change::Nominated { pod, node: Some(node) });
        }
        made
    }
}

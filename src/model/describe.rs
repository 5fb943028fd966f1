//! A snapshot as canonical text, and a snapshot rebuilt from its objects. Tests compare both, so that applying changes
//! one by one equals a fresh start. Rows are named by node; their order does not matter.

use super::changes::Change;
use super::columns::Want;
use super::pod_counts::Counts;
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
        self.describe_counts(&mut lines);
        lines.sort();
        lines.push(format!("{} nodes, {} pods", self.node_count(), self.pod_count()));
        lines.join("\n")
    }

    /// Domains of topology keys, counts of matches and carriers of terms, each with its nodes by name.
    fn describe_counts(&self, lines: &mut Vec<String>) {
        let name = |node| self.node(node).map(|node| node.name().clone());
        let named = |counts: &Counts| {
            let mut named: Vec<_> = counts.iter().map(|(node, pods)| (name(node), pods)).collect();
            named.sort();
            named
        };
        for key in self.columns().domain_keys() {
            let Some(column) = self.columns().domain(key) else { continue };
            let of_node = |row: usize| column.get(row).and_then(|number| column.value(number));
            let mut values: Vec<_> =
                self.nodes().map(|info| (info.name().clone(), of_node(info.id().row()))).collect();
            values.sort();
            let mut domains: Vec<_> = (0..column.len())
                .filter_map(|number| Some((column.value(number)?, *column.nodes().get(number)?)))
                .filter(|(_, nodes)| *nodes > 0)
                .collect();
            domains.sort();
            lines.push(format!("domains of {key} {values:?} {domains:?}"));
        }
        for (of, counts) in self.counts.matches.all() {
            lines.push(format!("match {of:?} {:?}", named(counts)));
        }
        for (kind, term, counts) in self.counts.carriers.all() {
            lines.push(format!("term {kind:?} {term} {:?}", named(counts)));
        }
    }

    /// A snapshot made anew from the objects of this one, with the same columns and matches and no indexes.
    pub fn rebuilt(&self) -> Snapshot {
        let mut made = Snapshot::default();
        for key in self.columns().label_keys() {
            made.want(&[Want::Label(key.clone())]);
        }
        for key in self.columns().domain_keys() {
            made.want(&[Want::Domain(key.clone())]);
        }
        for (of, _) in self.counts.matches.all() {
            made.want(&[Want::Count(of.clone())]);
        }
        for namespace in self.namespaces() {
            made.apply(Change::NamespaceUpserted { namespace: namespace.clone() });
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

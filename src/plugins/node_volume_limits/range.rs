//! The filter over all nodes: compares the counts of the index with the limits, and looks at single volumes only where
//! the pod's volumes would exceed them.

use super::count::{missing_driver, new_volumes, not_installed};
use super::index::{AttachedVolumes, Cell, RowState};
use super::{NodeVolumeLimits, REASON};
use crate::framework::{Handle, Status, Verdicts};
use crate::model::{NodeSet, Symbol};
use crate::plugins::filter_each;
use crate::plugins::volumes::migration::CsiVolume;
use std::collections::{BTreeMap, BTreeSet};

/// The pod's volumes of one driver that has limits.
struct OfDriver<'a> {
    volumes: Vec<&'a CsiVolume>,
    cells: &'a [Cell],
}

impl OfDriver<'_> {
    /// Whether the limit of a row is exceeded, if this many volumes come.
    fn exceeds(&self, row: usize, new: usize) -> bool {
        self.cells.get(row).is_some_and(|cell| cell.used.saturating_add(new as i64) > cell.limit)
    }
}

fn by_driver<'a>(index: &'a AttachedVolumes, new: &'a BTreeSet<CsiVolume>) -> Vec<OfDriver<'a>> {
    let mut drivers: BTreeMap<&Symbol, Vec<&CsiVolume>> = BTreeMap::new();
    for volume in new {
        drivers.entry(&volume.driver).or_default().push(volume);
    }
    let with_cells = drivers.into_iter().filter_map(|(driver, volumes)| {
        let cells = index.cells(driver)?;
        Some(OfDriver { volumes, cells })
    });
    with_cells.collect()
}

/// Writes the refusals of all nodes.
pub(super) fn filter(plugin: &NodeVolumeLimits, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
    let Ok(index) = h.snapshot.try_index::<AttachedVolumes>(&AttachedVolumes::key()) else {
        filter_each(plugin, h, nodes, out);
        return;
    };
    // In-tree volumes count only where there is a CSINode.
    let with = new_volumes(h.snapshot, h.pod, true);
    let without = new_volumes(h.snapshot, h.pod, false);
    let mut demanding = false;
    let without = match without {
        Ok(new) if plugin.scaling => {
            let missing = missing_driver(h.snapshot, &new, None);
            missing.map_or(Ok(()), |driver| Err(Status::unschedulable(not_installed(driver))))
        }
        Ok(_) => Ok(()),
        Err(status) => Err(status),
    };
    if let Ok(new) = &with {
        demanding = plugin.scaling && missing_driver(h.snapshot, new, None).is_some();
    }
    let groups = with.as_ref().map(|new| by_driver(index, new));
    if groups.as_ref().is_ok_and(Vec::is_empty) && without.is_ok() && !demanding {
        // No limit concerns the pod; nodes that the index does not know have none that it knows of.
        let unknown = nodes.iter().filter(|row| index.state(*row) == RowState::Unknown).collect();
        filter_each(plugin, h, &unknown, out);
        return;
    }
    let exceeded = out.status(Status::unschedulable(REASON));
    let mut each = NodeSet::default();
    for row in nodes.iter() {
        let verdict = match (index.state(row), &groups) {
            (RowState::Unknown, _) => {
                each.insert(row);
                continue;
            }
            (RowState::NoCsiNode, _) => without.as_ref().err().cloned(),
            (RowState::Counted, Err(status)) => Some((*status).clone()),
            (RowState::Counted, Ok(_)) if demanding => {
                each.insert(row);
                continue;
            }
            (RowState::Counted, Ok(groups)) => {
                let exceeds = |of: &OfDriver<'_>| {
                    of.exceeds(row.row(), of.volumes.len()) && {
                        let unused = |volume: &&&CsiVolume| !index.is_used(row, volume);
                        let new = of.volumes.iter().filter(unused).count();
                        new > 0 && of.exceeds(row.row(), new)
                    }
                };
                if groups.iter().any(exceeds) {
                    out.refuse(row, exceeded);
                }
                None
            }
        };
        if let Some(status) = verdict {
            let status = out.status(status);
            out.refuse(row, status);
        }
    }
    filter_each(plugin, h, &each, out);
}

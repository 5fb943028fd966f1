//! The filter over all nodes: compares the counts of the index with the limits, and looks at single volumes only where
//! the pod's volumes would exceed them.

use super::count::{missing_driver, new_volumes, not_installed};
use super::index::{AttachedVolumes, RowState};
use super::{NodeVolumeLimits, REASON};
use crate::filter_each;
use crate::volumes::migration::CsiVolume;
use bayplan_framework::{Handle, Status, Verdicts};
use bayplan_model::{NodeId, NodeSet, Symbol, bits, rows_where};
use std::collections::{BTreeMap, BTreeSet};

/// The pod's volumes of one driver that has limits.
struct OfDriver<'a> {
    volumes: Vec<&'a CsiVolume>,
    /// How many more volumes rows may have.
    room: &'a [i64],
}

impl OfDriver<'_> {
    /// The rows of a word on which the limit is exceeded.
    fn exceeding(&self, index: &AttachedVolumes, word: usize, rows: u64) -> u64 {
        let new = self.volumes.len() as i64;
        let mut exceeding = rows & rows_where(self.room, word, |room| *room < new);
        for bit in bits(exceeding) {
            // Volumes that a pod on the node uses are not new.
            let row = NodeId::from_row(word * 64 + bit);
            let new = self.volumes.iter().filter(|volume| !index.is_used(row, volume)).count() as i64;
            if new == 0 || self.room.get(row.row()).is_none_or(|room| *room >= new) {
                exceeding &= !(1 << bit);
            }
        }
        exceeding
    }
}

fn by_driver<'a>(index: &'a AttachedVolumes, new: &'a BTreeSet<CsiVolume>) -> Vec<OfDriver<'a>> {
    let mut drivers: BTreeMap<&Symbol, Vec<&CsiVolume>> = BTreeMap::new();
    for volume in new {
        drivers.entry(&volume.driver).or_default().push(volume);
    }
    let limited = drivers.into_iter().filter_map(|(driver, volumes)| {
        let room = index.room(driver)?;
        Some(OfDriver { volumes, room })
    });
    limited.collect()
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
    let drivers = with.as_ref().map(|new| by_driver(index, new));
    let exceeded = out.status(Status::unschedulable(REASON));
    let on_counted = drivers.as_ref().err().map(|status| out.status((*status).clone()));
    let on_others = without.err().map(|status| out.status(status));
    let mut each = NodeSet::with_rows(nodes.words().len() * 64);
    for (word, rows) in nodes.words().iter().copied().enumerate().filter(|(_, rows)| *rows != 0) {
        let is = |state: RowState| rows & rows_where(index.states(), word, |of| *of == state);
        let (counted, others) = (is(RowState::Counted), is(RowState::NoCsiNode));
        let mut single = rows & !counted & !others;
        match (on_counted, &drivers) {
            (Some(status), _) => out.refuse_rows(word, counted, status),
            (None, _) if demanding => single |= counted,
            (None, Ok(drivers)) => {
                let exceeding = |all, of: &OfDriver| all | of.exceeding(index, word, counted);
                out.refuse_rows(word, drivers.iter().fold(0, exceeding), exceeded);
            }
            (None, Err(_)) => {}
        }
        if let Some(status) = on_others {
            out.refuse_rows(word, others, status);
        }
        each.words_mut()[word] = single;
    }
    filter_each(plugin, h, &each, out);
}

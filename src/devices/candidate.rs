//! One device for one request: the checks, in their order, and what is noted when it is picked.
//!
//! Source: `structured/internal/incubating/allocator_incubating.go`, `allocateOne`, `allocateDevice`, `rollbackDevice`.

use crate::allocator::NotAllocated;
use crate::capacity::{Amounts, CapacityProblem};
use crate::counters::ShortCounter;
use crate::device::{DeviceOf, Place};
use crate::pools::Pool;
use crate::request::{Alternative, named};
use crate::search::Search;
use crate::selectable::Unselected;
use bayplan_model::objects::devices::DeviceTaint;
use bayplan_model::{DeviceUse, Held, Symbol, VersionRow};

/// Why a device is not picked.
#[derive(Debug)]
pub(crate) enum Unfit<'a> {
    /// A claim has it for itself.
    Allocated,
    /// The search gave it to the request of another claim, or to another request of this one.
    Picked,
    /// The class, the request, or the device's choice of nodes.
    Unselected(Unselected),
    /// Too little capacity.
    Capacity(CapacityProblem),
    /// It takes counters, and the feature is off.
    CountersOff,
    /// A counter of its pool.
    Counter(ShortCounter),
    /// A taint.
    Taint(DeviceTaint),
    /// A constraint of the claim.
    Constraint(&'a Symbol),
}

/// A device that was picked, with what must be undone when it is not kept.
#[derive(Debug)]
pub(crate) struct Pick {
    /// The claim, its request, and the alternative.
    pub(crate) at: (usize, usize, usize),
    /// The device.
    pub(crate) place: Place,
    /// Of a device that claims share: what the share takes.
    pub(crate) share: Option<Amounts>,
    took_counters: bool,
}

impl<'a> Search<'a> {
    fn is_shareable(&self, device: &DeviceOf<'_>) -> bool {
        self.context.features.consumable_capacity && device.device.allow_multiple_allocations
    }

    /// Whether a request cannot have a device because another one has it.
    fn in_use(
        &self,
        claim: usize,
        of: &Alternative<'a>,
        (place, pool, device): (Place, &Pool<'a>, &DeviceOf<'a>),
    ) -> Option<Unfit<'a>> {
        let mut marks = self.marks.iter().filter(|(picked, _)| *picked == place);
        if of.admin_access {
            return marks.any(|(_, by)| *by == claim).then_some(Unfit::Picked);
        }
        // Without the feature a share counts as the whole device.
        let shares_count = !self.context.features.consumable_capacity;
        match pool.held(place, device) {
            Held::Dedicated => return Some(Unfit::Allocated),
            Held::Shared if shares_count => return Some(Unfit::Allocated),
            Held::Shared | Held::Free => {}
        }
        marks.next().map(|_| Unfit::Picked)
    }

    /// Whether a device has the capacity. `doing`: what the error says.
    fn capacity(
        &self,
        (claim, of): (usize, &Alternative<'a>),
        (place, pool, device): (Place, &Pool<'a>, &DeviceOf<'a>),
        doing: &str,
    ) -> Result<Option<Unfit<'a>>, NotAllocated> {
        if !self.context.features.consumable_capacity {
            return Ok(None);
        }
        let committed = pool.used(place, device).map(DeviceUse::consumed);
        let capacities = &device.device.capacity;
        let picked = self.shares.of(place);
        let fit = self.context.arithmetic().fit(of.device.amounts(), capacities, committed, picked);
        match fit {
            Ok(fit) => Ok(fit.err().map(Unfit::Capacity)),
            Err(error) => {
                let claim = self.name_of(claim);
                let request = of.name;
                Err(NotAllocated::Error(format!(
                    "claim {claim}, request {request}: {doing} capacity for device {device}: {error}"
                )))
            }
        }
    }

    fn name_of(&self, claim: usize) -> String {
        self.claims.get(claim).map(|claim| named(claim.object)).unwrap_or_default()
    }

    /// Picks a device for a request with a count, if it fits.
    pub(crate) fn consider(
        &mut self,
        at: (usize, usize, usize),
        of: &Alternative<'a>,
        place: Place,
    ) -> Result<Result<Pick, Unfit<'a>>, NotAllocated> {
        let Some((pool, device)) = self.device(place) else { return Ok(Err(Unfit::Allocated)) };
        let candidate = (place, pool, &device);
        if let Some(unfit) = self.in_use(at.0, of, candidate) {
            return Ok(Err(unfit));
        }
        let context = (self.context, self.node);
        if let Some(why) = self.known.verdicts.of(context, (of.number, &of.wanted), (place, &device))? {
            return Ok(Err(Unfit::Unselected(why)));
        }
        if let Some(unfit) = self.capacity((at.0, of), candidate, "checking")? {
            return Ok(Err(unfit));
        }
        self.pick(at, of, place, false)
    }

    /// Picks a device that is selected. `must`: it is the only choice, and its capacity is not known to suffice; a
    /// constraint against it is then an error.
    pub(crate) fn pick(
        &mut self,
        at: (usize, usize, usize),
        of: &Alternative<'a>,
        place: Place,
        must: bool,
    ) -> Result<Result<Pick, Unfit<'a>>, NotAllocated> {
        let claim = at.0;
        let Some((pool, device)) = self.device(place) else { return Ok(Err(Unfit::Allocated)) };
        let features = &self.context.features;
        if let Some(unfit) = self.in_use(claim, of, (place, pool, &device)) {
            return Ok(Err(unfit));
        }
        let takes_counters = !device.device.consumes_counters.is_empty();
        if takes_counters && !features.partitionable_devices {
            return Ok(Err(Unfit::CountersOff));
        }
        let took_counters = takes_counters && !self.is_accounted(pool, &device, place);
        if took_counters && let Err(short) = self.counters.take(pool, &device) {
            return Ok(Err(Unfit::Counter(short)));
        }
        let mut pick = Pick { at, place, share: None, took_counters };
        if features.device_taints
            && let Some(taint) = self.taint(of, &device)
        {
            self.undo_counters(&pick, &device);
            return Ok(Err(Unfit::Taint(taint)));
        }
        if let Some(refused) = self.constrain(claim, of, &device) {
            self.undo_counters(&pick, &device);
            if must {
                return Err(NotAllocated::Error(format!(
                    "claim {}, request {}: cannot add device {device} because a claim constraint would not be satisfied",
                    self.name_of(claim),
                    of.name
                )));
            }
            return Ok(Err(Unfit::Constraint(refused)));
        }
        if must && let Some(unfit) = self.capacity((claim, of), (place, pool, &device), "rechecking")? {
            self.release_constraints(claim, of, usize::MAX);
            self.undo_counters(&pick, &device);
            return Ok(Err(unfit));
        }
        if self.is_shareable(&device) {
            let taken = self.context.arithmetic().all_taken(of.device.amounts(), &device.device.capacity);
            let taken = taken.map_err(|error| {
                let (claim, request) = (self.name_of(claim), of.name);
                NotAllocated::Error(format!(
                    "claim {claim}, request {request}: computing consumed capacity for device {device}: {error}"
                ))
            })?;
            self.shares.add(place, &taken);
            pick.share = Some(taken);
        } else {
            self.marks.push((place, claim));
        }
        Ok(Ok(pick))
    }

    /// Undoes a pick; it was the last one.
    pub(crate) fn undo(&mut self, pick: &Pick, of: &Alternative<'a>) {
        let (claim, ..) = pick.at;
        match pick.share {
            Some(_) => self.shares.remove(pick.place),
            None => {
                self.marks.pop();
            }
        }
        self.release_constraints(claim, of, usize::MAX);
        if let Some((_, device)) = self.device(pick.place) {
            self.undo_counters(pick, &device);
        }
    }

    fn undo_counters(&mut self, pick: &Pick, device: &DeviceOf<'a>) {
        if pick.took_counters
            && let Some((pool, _)) = self.device(pick.place)
        {
            self.counters.give_back(pool, device);
        }
    }

    /// Whether the counters of a device are taken already, by its first share.
    fn is_accounted(&self, pool: &Pool<'a>, device: &DeviceOf<'a>, place: Place) -> bool {
        let any_share = self.context.features.has(VersionRow::SharedCountersOnce);
        let by_shares =
            |used: &DeviceUse| !used.consumed().is_empty() || any_share && !used.shares().is_empty();
        self.is_shareable(device)
            && (self.shares.has(place) || pool.used(place, device).is_some_and(by_shares))
    }

    /// A taint of the device or of rules that the request does not tolerate.
    fn taint(&self, of: &Alternative<'a>, device: &DeviceOf<'a>) -> Option<DeviceTaint> {
        let stands = |taint: &&DeviceTaint| {
            taint.refuses() && !of.device.tolerations.iter().any(|toleration| toleration.tolerates(taint))
        };
        let own = device.device.taints.iter().find(stands);
        let index = self.context.index;
        if own.is_some() || !self.context.features.taint_rules || !index.has_taint_rules() {
            return own.cloned();
        }
        let all = !self.context.features.has(VersionRow::DeviceTaintRules);
        index.taints_of(&device.id(), all).find(stands).cloned()
    }

    /// Adds a device to all constraints of a claim. Returns the attribute of the one that refuses it; none has it then.
    fn constrain(&mut self, claim: usize, of: &Alternative<'a>, device: &DeviceOf<'a>) -> Option<&'a Symbol> {
        let constraints = self.constraints.get_mut(claim)?;
        let (at, refused) = constraints.iter_mut().enumerate().find_map(|(at, constraint)| {
            (!constraint.add(of, device)).then_some((at, constraint.attribute))
        })?;
        self.release_constraints(claim, of, at);
        Some(refused)
    }

    /// Removes the last device from the first `count` constraints of a claim.
    fn release_constraints(&mut self, claim: usize, of: &Alternative<'a>, count: usize) {
        let constraints = self.constraints.get_mut(claim).into_iter().flatten();
        constraints.take(count).for_each(|constraint| constraint.remove(of));
    }
}

//! The search: claims in order, requests in order, devices in order, and the first full solution.
//!
//! Upstream recurses once for every device and request; here the way is a list, so that its length is bound by what claims
//! may request (32 devices each) and not by the stack.
//!
//! Source: `structured/internal/incubating/allocator_incubating.go`, `allocateOne`.

use crate::allocator::NotAllocated;
use crate::candidate::Pick;
use crate::claims::Known;
use crate::constraints::Constraint;
use crate::context::Context;
use crate::counters::Counters;
use crate::device::{DeviceOf, Place};
use crate::learned::{Passed, always};
use crate::pools::{Pool, place_from};
use crate::request::{Alternative, Claim, MOST_DEVICES};
use crate::shares::Shares;
use bayplan_model::{Node, VersionRow};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What is to be found next.
#[derive(Clone, Copy, Debug, Default)]
struct Goal {
    claim: usize,
    request: usize,
    /// Which alternative, when `chosen`.
    alternative: usize,
    chosen: bool,
    /// How many devices the request has.
    device: i64,
    /// Where the search for one starts.
    from: Place,
}

/// How a part of the search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Everything was found.
    Found,
    /// No way leads on.
    Dead,
    /// The claim would have more devices than it may: another device does not help, but another alternative may.
    TooMany,
}

/// A choice that can be made otherwise.
#[derive(Debug)]
enum Step {
    /// The claim before this one is served.
    Claim,
    /// An alternative, and whether all before it ended with too many devices.
    Alternative { goal: Goal, too_many: bool },
    /// A device of the mode `All`, which has no other choice.
    Fixed(Pick),
    /// A device, and where the next one is searched. `None`: no device is picked.
    Device { goal: Goal, next: Place, pick: Option<Pick> },
}

enum Turn {
    Ahead(Goal),
    Back(End),
}

/// A search for the devices of claims on a node.
pub(crate) struct Search<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) node: &'a Node,
    pub(crate) pools: &'a [Rc<Pool<'a>>],
    pub(crate) claims: &'a [Claim<'a>],
    pub(crate) known: &'a mut Known,
    pub(crate) constraints: Vec<Vec<Constraint<'a>>>,
    pub(crate) counters: Counters<'a>,
    pub(crate) shares: Shares,
    /// The picked devices that claims cannot share, each with its claim, in the order of the picks.
    pub(crate) marks: Vec<(Place, usize)>,
    /// How many devices each claim has.
    devices: Vec<i64>,
    way: Vec<Step>,
    /// What is left to spend; see `Allocator::allocate`.
    budget: Option<u64>,
}

/// What is found: the picks in order, and of each request with `firstAvailable` (by claim and request) the alternative.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) picks: Vec<Pick>,
    pub(crate) alternatives: FxHashMap<(usize, usize), usize>,
}

/// What a step costs beside a device that is tried and refused, which costs 1.
pub(crate) const STEP_COST: u64 = 8;

impl<'a> Search<'a> {
    pub(crate) fn new(
        (context, node): (&'a Context<'a>, &'a Node),
        (pools, claims): (&'a [Rc<Pool<'a>>], &'a [Claim<'a>]),
        known: &'a mut Known,
        budget: Option<u64>,
    ) -> Self {
        Self {
            context,
            node,
            pools,
            claims,
            known,
            constraints: claims.iter().map(|claim| claim.constraints.clone()).collect(),
            counters: Counters::new(context.features.has(VersionRow::CountersOfDriver)),
            shares: Shares::default(),
            marks: Vec::new(),
            devices: vec![0; claims.len()],
            way: Vec::new(),
            budget,
        }
    }

    /// A pool and its device.
    pub(crate) fn device(&self, place: Place) -> Option<(&'a Pool<'a>, DeviceOf<'a>)> {
        let pool = self.pools.get(place.pool as usize)?;
        Some((&**pool, pool.device(place)?))
    }

    /// The first full solution; `None`: there is none.
    pub(crate) fn run(mut self) -> Result<Option<Found>, NotAllocated> {
        Ok(self.go()?.then(|| self.found()))
    }

    /// Goes to the first full solution, and stays there. `false`: there is none, and nothing is picked.
    pub(crate) fn go(&mut self) -> Result<bool, NotAllocated> {
        let mut turn = Turn::Ahead(Goal::default());
        loop {
            turn = match turn {
                Turn::Ahead(goal) => self.ahead(goal)?,
                Turn::Back(End::Found) => return Ok(true),
                Turn::Back(end) => match self.way.pop() {
                    Some(step) => self.back(step, end)?,
                    None => return Ok(false),
                },
            }
        }
    }

    fn found(self) -> Found {
        let mut found = Found::default();
        for step in self.way {
            match step {
                Step::Claim | Step::Device { pick: None, .. } => {}
                Step::Alternative { goal, .. } => {
                    found.alternatives.insert((goal.claim, goal.request), goal.alternative);
                }
                Step::Fixed(pick) | Step::Device { pick: Some(pick), .. } => found.picks.push(pick),
            }
        }
        found
    }

    fn spend(&mut self, cost: u64) -> Result<(), NotAllocated> {
        if let Some(left) = &mut self.budget {
            *left = left.checked_sub(cost).ok_or(NotAllocated::TimedOut)?;
        }
        Ok(())
    }

    fn alternative(
        &self,
        (claim, request, alternative): (usize, usize, usize),
    ) -> Option<&'a Alternative<'a>> {
        self.claims.get(claim)?.requests.get(request)?.alternatives.get(alternative)
    }

    /// Goes for a goal.
    fn ahead(&mut self, goal: Goal) -> Result<Turn, NotAllocated> {
        self.spend(STEP_COST)?;
        let Some(claim) = self.claims.get(goal.claim) else { return Ok(Turn::Back(End::Found)) };
        let Some(request) = claim.requests.get(goal.request) else {
            self.way.push(Step::Claim);
            return Ok(Turn::Ahead(Goal { claim: goal.claim + 1, ..Goal::default() }));
        };
        if request.is_prioritized && !goal.chosen {
            let goal = Goal { chosen: true, ..goal };
            self.way.push(Step::Alternative { goal, too_many: true });
            return Ok(Turn::Ahead(goal));
        }
        let at = (goal.claim, goal.request, goal.alternative);
        let Some(of) = request.alternatives.get(goal.alternative) else { return Ok(Turn::Back(End::Dead)) };
        if of.all.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Turn::Back(End::Dead));
        }
        if goal.device >= of.count {
            let (claim, request) = (goal.claim, goal.request + 1);
            return Ok(Turn::Ahead(Goal { claim, request, ..Goal::default() }));
        }
        let devices = self.devices.get(goal.claim).copied().unwrap_or_default();
        if of.count - goal.device > MOST_DEVICES - devices {
            return Ok(Turn::Back(End::TooMany));
        }
        let Some(all) = &of.all else {
            return self.next_device(goal, goal.from);
        };
        let place = usize::try_from(goal.device).ok().and_then(|at| all.get(at));
        let Some(place) = place else { return Ok(Turn::Back(End::Dead)) };
        Ok(match self.pick(at, of, *place, true)? {
            Ok(pick) => {
                self.count(goal.claim, 1);
                self.way.push(Step::Fixed(pick));
                Turn::Ahead(Goal { device: goal.device + 1, ..goal })
            }
            Err(_) => Turn::Back(End::Dead),
        })
    }

    fn count(&mut self, claim: usize, by: i64) {
        if let Some(devices) = self.devices.get_mut(claim) {
            *devices += by;
        }
    }

    /// Picks the first device from a place on that fits.
    fn next_device(&mut self, goal: Goal, from: Place) -> Result<Turn, NotAllocated> {
        let at = (goal.claim, goal.request, goal.alternative);
        let Some(of) = self.alternative(at) else { return Ok(Turn::Back(End::Dead)) };
        let (mut from, mut run) = (from, None);
        while let Some(place) = place_from(self.pools, from) {
            if let Some(passed) = self.passed(of, place) {
                self.spend(passed.count)?;
                from = passed.end;
                self.note(of, &mut run, passed);
                continue;
            }
            from = place.next();
            match self.consider(at, of, place)? {
                Ok(pick) => {
                    self.end(of, run);
                    self.count(goal.claim, 1);
                    self.way.push(Step::Device { goal, next: from, pick: Some(pick) });
                    return Ok(Turn::Ahead(Goal { device: goal.device + 1, from, ..goal }));
                }
                Err(unfit) => {
                    self.spend(1)?;
                    let always = self.device(place).is_some_and(|(_, device)| always(&unfit, &device));
                    match always {
                        true => self.note(of, &mut run, Passed { begin: place, end: from, count: 1 }),
                        false => self.end(of, run.take()),
                    }
                }
            }
        }
        self.end(of, run);
        Ok(Turn::Back(End::Dead))
    }

    /// The devices from a place on that were refused before, and always are.
    fn passed(&self, of: &Alternative<'_>, place: Place) -> Option<Passed> {
        let pool = self.pools.get(place.pool as usize).filter(|pool| pool.is_common)?;
        self.known.learned.passed(pool, of.number, place)
    }

    /// Makes a run of refused devices longer; one in another pool is another one.
    fn note(&mut self, of: &Alternative<'_>, run: &mut Option<Passed>, more: Passed) {
        match run {
            Some(run) if run.begin.pool == more.begin.pool => {
                (run.end, run.count) = (more.end, run.count + more.count);
            }
            _ => self.end(of, run.replace(more)),
        }
    }

    /// Takes note of a run of refused devices that is over.
    fn end(&mut self, of: &Alternative<'_>, run: Option<Passed>) {
        if let Some(run) = run
            && let Some(pool) = self.pools.get(run.begin.pool as usize).filter(|pool| pool.is_common)
        {
            self.known.learned.pass(pool, of.number, run);
        }
    }

    fn take_back(&mut self, pick: &Pick) {
        self.count(pick.at.0, -1);
        if let Some(of) = self.alternative(pick.at) {
            self.undo(pick, of);
        }
    }

    /// Returns to a choice after what followed it ended without a solution.
    fn back(&mut self, step: Step, end: End) -> Result<Turn, NotAllocated> {
        Ok(match step {
            Step::Claim => Turn::Back(End::Dead),
            Step::Alternative { mut goal, too_many } => {
                let too_many = too_many && end == End::TooMany;
                goal.alternative += 1;
                if self.alternative((goal.claim, goal.request, goal.alternative)).is_none() {
                    return Ok(Turn::Back(if too_many { End::TooMany } else { End::Dead }));
                }
                self.way.push(Step::Alternative { goal, too_many });
                Turn::Ahead(goal)
            }
            Step::Fixed(pick) => {
                self.take_back(&pick);
                Turn::Back(end)
            }
            Step::Device { goal, next, pick } => {
                if let Some(pick) = &pick {
                    self.take_back(pick);
                }
                match end {
                    End::TooMany => Turn::Back(end),
                    End::Found | End::Dead => self.next_device(goal, next)?,
                }
            }
        })
    }
}

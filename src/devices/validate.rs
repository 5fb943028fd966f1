//! What is tested of claims before the search, in the order of upstream: the first problem is the answer.
//!
//! Source: `structured/internal/incubating/allocator_incubating.go`, `Allocate`, `validateDeviceRequest`.

use crate::allocator::NotAllocated;
use crate::constraints::Constraint;
use crate::context::Context;
use crate::device::Place;
use crate::learned::Learned;
use crate::pools::{Pool, PoolState};
use crate::request::{Alternative, Claim, MOST_DEVICES, Request, Written, named};
use crate::selectable::{Verdicts, Wanted};
use bayplan_model::objects::devices::{AllocationMode, ClaimRequest, RequestKind};
use bayplan_model::{DeviceClass, DeviceUse, Node, ResourceClaim, Symbol, VersionRow};
use std::rc::Rc;
use std::sync::Arc;

/// Tests claims for a node and its pools.
pub(crate) struct Validation<'s, 'a> {
    pub(crate) context: Context<'a>,
    pub(crate) node: &'s Node,
    pub(crate) pools: &'s [Rc<Pool<'a>>],
    /// What selectors said of devices; the search goes on with it.
    pub(crate) verdicts: &'s mut Verdicts,
    /// How many alternatives were met.
    pub(crate) alternatives: u32,
    /// What is known of pools that many nodes have.
    pub(crate) learned: &'s mut Learned,
}

fn fail<T>(text: String) -> Result<T, NotAllocated> {
    Err(NotAllocated::Error(text))
}

impl<'a> Validation<'_, 'a> {
    /// The claim as a search needs it.
    pub(crate) fn claim(&mut self, object: &'a ResourceClaim) -> Result<Claim<'a>, NotAllocated> {
        let per_request = self.context.features.has(VersionRow::DeviceLimitText);
        let mut requests = Vec::with_capacity(object.requests.len());
        let mut devices: i64 = 0;
        for request in object.requests.iter() {
            let request = self.request(object, request)?;
            let least = request.alternatives.iter().map(|of| of.count).min().unwrap_or(0);
            if per_request && least > MOST_DEVICES.saturating_sub(devices) {
                return fail(format!(
                    "claim {}, request {}: adding {least} devices exceeds the claim limit of {MOST_DEVICES}, with {devices} \
                     already accounted for",
                    named(object),
                    request.name
                ));
            }
            devices = devices.saturating_add(least);
            requests.push(request);
        }
        if devices > MOST_DEVICES {
            return fail(format!(
                "claim {}: number of requested devices {devices} exceeds the claim limit of {MOST_DEVICES}",
                named(object)
            ));
        }
        let constraints = self.constraints(object)?;
        Ok(Claim { object, requests, constraints })
    }

    fn constraints(&self, claim: &'a ResourceClaim) -> Result<Vec<Constraint<'a>>, NotAllocated> {
        let features = &self.context.features;
        let each_device = features.has(VersionRow::DistinctDevices);
        let of = claim.constraints.iter().enumerate().map(|(at, constraint)| {
            Constraint::of(constraint, !features.stable(), each_device).map_or_else(
                || {
                    fail(format!(
                        "claim {}, constraint #{at}: empty constraint (unsupported constraint type?)",
                        named(claim)
                    ))
                },
                Ok,
            )
        });
        of.collect()
    }

    fn request(
        &mut self,
        claim: &'a ResourceClaim,
        request: &'a ClaimRequest,
    ) -> Result<Request<'a>, NotAllocated> {
        let features = &self.context.features;
        let name = &request.name;
        let written = |name, device, admin_access, is_alternative| Written {
            parent: request,
            name,
            device,
            admin_access,
            is_alternative,
        };
        let written: Vec<Written<'a>> = match request.kind() {
            RequestKind::Exactly(exactly) => {
                vec![written(name, &exactly.device, exactly.admin_access, false)]
            }
            RequestKind::FirstAvailable(alternatives) => {
                alternatives.iter().map(|of| written(&of.name, &of.device, false, true)).collect()
            }
            RequestKind::Unknown => {
                return fail(format!(
                    "claim {}, request {name}: missing device class name (unsupported request type?)",
                    named(claim)
                ));
            }
        };
        let is_prioritized = written.iter().any(|of| of.is_alternative);
        if is_prioritized && !features.prioritized_list {
            return fail(format!(
                "claim {}, request {name}: has subrequests, but the DRAPrioritizedList feature is disabled",
                named(claim)
            ));
        }
        if !features.consumable_capacity
            && !features.stable()
            && let Some(of) = written.iter().find(|of| of.device.capacity.is_some())
        {
            let kind = if of.is_alternative { "subrequest" } else { "request" };
            return fail(format!(
                "claim {}, {kind} {}: has capacity requests, but the DRAConsumableCapacity feature is disabled",
                named(claim),
                of.name
            ));
        }
        let alternatives = written.into_iter().map(|of| self.alternative(claim, of));
        let alternatives = alternatives.collect::<Result<_, _>>()?;
        Ok(Request { name, is_prioritized, alternatives })
    }

    fn alternative(
        &mut self,
        claim: &'a ResourceClaim,
        of: Written<'a>,
    ) -> Result<Alternative<'a>, NotAllocated> {
        let Written { parent, name, device, admin_access, .. } = of;
        let problem = |text: &str| fail(format!("claim {}, request {name}{text}", named(claim)));
        if device.derives_attributes() && self.context.features.has(VersionRow::NewDeviceFields) {
            return problem(": cannot handle request with derived attributes, the feature is disabled");
        }
        if let Some(at) = device.selectors.iter().position(Option::is_none) {
            return problem(&format!(", selector #{at}: CEL expression empty (unsupported selector type?)"));
        }
        let class_name = &device.device_class_name;
        if class_name.is_empty() {
            return problem(": missing device class name (unsupported request type?)");
        }
        let Some(class) = self.context.snapshot.object::<DeviceClass>(&Symbol::default(), class_name) else {
            return problem(&format!(
                ": could not retrieve device class {class_name}: deviceclass.resource.k8s.io \"{class_name}\" not found"
            ));
        };
        let number = self.alternatives;
        self.alternatives += 1;
        let wanted = Wanted::new(claim, class, device, self.context.selectors);
        let (count, all) = match of.mode() {
            AllocationMode::ExactCount(count) => (count, None),
            AllocationMode::All => {
                let all = self.all(claim, &of, (number, &wanted))?;
                (i64::try_from(all.len()).unwrap_or(i64::MAX), Some(all))
            }
            AllocationMode::Unknown(mode) => return problem(&format!(": unsupported count mode {mode}")),
        };
        Ok(Alternative {
            number,
            name,
            parent: &parent.name,
            full_name: of.full_name(),
            device,
            admin_access,
            class,
            wanted,
            count,
            all,
        })
    }

    /// The devices of the mode `All`: those that are selected and large enough, whatever is in use.
    fn all(
        &mut self,
        claim: &'a ResourceClaim,
        of: &Written<'a>,
        (number, wanted): (u32, &Wanted<'a>),
    ) -> Result<Vec<Place>, NotAllocated> {
        let request = of.name;
        let mut all = Vec::new();
        for (at, pool) in (0..).zip(self.pools) {
            let state = match pool.state {
                PoolState::Whole => None,
                PoolState::Incomplete => Some("currently being updated"),
                PoolState::Invalid => Some("currently invalid"),
            };
            if let Some(state) = state {
                return fail(format!(
                    "claim {}, request {request}: asks for all devices, but resource pool {} is {state}",
                    named(claim),
                    pool.id
                ));
            }
            let known = pool.is_common.then(|| self.learned.all(pool, number)).flatten();
            let of_pool = match known {
                Some(known) => known,
                None => {
                    let of_pool = self.all_of((at, pool), (claim, of), (number, wanted))?;
                    if pool.is_common {
                        self.learned.note_all(pool, number, of_pool.clone());
                    }
                    of_pool
                }
            };
            all.extend(of_pool.iter().map(|(slice, device)| Place {
                pool: at,
                slice: *slice,
                device: *device,
            }));
        }
        Ok(all)
    }

    /// Those of a pool, by slice and device.
    fn all_of(
        &mut self,
        (at, pool): (u32, &Pool<'a>),
        (claim, of): (&'a ResourceClaim, &Written<'a>),
        (number, wanted): (u32, &Wanted<'a>),
    ) -> Result<Arc<[(u32, u32)]>, NotAllocated> {
        let features = &self.context.features;
        let request = of.name;
        let when_empty = features.has(VersionRow::AllOfFullDevices);
        let mut all = Vec::new();
        let places = (0..).zip(&pool.slices).flat_map(|(slice, of)| {
            (0..).zip(of.devices.iter()).map(move |(device, _)| Place { pool: at, slice, device })
        });
        for place in places {
            let Some(device) = pool.device(place) else { continue };
            let context = (&self.context, self.node);
            if self.verdicts.of(context, (number, wanted), (place, &device))?.is_some() {
                continue;
            }
            if features.consumable_capacity {
                let used = pool.used(place, &device).filter(|_| !when_empty);
                let committed = used.map(DeviceUse::consumed);
                let capacities = &device.device.capacity;
                let fit = self.context.arithmetic().fit(of.device.amounts(), capacities, committed, None);
                let fit = fit.map_err(|error| {
                    NotAllocated::Error(format!(
                        "claim {}, request {request}: checking capacity for device {}: {error}",
                        named(claim),
                        device.device.name
                    ))
                });
                if fit?.is_err() {
                    continue;
                }
            }
            all.push((place.slice, place.device));
        }
        Ok(all.into())
    }
}

//! [`Requests`]: the devices that the containers of a pod request as extended resources, as requests of one claim.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go`, `createRequestsAndMappings`.

use bayplan_framework::RequestMapping;
use bayplan_model::objects::devices::{ClaimRequest, DeviceRequest, ExactRequest};
use bayplan_model::{DeviceContainer, PodInfo, Symbol};
use std::sync::Arc;

/// The requests of the claim for extended resources on a node.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Requests {
    /// The requests, by name.
    pub(super) requests: Arc<[ClaimRequest]>,
    /// Which request serves which resource of which container.
    pub(super) mappings: Arc<[RequestMapping]>,
}

/// A request before it is one of a claim.
#[derive(Clone, Debug)]
struct Asked {
    name: Symbol,
    count: i64,
}

/// A container: what it requests of the resource, and the position of the resource among all that it requests.
struct Asks<'p> {
    /// The position of the container: init containers first.
    at: usize,
    name: &'p Symbol,
    /// Whether it runs as long as the pod.
    lasts: bool,
    amount: i64,
    position: usize,
}

/// The containers that request a resource.
fn containers<'p>(pod: &'p PodInfo, resource: &Symbol) -> Vec<Asks<'p>> {
    let containers = pod.devices().map_or(&[][..], |devices| &devices.containers);
    let asks = |(at, container): (usize, &'p DeviceContainer)| {
        let position = container.requests.iter().position(|(name, _)| name == resource)?;
        let amount = container.requests.get(position)?.1.filter(|amount| *amount != 0)?;
        Some(Asks { at, name: &container.name, lasts: container.long_lived, amount, position })
    };
    containers.iter().enumerate().filter_map(asks).collect()
}

impl Asks<'_> {
    fn mapping(&self, resource: &Symbol, request: &Symbol) -> RequestMapping {
        RequestMapping { container: self.name.clone(), resource: resource.clone(), request: request.clone() }
    }

    fn request_name(&self) -> Symbol {
        Symbol::from(format!("container-{}-request-{}", self.at, self.position))
    }
}

/// The requests for one resource, with their mappings. Containers that run as long as the pod have requests of their own;
/// others use those of containers after them, and one request for what is missing then.
fn of_resource(pod: &PodInfo, resource: &Symbol) -> (Vec<Asked>, Vec<RequestMapping>) {
    let all = containers(pod, resource);
    let mut mappings = Vec::new();
    let mut lasting: Vec<(usize, Asked)> = Vec::new();
    for asks in all.iter().filter(|asks| asks.lasts) {
        let asked = Asked { name: asks.request_name(), count: asks.amount };
        mappings.push(asks.mapping(resource, &asked.name));
        lasting.push((asks.at, asked));
    }
    let mut largest: Option<Asked> = None;
    let mut own: Vec<Symbol> = Vec::new();
    let mut short = Vec::new();
    for asks in all.iter().filter(|asks| !asks.lasts) {
        let mut sum = 0i64;
        for (_, reused) in lasting.iter().filter(|(at, _)| *at >= asks.at) {
            if sum >= asks.amount {
                break;
            }
            sum = sum.saturating_add(reused.count);
            short.push(asks.mapping(resource, &reused.name));
        }
        if sum >= asks.amount {
            continue;
        }
        let asked = Asked { name: asks.request_name(), count: asks.amount - sum };
        short.push(asks.mapping(resource, &asked.name));
        own.push(asked.name.clone());
        if largest.as_ref().is_none_or(|largest| largest.count < asked.count) {
            largest = Some(asked);
        }
    }
    if let Some(largest) = &largest {
        for mapping in short.iter_mut().filter(|mapping| own.contains(&mapping.request)) {
            mapping.request = largest.name.clone();
        }
    }
    mappings.extend(short);
    let asked = largest.into_iter().chain(lasting.into_iter().map(|(_, asked)| asked));
    (asked.collect(), mappings)
}

/// The requests for extended resources, each with the class that stands for it; `resources` are ordered by name.
pub(super) fn of(pod: &PodInfo, resources: &[(Symbol, Symbol)]) -> Requests {
    let (mut requests, mut mappings) = (Vec::new(), Vec::new());
    for (resource, class) in resources {
        let (asked, more) = of_resource(pod, resource);
        mappings.extend(more);
        requests.extend(asked.into_iter().map(|asked| ClaimRequest {
            name: asked.name,
            exactly: Some(ExactRequest {
                device: DeviceRequest::of_class(class.clone(), asked.count),
                admin_access: false,
            }),
            first_available: Vec::new(),
        }));
    }
    requests.sort_by(|a, b| a.name.cmp(&b.name));
    Requests { requests: requests.into(), mappings: mappings.into() }
}

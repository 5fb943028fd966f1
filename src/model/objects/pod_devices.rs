//! What a pod says of devices, as the API writes it, and how it becomes [`PodDevices`].

use super::super::constraints::{
    ClaimSource, DeviceContainer, ExtendedClaim, PodClaim, PodDevices, may_be_of_devices,
};
use super::super::shared::Shared;
use super::super::symbol::Symbol;
use super::pod::{Container, Spec, Status};
use super::read::{Amount, or_default};
use serde::Deserialize;
use std::sync::Arc;

/// `v1.PodResourceClaim`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceClaim {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `resourceClaimName`.
    pub resource_claim_name: Option<Symbol>,
    /// `resourceClaimTemplateName`.
    pub resource_claim_template_name: Option<Symbol>,
}

/// `v1.PodResourceClaimStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceClaimStatus {
    /// `name`.
    #[serde(deserialize_with = "or_default")]
    pub name: Symbol,
    /// `resourceClaimName`.
    pub resource_claim_name: Option<Symbol>,
}

/// `v1.PodExtendedResourceClaimStatus`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtendedClaimStatus {
    /// `resourceClaimName`.
    #[serde(deserialize_with = "or_default")]
    pub resource_claim_name: Symbol,
    /// `requestMappings`.
    #[serde(deserialize_with = "or_default")]
    pub request_mappings: Vec<RequestMapping>,
}

/// `v1.ContainerExtendedResourceRequest`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RequestMapping {
    /// `containerName`.
    #[serde(deserialize_with = "or_default")]
    pub container_name: Symbol,
    /// `resourceName`.
    #[serde(deserialize_with = "or_default")]
    pub resource_name: Symbol,
    /// `requestName`.
    #[serde(deserialize_with = "or_default")]
    pub request_name: Symbol,
}

thread_local! {
    static CONTAINERS: Shared<Arc<[DeviceContainer]>, ()> = const { Shared::new() };
}

impl ResourceClaim {
    fn parse(&self) -> PodClaim {
        let source = match (&self.resource_claim_name, &self.resource_claim_template_name) {
            (Some(claim), _) => ClaimSource::Claim(claim.clone()),
            (None, Some(template)) => ClaimSource::Template(template.clone()),
            (None, None) => ClaimSource::Neither,
        };
        PodClaim { name: self.name.clone(), source }
    }
}

impl ExtendedClaimStatus {
    fn parse(&self) -> Box<ExtendedClaim> {
        let mapping = |of: &RequestMapping| {
            (of.container_name.clone(), of.resource_name.clone(), of.request_name.clone())
        };
        let mappings = self.request_mappings.iter().map(mapping).collect();
        Box::new(ExtendedClaim { name: self.resource_claim_name.clone(), mappings })
    }
}

impl Container {
    fn requests_devices(&self) -> bool {
        self.resources.requests.0.iter().any(|(name, _)| may_be_of_devices(name))
    }

    fn for_devices(&self, init: bool) -> DeviceContainer {
        let amount = |amount: &Amount| match amount {
            Amount::Good(quantity) => quantity.as_i64(),
            Amount::Bad(..) => None,
        };
        let list = &self.resources.requests.0;
        let mut requests: Vec<_> = list.iter().map(|(name, of)| (name.clone(), amount(of))).collect();
        requests.sort_by(|(one, _), (other, _)| one.cmp(other));
        // Of several with one name the last counts.
        requests.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = later.1;
            }
            same
        });
        DeviceContainer {
            name: self.name.clone(),
            long_lived: !init || self.is_sidecar(),
            requests: requests.into(),
        }
    }
}

impl Spec {
    /// Whether a pod says nothing of devices; most pods do not.
    pub(super) fn has_no_devices(&self, status: &Status) -> bool {
        self.resource_claims.is_empty()
            && status.resource_claim_statuses.is_empty()
            && status.extended_resource_claim_status.is_none()
            && !self.requests_devices()
    }

    fn requests_devices(&self) -> bool {
        self.containers.iter().chain(&self.init_containers).any(Container::requests_devices)
    }

    /// What a pod says of devices.
    pub(super) fn devices(&self, status: &Status) -> Option<Box<PodDevices>> {
        if self.has_no_devices(status) {
            return None;
        }
        let containers: Arc<[_]> = match self.requests_devices() {
            true => self.all_containers().map(|(container, init)| container.for_devices(init)).collect(),
            false => Arc::default(),
        };
        let claim_statuses = status.resource_claim_statuses.iter();
        Some(Box::new(PodDevices {
            claims: self.resource_claims.iter().map(ResourceClaim::parse).collect(),
            claim_statuses: claim_statuses
                .map(|of| (of.name.clone(), of.resource_claim_name.clone()))
                .collect(),
            extended_claim: status.extended_resource_claim_status.as_ref().map(ExtendedClaimStatus::parse),
            containers: CONTAINERS.with(|table| table.same(containers)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Kinds;
    use crate::testing::{PodMaker, pod};
    use serde_json::{Value, json};

    fn devices(pod: PodMaker) -> Option<PodDevices> {
        pod.build().devices().cloned()
    }

    #[test]
    fn claims_of_a_pod_have_one_of_three_forms() {
        let claims = json!([
            {"name": "a", "resourceClaimName": "x"},
            {"name": "b", "resourceClaimTemplateName": "t"},
            {"name": "c"},
        ]);
        let statuses = json!([{"name": "b", "resourceClaimName": "p-b-1"}, {"name": "c"}]);
        let made = json!({
            "resourceClaimName": "p-extended",
            "requestMappings": [{"containerName": "main", "resourceName": "e.ex/gpu", "requestName": "r"}],
        });
        let made = pod("p")
            .set("spec.resourceClaims", claims)
            .set("status.resourceClaimStatuses", statuses)
            .set("status.extendedResourceClaimStatus", made);
        let PodDevices { claims, claim_statuses, extended_claim, containers } = devices(made).unwrap();
        let sources: Vec<_> = claims.iter().map(|claim| (&*claim.name, claim.source.clone())).collect();
        let (x, t) = (ClaimSource::Claim("x".into()), ClaimSource::Template("t".into()));
        assert_eq!(sources, [("a", x), ("b", t), ("c", ClaimSource::Neither)]);
        assert_eq!(*claim_statuses, [("b".into(), Some("p-b-1".into())), ("c".into(), None)]);
        let mappings = Box::new([("main".into(), "e.ex/gpu".into(), "r".into())]);
        assert_eq!(extended_claim, Some(Box::new(ExtendedClaim { name: "p-extended".into(), mappings })));
        assert!(containers.is_empty());
    }

    #[test]
    fn containers_are_kept_of_pods_that_devices_may_serve() {
        let container = |name: &str, policy: Option<&str>, requests: Value| json!({"name": name, "restartPolicy": policy, "resources": {"requests": requests}});
        let made = pod("p")
            .request("memory", "1Gi")
            .request("e.ex/gpu", "2")
            .request("cpu", "0")
            .init_container(container("setup", None, json!({"deviceclass.resource.kubernetes.io/c": "1"})))
            .init_container(container("proxy", Some("Always"), json!({"cpu": "500m"})));
        let made = devices(made).unwrap();
        let all: Vec<_> = made
            .containers
            .iter()
            .map(|of| {
                let requests: Vec<_> = of.requests.iter().map(|(name, of)| (name.as_str(), *of)).collect();
                (of.name.as_str(), of.long_lived, requests)
            })
            .collect();
        assert_eq!(
            all,
            [
                ("setup", false, vec![("deviceclass.resource.kubernetes.io/c", Some(1))]),
                ("proxy", true, vec![("cpu", None)]),
                ("main", true, vec![("cpu", Some(0)), ("e.ex/gpu", Some(2)), ("memory", Some(1 << 30))]),
            ]
        );
        assert!(pod("p").request("e.ex/gpu", "2").build().constraint_kinds().is_empty());
        for (resource, amount) in [("cpu", "1"), ("hugepages-2Mi", "2Mi"), ("kubernetes.io/batch", "1")] {
            assert!(pod("p").request(resource, amount).build().constraints.is_none(), "{resource}");
        }
    }

    #[test]
    fn a_change_of_what_a_pod_says_of_devices_is_a_difference() {
        let claims = json!([{"name": "a", "resourceClaimTemplateName": "t"}]);
        let before = || pod("p").set("spec.resourceClaims", claims.clone());
        let statuses = json!([{"name": "a", "resourceClaimName": "x"}]);
        let with_status = before().set("status.resourceClaimStatuses", statuses);
        let with_claim =
            before().set("status.extendedResourceClaimStatus", json!({"resourceClaimName": "y"}));
        let old = before().build();
        for made in [with_status, with_claim] {
            let new = made.clone().build();
            assert_eq!(old.difference(&new), Kinds::PODS_OTHER);
            assert_ne!(old.generated_claims(), new.generated_claims());
            let again = made.build();
            assert_eq!(new.difference(&again), Kinds::NONE);
        }
    }
}

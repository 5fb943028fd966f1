//! [`DisruptionController`]: the controller that writes the status of PodDisruptionBudgets, for an API server in memory.
//!
//! It sees less than the controller of a cluster, and differs in this:
//!
//! - No kubelet in memory starts pods. A pod is ready as soon as it is bound; only a pod whose object has the condition
//!   `Ready` with another status than `True` is not.
//! - The scale of a budget is the sum of `spec.replicas` of the ReplicationControllers, ReplicaSets and StatefulSets that
//!   control its pods. Each pod without such a controller counts as one, where the controller of a cluster leaves out
//!   pods without a controller and allows no disruption of those with an unknown one. Deployments and other kinds with a
//!   scale are not known; their ReplicaSets are.
//! - The times in `status.disruptedPods` are not kept: an entry stays until its pod is being deleted or is gone, not for
//!   two minutes.
//! - A budget without a selector that selects something, or without `minAvailable` and `maxUnavailable`, keeps the status
//!   that it has.
//! - A status that came with the object holds until what the controller counts of the budget changes.
//!
//! Source: `pkg/controller/disruption/disruption.go`.

use super::api::{Api, WatchEvent};
use super::volume_controller::find;
use bayplan_model::{
    Demand, Kind, KindRow, Object, ObjectKey, PodDisruptionBudget, PodInfo, ReplicaSet,
    ReplicationController, StatefulSet, Symbol, Unread,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Namespace and name.
type Place = (Symbol, Symbol);

/// A controller of pods with replicas: its kind, name and UID.
type Controller = (Kind, Symbol, Symbol);

/// The controller; what it has seen of a server.
#[derive(Clone, Debug, Default)]
pub struct DisruptionController {
    seen: usize,
    budgets: BTreeMap<Place, Followed>,
}

impl DisruptionController {
    /// Reads what happened, and writes the status of each budget that it concerns.
    pub fn act(&mut self, api: &mut Api) {
        let (mut pods, mut budgets, mut scaled) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (kind, event) in api.log().get(self.seen..).unwrap_or_default() {
            let place = || {
                let ObjectKey { namespace, name, .. } = match event {
                    WatchEvent::Upserted(object) => object.key(),
                    WatchEvent::Deleted(key) => key.clone(),
                };
                (namespace, name)
            };
            match kind {
                Kind::Pod => drop(pods.insert(place())),
                Kind::PodDisruptionBudget => drop(budgets.insert(place())),
                Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
                    scaled.insert(place().0);
                }
                _ => {}
            }
        }
        self.seen = api.log().len();
        for budget in &budgets {
            self.read(api, budget);
        }
        for pod in &pods {
            self.see_pod(api, pod, &mut budgets);
        }
        budgets.extend(self.budgets.keys().filter(|(namespace, _)| scaled.contains(namespace)).cloned());
        for budget in &budgets {
            if let Some(followed) = self.budgets.get_mut(budget) {
                followed.write(api);
            }
        }
    }

    /// Whether a budget still has the status that it came with.
    pub fn keeps_given_status(&self, namespace: &Symbol, name: &Symbol) -> bool {
        self.budgets.get(&(namespace.clone(), name.clone())).is_some_and(|budget| budget.given)
    }

    /// A budget came, changed or went.
    fn read(&mut self, api: &Api, place: &Place) {
        let Some(budget) = find::<PodDisruptionBudget>(api, &place.0, &place.1) else {
            self.budgets.remove(place);
            return;
        };
        let known = self.budgets.remove(place);
        let followed = match known.filter(|known| known.budget.metadata.uid == budget.metadata.uid) {
            Some(known) if known.counts_the_same_as(&budget) => Followed { budget, ..known },
            Some(known) => Followed::new(api, budget, known.given, known.counts),
            None => {
                let given = budget.has_status.0;
                Followed::new(api, budget, given, None)
            }
        };
        self.budgets.insert(place.clone(), followed);
    }

    /// A pod came, changed or went. Adds the budgets that select it or did so to `concerned`.
    fn see_pod(&mut self, api: &Api, (namespace, name): &Place, concerned: &mut BTreeSet<Place>) {
        let first = (namespace.clone(), Symbol::default());
        let here = self.budgets.range_mut(first..).take_while(|((of, _), _)| of == namespace);
        let pod = api.pod(namespace, name);
        for (place, budget) in here {
            let before = budget.pods.get(name).cloned();
            let now = pod.and_then(|pod| budget.seen(pod));
            if before != now {
                budget.count(name, now);
                concerned.insert(place.clone());
            }
        }
    }
}

/// What counts of a pod.
#[derive(Clone, PartialEq, Debug)]
struct Seen {
    healthy: bool,
    terminating: bool,
    controller: Option<Controller>,
}

/// What a status is made from.
#[derive(Clone, PartialEq, Debug)]
struct Counts {
    /// Healthy pods.
    healthy: i64,
    /// How many of them the budget demands.
    desired: i64,
    /// Whether the budget expects any pod.
    expects: bool,
    /// The pods that are to go and are not being deleted yet.
    disrupted: Box<[Symbol]>,
}

impl Counts {
    /// How many healthy pods may go.
    fn allowed(&self) -> i32 {
        let more = self.healthy.saturating_sub(self.desired).max(0);
        if self.expects { i32::try_from(more).unwrap_or(i32::MAX) } else { 0 }
    }
}

/// A budget with the pods that it selects.
#[derive(Clone, Debug)]
struct Followed {
    budget: PodDisruptionBudget,
    /// The status is the one that the object came with.
    given: bool,
    /// What was counted last.
    counts: Option<Counts>,
    pods: BTreeMap<Symbol, Seen>,
    healthy: i64,
    /// The number of pods of each controller, and of those without one that has replicas.
    controlled: BTreeMap<Option<Controller>, i64>,
}

impl Followed {
    fn new(api: &Api, budget: PodDisruptionBudget, given: bool, counts: Option<Counts>) -> Self {
        let (pods, controlled) = (BTreeMap::new(), BTreeMap::new());
        let mut followed = Self { budget, given, counts, pods, healthy: 0, controlled };
        let namespace = followed.budget.metadata.namespace.clone();
        for pod in api.pods_in(&namespace) {
            let seen = followed.seen(pod);
            followed.count(&pod.name, seen);
        }
        followed
    }

    fn counts_the_same_as(&self, other: &PodDisruptionBudget) -> bool {
        let of = |budget: &PodDisruptionBudget| (budget.selector.clone(), budget.demand.0);
        of(&self.budget) == of(other) && self.budget.disrupted_pods == other.disrupted_pods
    }

    /// What counts of a pod; `None` when the budget does not select it.
    fn seen(&self, pod: &PodInfo) -> Option<Seen> {
        let selector = self.budget.selector.as_ref()?;
        let terminating = pod.is_terminating();
        let runs = pod.node_name.is_some() && !pod.is_finished() && !terminating && !says_unready(pod);
        let controller = pod.owners.iter().find(|owner| owner.controller).and_then(|owner| {
            let kind = &KindRow::named(&owner.api_version, &owner.kind)?.kind;
            let scales = matches!(kind, Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet);
            scales.then(|| (kind.clone(), owner.name.clone(), owner.uid.clone()))
        });
        let disrupted = self.budget.disrupted_pods.binary_search(&pod.name).is_ok();
        let seen = Seen { healthy: runs && !disrupted, terminating, controller };
        selector.matches(&pod.labels).then_some(seen)
    }

    /// Counts a pod, in place of what was counted of it.
    fn count(&mut self, name: &Symbol, seen: Option<Seen>) {
        if let Some(before) = self.pods.remove(name) {
            self.healthy -= i64::from(before.healthy);
            if let Some(count) = self.controlled.get_mut(&before.controller) {
                *count -= 1;
                if *count == 0 {
                    self.controlled.remove(&before.controller);
                }
            }
        }
        if let Some(seen) = seen {
            self.healthy += i64::from(seen.healthy);
            *self.controlled.entry(seen.controller.clone()).or_default() += 1;
            self.pods.insert(name.clone(), seen);
        }
    }

    fn counts(&self, api: &Api) -> Counts {
        let namespace = &self.budget.metadata.namespace;
        let replicas = |controller: &Controller| replicas(api, namespace, controller);
        let scales = self.controlled.iter();
        let scale =
            scales.map(|(controller, count)| controller.as_ref().and_then(replicas).unwrap_or(*count)).sum();
        let (expected, desired) = expected_and_desired(self.budget.demand.0, self.pods.len() as i64, scale);
        let goes = |name: &&Symbol| self.pods.get(*name).is_some_and(|pod| !pod.terminating);
        let disrupted = self.budget.disrupted_pods.iter().filter(goes).cloned().collect();
        Counts { healthy: self.healthy, desired, expects: expected > 0, disrupted }
    }

    /// Counts, and writes the status if it differs.
    fn write(&mut self, api: &mut Api) {
        if self.budget.selector.is_none() || self.budget.demand.0 == Demand::Nothing {
            return;
        }
        let counts = self.counts(api);
        self.given &= self.counts.as_ref().is_none_or(|before| *before == counts);
        let (allowed, disrupted) = (counts.allowed(), counts.disrupted.clone());
        self.counts = Some(counts);
        let same = (self.budget.disruptions_allowed, &self.budget.disrupted_pods) == (allowed, &disrupted);
        if self.given || same {
            return;
        }
        self.budget.disruptions_allowed = allowed;
        self.budget.disrupted_pods = disrupted;
        self.budget.has_status = Unread(true);
        api.put(Object::Other(Arc::new(self.budget.clone())));
    }
}

/// How many pods a budget expects, and how many of them it demands to be healthy. `matching`: the pods that it selects;
/// `scale`: the pods that their controllers are to have.
fn expected_and_desired(demand: Demand, matching: i64, scale: i64) -> (i64, i64) {
    use bayplan_model::IntOrPercent::{Int, Percent};
    match demand {
        Demand::Nothing | Demand::Invalid => (0, 0),
        Demand::MaxUnavailable(most) => (scale, scale.saturating_sub(most.of(scale)).max(0)),
        Demand::MinAvailable(Int(least)) => (matching, least.into()),
        Demand::MinAvailable(least @ Percent(_)) => (scale, least.of(scale)),
    }
}

/// The replicas of a controller that the server has.
fn replicas(api: &Api, namespace: &Symbol, (kind, name, uid): &Controller) -> Option<i64> {
    let (found, replicas) = match kind {
        Kind::ReplicationController => {
            find::<ReplicationController>(api, namespace, name).map(|of| (of.metadata.uid, of.replicas))
        }
        Kind::ReplicaSet => find::<ReplicaSet>(api, namespace, name).map(|of| (of.metadata.uid, of.replicas)),
        _ => find::<StatefulSet>(api, namespace, name).map(|of| (of.metadata.uid, of.replicas)),
    }?;
    (found == *uid || found.is_empty() || uid.is_empty()).then_some(replicas.0.into())
}

/// Whether the object of a pod has the condition `Ready`, and not as `True`.
fn says_unready(pod: &PodInfo) -> bool {
    let conditions = pod.raw.as_ref().and_then(|raw| raw.pointer("/status/conditions")?.as_array());
    let is_ready = |condition: &&Value| condition.get("type").is_some_and(|of| of == "Ready");
    let ready = conditions.into_iter().flatten().find(is_ready);
    ready.is_some_and(|ready| ready.get("status").is_none_or(|status| status != "True"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use bayplan_model::Time;
    use bayplan_model::testing::pod;
    use serde_json::json;

    fn budget(spec: &Value, status: &Value) -> Object {
        let metadata = json!({"name": "web", "namespace": "default", "uid": "web"});
        let mut spec = spec.clone();
        spec["selector"] = json!({"matchLabels": {"app": "web"}});
        let value = json!({"metadata": metadata, "spec": spec, "status": status});
        (Kind::PodDisruptionBudget.row().unwrap().from_value)(Arc::new(value)).unwrap()
    }

    fn found(api: &Api) -> PodDisruptionBudget {
        find(api, &Symbol::new("default"), &Symbol::new("web")).unwrap()
    }

    /// A bound pod of the budget.
    fn web(name: &str) -> PodInfo {
        (*pod(name).uid(name).label("app", "web").on("n").build()).clone()
    }

    fn put(api: &mut Api, pod: PodInfo) {
        api.put(Object::Pod(Arc::new(pod)));
    }

    /// A server with a budget and so many bound pods, after the controller has acted.
    fn server(spec: &Value, status: &Value, pods: usize) -> (Api, DisruptionController) {
        let (mut api, mut controller) = (Api::new(), DisruptionController::default());
        api.put(budget(spec, status));
        (0..pods).for_each(|at| put(&mut api, web(&format!("p{at}"))));
        controller.act(&mut api);
        (api, controller)
    }

    /// How many disruptions a budget allows when so many of its pods are bound and so many others wait.
    fn allowed(spec: &Value, bound: usize, waiting: usize) -> i32 {
        let (mut api, mut controller) = server(spec, &json!({}), bound);
        for at in 0..waiting {
            put(&mut api, PodInfo { node_name: None, ..web(&format!("w{at}")) });
        }
        controller.act(&mut api);
        found(&api).disruptions_allowed
    }

    #[test]
    fn numbers_and_percentages_are_computed_as_by_the_controller_of_a_cluster() {
        for (spec, bound, waiting, expected) in [
            (json!({"minAvailable": 2}), 3, 0, 1),
            (json!({"minAvailable": 2}), 2, 3, 0),
            (json!({"minAvailable": 5}), 3, 0, 0),
            (json!({"minAvailable": 0}), 3, 0, 3),
            (json!({"minAvailable": 0}), 0, 0, 0),
            (json!({"minAvailable": "50%"}), 4, 0, 2),
            // Half of three is rounded up.
            (json!({"minAvailable": "50%"}), 3, 0, 1),
            (json!({"minAvailable": "50%"}), 3, 3, 0),
            (json!({"minAvailable": "1%"}), 3, 0, 2),
            (json!({"minAvailable": "0%"}), 3, 0, 3),
            (json!({"minAvailable": "100%"}), 3, 0, 0),
            (json!({"maxUnavailable": 1}), 3, 0, 1),
            (json!({"maxUnavailable": 1}), 3, 1, 0),
            (json!({"maxUnavailable": 2}), 3, 1, 1),
            (json!({"maxUnavailable": 7}), 3, 0, 3),
            (json!({"maxUnavailable": 0}), 3, 0, 0),
            (json!({"maxUnavailable": 1}), 0, 0, 0),
            // A third of four is rounded up to two.
            (json!({"maxUnavailable": "30%"}), 4, 0, 2),
            (json!({"maxUnavailable": "30%"}), 4, 1, 1),
            (json!({"maxUnavailable": "100%"}), 4, 0, 4),
            // The API server refuses these; nothing is allowed.
            (json!({"minAvailable": "2"}), 3, 0, 0),
            (json!({"minAvailable": "101%"}), 3, 0, 0),
            (json!({"maxUnavailable": "+1%"}), 3, 0, 0),
            (json!({"maxUnavailable": -1}), 3, 0, 0),
            (json!({"maxUnavailable": 1e10}), 3, 0, 0),
            (json!({"maxUnavailable": [1]}), 3, 0, 0),
            (json!({"maxUnavailable": 2, "minAvailable": 3}), 3, 0, 2),
        ] {
            assert_eq!(allowed(&spec, bound, waiting), expected, "{spec}, {bound} bound, {waiting} waiting");
        }
        assert_eq!(expected_and_desired(Demand::Nothing, 3, 3), (0, 0));
    }

    #[test]
    fn a_budget_is_used_up_and_recovers() {
        let (mut api, mut controller) = server(&json!({"minAvailable": 2}), &json!({}), 3);
        let mut after = |api: &mut Api, pod: PodInfo| {
            put(api, pod);
            controller.act(api);
            controller.act(api);
            found(api).disruptions_allowed
        };
        assert_eq!(found(&api).disruptions_allowed, 1);
        assert_eq!(after(&mut api, PodInfo { deleted: Some(Time(1)), ..web("p0") }), 0);
        assert_eq!(after(&mut api, web("p3")), 1);
        assert_eq!(after(&mut api, PodInfo { phase: Symbol::new("Failed"), ..web("p1") }), 0);
        let unready = json!([{"type": "Ready", "status": "False"}]);
        let unready = pod("p4").label("app", "web").on("n").set("status.conditions", unready).raw().build();
        assert_eq!(after(&mut api, (*unready).clone()), 0);
        assert_eq!(after(&mut api, web("p4")), 1);
        assert_eq!(
            after(
                &mut api,
                PodInfo { labels: pod("p4").label("app", "db").build().labels.clone(), ..web("p4") }
            ),
            0
        );
        // A status without a difference is not written.
        let written = api.log().len();
        assert_eq!(after(&mut api, PodInfo { priority: 7, ..web("other") }), 1);
        assert_eq!(api.log().len(), written + 2);
        assert_eq!(after(&mut api, PodInfo { priority: 8, ..web("other") }), 1);
        assert_eq!(api.log().len(), written + 3);
    }

    #[test]
    fn a_status_of_the_object_holds_until_its_pods_change() {
        let (mut api, mut controller) =
            server(&json!({"minAvailable": 1}), &json!({"disruptionsAllowed": 0}), 3);
        let name = Symbol::new("web");
        assert_eq!(found(&api).disruptions_allowed, 0);
        put(&mut api, PodInfo { priority: 7, ..web("p0") });
        controller.act(&mut api);
        assert_eq!(found(&api).disruptions_allowed, 0);
        assert!(controller.keeps_given_status(&Symbol::new("default"), &name));
        put(&mut api, web("p3"));
        controller.act(&mut api);
        assert_eq!(found(&api).disruptions_allowed, 3);
        assert!(!controller.keeps_given_status(&Symbol::new("default"), &name));
        // What a user writes into the status later does not hold.
        api.put(budget(&json!({"minAvailable": 2}), &json!({"disruptionsAllowed": 9})));
        controller.act(&mut api);
        assert_eq!(found(&api).disruptions_allowed, 2);
        // Without a demand the status stays.
        api.put(budget(&json!({}), &json!({"disruptionsAllowed": 9})));
        controller.act(&mut api);
        assert_eq!(found(&api).disruptions_allowed, 9);
    }

    #[test]
    fn a_pod_that_is_to_go_is_not_healthy_and_leaves_the_list_with_its_deletion() {
        let (mut api, mut controller) = server(&json!({"minAvailable": 1}), &json!({}), 3);
        let times = json!({"p0": "2026-01-01T00:00:00Z", "gone": "2026-01-01T00:00:00Z"});
        api.put(budget(&json!({"minAvailable": 1}), &json!({"disruptedPods": times})));
        controller.act(&mut api);
        let status = |api: &Api| (found(api).disruptions_allowed, found(api).disrupted_pods.len());
        assert_eq!(status(&api), (1, 1));
        put(&mut api, PodInfo { deleted: Some(Time(1)), ..web("p0") });
        controller.act(&mut api);
        assert_eq!(status(&api), (1, 0));
    }

    #[test]
    fn replicas_of_known_controllers_are_the_scale() {
        let (mut api, mut controller) = server(&json!({"maxUnavailable": 2}), &json!({}), 0);
        let owner = json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "set", "controller": true,
        }]);
        for name in ["a", "b", "c"] {
            let of = pod(name).label("app", "web").on("n").set("metadata.ownerReferences", owner.clone());
            api.put(of.object());
        }
        controller.act(&mut api);
        assert_eq!(found(&api).disruptions_allowed, 2);
        for (replicas, uid, expected) in [(4, "set", 1), (5, "set", 0), (2, "set", 3), (5, "other", 2)] {
            let set = json!({
                "metadata": {"name": "set", "namespace": "default", "uid": uid}, "spec": {"replicas": replicas},
            });
            api.put((Kind::ReplicaSet.row().unwrap().from_value)(Arc::new(set)).unwrap());
            controller.act(&mut api);
            assert_eq!(found(&api).disruptions_allowed, expected, "{replicas} of {uid}");
        }
    }
}

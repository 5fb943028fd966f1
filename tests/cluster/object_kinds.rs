//! The objects of other kinds than pods, nodes and namespaces on their way from a real API server to the scheduler: what
//! arrives, changes and goes, and kinds that the API server refuses or does not serve.

use crate::support::{ControlPlane, Options, objects, wait_until};
use bayplan::cluster::api::client::{Api, Target};
use bayplan::cluster::inputs::informers::Informers;
use bayplan::cluster::process::driver::{Clock, Driver, Outlet};
use bayplan::cluster::process::supervisor::Supervisor;
use bayplan::framework::Need;
use bayplan::model::{
    DeviceTaintRule, KINDS, Kind, PersistentVolumeClaim, PodDisruptionBudget, Service, Snapshot, Symbol,
    Time, Typed,
};
use bayplan::scheduler::{Effect, Scheduler};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

const SOON: Duration = Duration::from_secs(30);

/// Takes no effect.
struct Mute;

impl Outlet<Scheduler> for Mute {
    fn effect(&mut self, _: Effect, _: &Scheduler, _: Time) {}
    fn attempted(&mut self, _: Duration) {}
}

/// The watches of some kinds, and the scheduler that they feed.
struct Watches {
    runtime: Runtime,
    informers: Informers,
    driver: Driver<Scheduler>,
}

impl Watches {
    fn start(kubeconfig: PathBuf, needs: &[Need]) -> Self {
        let runtime = Runtime::new().unwrap();
        let (driver, inbox) = Driver::<Scheduler>::new();
        let target = Target { kubeconfig: Some(kubeconfig), ..Target::default() };
        let informers = runtime.block_on(async {
            let api = Api::new(&target).await.unwrap();
            let informers = Informers::new(&api, driver.mailbox(), Duration::from_secs(180), needs, None);
            let (supervisor, _) = Supervisor::new();
            informers.start(&supervisor);
            informers
        });
        std::thread::spawn(move || inbox.run(Scheduler::new(Default::default()), Mute, Clock::start()));
        Self { runtime, informers, driver }
    }

    /// Whether every needed kind is listed, for policies that read nothing more.
    fn is_synced(&self) -> bool {
        let generation = *self.informers.subscribe().borrow();
        self.informers.policies_chosen(generation);
        self.informers.is_synced()
    }

    fn look<T: Send + 'static>(&self, look: impl FnOnce(&Snapshot) -> T + Send + 'static) -> T {
        self.runtime.block_on(self.driver.inspect(move |scheduler| look(scheduler.snapshot()))).unwrap()
    }

    fn object<T: Typed>(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        let (namespace, name) = (Symbol::new(namespace), Symbol::new(name));
        self.look(move |snapshot| snapshot.object::<T>(&namespace, &name).cloned())
    }

    /// Why a kind cannot be watched.
    fn trouble(&self, resource: &str) -> Option<String> {
        let states = self.informers.states();
        let state = states.into_iter().find(|state| state.resource == resource).unwrap();
        state.trouble.map(|trouble| trouble.to_string())
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.driver.stop();
    }
}

/// Every kind of the table, all of them optional or none.
fn all(optional: bool) -> Vec<Need> {
    KINDS.iter().map(|row| Need { kind: row.kind.clone(), optional }).collect()
}

#[test]
fn objects_arrive_change_and_go() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("kinds");
    let watches = Watches::start(plane.kubeconfig(), &all(false));
    wait_until("all kinds are listed", SOON, || watches.is_synced());
    let metadata = json!({"name": "web", "namespace": namespace});
    plane.create(&[
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }),
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }),
    ]);
    let service = || watches.object::<Service>(&namespace, "web");
    let claim = || watches.object::<PersistentVolumeClaim>(&namespace, "web");
    let budget = || watches.object::<PodDisruptionBudget>(&namespace, "web");
    wait_until("they arrive", SOON, || service().is_some() && claim().is_some() && budget().is_some());
    assert_eq!(service().unwrap().selector.get(&"app".into()), Some(&"web".into()));
    assert_eq!(claim().unwrap().request.as_ref().map(ToString::to_string).as_deref(), Some("1Gi"));
    assert_eq!(budget().unwrap().disruptions_allowed, 0);
    let (before, uid) = (service().unwrap(), service().unwrap().metadata.uid.clone());
    let patch = |kind: &str, patch: &str, more: &[&str]| {
        let mut line = vec!["patch", kind, "web", "--namespace", &namespace, "--type=merge", "-p", patch];
        line.extend(more);
        let done = plane.kubectl_with_input(&line, "");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    patch("service", r#"{"spec":{"selector":{"app":"other"}}}"#, &[]);
    patch("pvc", r#"{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}}}"#, &[]);
    patch(
        "pdb",
        r#"{"status":{"disruptionsAllowed":3,"disruptedPods":{"a":"2026-01-01T00:00:00Z"}}}"#,
        &["--subresource=status"],
    );
    wait_until("they change", SOON, || {
        service().unwrap().selector.get(&"app".into()) == Some(&"other".into())
            && claim().unwrap().selected_node == Some("n1".into())
            && budget().unwrap().disruptions_allowed == 3
    });
    assert_eq!(budget().unwrap().disrupted_pods[..], [Symbol::new("a")]);
    assert_eq!(service().unwrap().metadata.uid, uid);
    assert_ne!(service().unwrap().metadata.version, before.metadata.version);
    for kind in ["service", "pvc", "pdb"] {
        plane.kubectl_ok(["delete", kind, "web", "--namespace", &namespace, "--wait=false"]);
    }
    // The finalizer of a claim waits for a controller that this control plane does not have.
    patch("pvc", r#"{"metadata":{"finalizers":null}}"#, &[]);
    wait_until("they go", SOON, || service().is_none() && claim().is_none() && budget().is_none());
}

#[test]
fn an_optional_kind_may_be_refused_and_arrives_with_the_right() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("refused-kinds");
    let account = format!("--serviceaccount={namespace}:narrow");
    plane.kubectl_ok(["create", "serviceaccount", "narrow", "--namespace", &namespace]);
    let may = |name: &str, resources: &str| {
        let name = format!("{namespace}-{name}");
        let resources = format!("--resource={resources}");
        plane.kubectl_ok(["create", "clusterrole", &name, "--verb=list,watch", &resources]);
        plane.kubectl_ok(["create", "clusterrolebinding", &name, &format!("--clusterrole={name}"), &account]);
    };
    let others = objects::other_resources().replace(",services,", ",");
    may("most", &format!("pods,nodes,namespaces,{others}"));
    let kubeconfig = || plane.kubeconfig_of_service_account(&namespace, "narrow");
    let lenient = Watches::start(kubeconfig(), &all(true));
    let strict = Watches::start(kubeconfig(), &all(false));
    wait_until("it goes on without Services", SOON, || lenient.is_synced());
    let said = lenient.trouble("services").unwrap();
    assert!(said.contains("resources: [\"services\"], verbs: [\"list\", \"watch\"]"), "{said}");
    wait_until("the other knows", SOON, || strict.trouble("services").is_some());
    assert!(!strict.is_synced(), "a kind that is needed is waited for");
    assert!(strict.look(|snapshot| snapshot.object_count(&Kind::Service)) == 0);
    may("services", "services");
    for watches in [&lenient, &strict] {
        // Every cluster has the Service of its API server.
        wait_until("it arrives", SOON, || watches.object::<Service>("default", "kubernetes").is_some());
        wait_until("all is listed", SOON, || watches.is_synced());
        assert_eq!(watches.trouble("services"), None);
    }
}

#[test]
fn an_optional_kind_may_not_be_served() {
    let flags = vec!["--runtime-config=policy/v1=false".to_owned()];
    let plane = ControlPlane::start_with(Options { api_server_flags: flags, ..Options::default() });
    let lenient = Watches::start(plane.kubeconfig(), &all(true));
    let strict = Watches::start(plane.kubeconfig(), &all(false));
    wait_until("it goes on without budgets", SOON, || lenient.is_synced());
    let absent = "the API server has no such kind";
    assert_eq!(lenient.trouble("poddisruptionbudgets").as_deref(), Some(absent));
    wait_until("the other knows", SOON, || strict.trouble("poddisruptionbudgets").is_some());
    assert!(!strict.is_synced());
}

#[test]
fn kinds_of_older_servers_are_read_and_those_that_are_absent_are_known() {
    let flags = [
        "--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/v1beta2=true",
        "--feature-gates=DRADeviceTaintRules=true",
    ];
    let flags = flags.map(str::to_owned).to_vec();
    let plane = ControlPlane::start_with(Options { api_server_flags: flags, ..Options::default() });
    let watches = Watches::start(plane.kubeconfig(), &all(true));
    wait_until("it goes on without claims", SOON, || watches.is_synced());
    let are_served = watches.look(|snapshot| {
        [Kind::ResourceClaim, Kind::DeviceTaintRule, Kind::Service].map(|kind| snapshot.is_served(&kind))
    });
    assert_eq!(are_served, [false, true, true]);
    let rule = json!({
        "apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule", "metadata": {"name": "r"},
        "spec": {"deviceSelector": {"driver": "d.ex"}, "taint": {"key": "k", "effect": "NoSchedule"}},
    });
    let done = plane.kubectl_with_input(&["create", "-f", "-"], &rule.to_string());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let seen = || watches.object::<DeviceTaintRule>("", "r");
    wait_until("it arrives", SOON, || seen().is_some_and(|rule| rule.taint.key == "k"));
    plane.kubectl_ok(["delete", "devicetaintrules.v1beta2.resource.k8s.io", "r"]);
    wait_until("it goes", SOON, || seen().is_none());
}

//! The rights of `deploy/rbac.yaml`, in the cluster, in the scheduler's own namespace and in that of
//! the policies: with all of them the API server refuses nothing, and without any one of them the log
//! names the missing verb and resource. Each run has its own namespace, service account and roles.

use crate::api_load::{ApiClient, post};
use crate::scheduler_process::{SchedulerProcess, Setup};
use crate::support::{
    ControlPlane, HttpProxy, Options, Rule, binaries::kubernetes, daemon::Folder, objects, wait::became_true,
    wait_until,
};
use bayplan::cluster::api::client::Request;
use http::Method;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(40);
const POLICY: &str = "/// Nothing on hot nodes.\npolicy heat {\n  filter cool {\n    reject \"too hot\" when \
                      node.labels[\"heat\"] == \"hot\"\n  }\n  before bind {\n    annotate pod {\"example.com/noted\": \
                      \"yes\"}\n  }\n}\n";

/// A verb on a resource in one of the two roles.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Right {
    kind: &'static str,
    resource: String,
    verb: String,
}

fn texts(of: &Value) -> Vec<String> {
    of.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn rights_of(kind: &'static str, role: &Value) -> Vec<Right> {
    let mut rights = Vec::new();
    for rule in role["rules"].as_array().unwrap() {
        for resource in texts(&rule["resources"]) {
            let right = |verb| Right { kind, resource: resource.clone(), verb };
            rights.extend(texts(&rule["verbs"]).into_iter().map(right));
        }
    }
    rights
}

/// The rules of a role, one for each resource and verb, leaving out one right.
fn rules_without(kind: &str, role: &Value, without: Option<&Right>) -> Vec<Value> {
    let mut rules = Vec::new();
    for rule in role["rules"].as_array().unwrap() {
        for resource in texts(&rule["resources"]) {
            for verb in texts(&rule["verbs"]) {
                if without.is_some_and(|it| it.kind == kind && it.resource == resource && it.verb == verb) {
                    continue;
                }
                let mut one = rule.clone();
                (one["resources"], one["verbs"]) = (json!([resource]), json!([verb]));
                rules.push(one);
            }
        }
    }
    rules
}

struct Roles {
    cluster: Value,
    /// In the scheduler's own namespace.
    own: Value,
    /// In the namespace of the policies.
    policies: Value,
}

/// The namespace of the policies of an account.
fn policies_of(namespace: &str) -> String {
    format!("{namespace}-policies")
}

/// Makes a namespace with a service account that has all rights but one; returns the namespace.
fn account(plane: &ControlPlane, roles: &Roles, without: Option<&Right>) -> String {
    let namespace = plane.create_namespace("rights");
    let subject = json!([{"kind": "ServiceAccount", "name": "bayplan", "namespace": namespace}]);
    let group = "rbac.authorization.k8s.io";
    plane.kubectl_ok(["create", "namespace", &policies_of(&namespace)]);
    let mut all = vec![json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bayplan", "namespace": namespace},
    })];
    for (kind, of, role) in [
        ("ClusterRole", Value::Null, &roles.cluster),
        ("Role", json!(namespace), &roles.own),
        ("Role", json!(policies_of(&namespace)), &roles.policies),
    ] {
        let meta = json!({"name": namespace, "namespace": of});
        all.push(json!({
            "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": meta,
            "rules": rules_without(kind, role, without),
        }));
        all.push(json!({
            "apiVersion": format!("{group}/v1"), "kind": format!("{kind}Binding"), "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": kind, "name": namespace}, "subjects": subject,
        }));
    }
    // What policies write, they write with the rights of their account.
    let metadata = json!({"name": format!("{namespace}-writer")});
    all.push(json!({
        "apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": metadata,
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}],
    }));
    all.push(json!({
        "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": "bayplan-policies", "namespace": namespace}],
    }));
    plane.create(&all);
    namespace
}

/// The awaited log line has appeared.
struct Seen;

/// A scheduler with the rights of a namespace's account.
struct Life<'a> {
    plane: &'a ControlPlane,
    namespace: &'a str,
    ours: SchedulerProcess,
    /// Whether the log has the awaited line.
    enough: &'a (dyn Fn(&str) -> bool + Sync),
}

impl<'a> Life<'a> {
    fn start(
        plane: &'a ControlPlane,
        namespace: &'a str,
        proxy: Option<&HttpProxy>,
        enough: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> Self {
        let config = plane.folder().join(format!("{namespace}.yaml"));
        let text = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection:\n  \
             leaderElect: true\n  resourceName: bayplan\n  resourceNamespace: {namespace}\nprofiles:\n- schedulerName: \
             {namespace}\n"
        );
        std::fs::write(&config, text).unwrap();
        let mut kubeconfig = plane.kubeconfig_of_service_account(namespace, "bayplan");
        if let Some(proxy) = proxy {
            let text = std::fs::read_to_string(kubeconfig).unwrap().replace(&plane.url(), &proxy.url());
            kubeconfig = plane.folder().join(format!("{namespace}-through.kubeconfig"));
            std::fs::write(&kubeconfig, text).unwrap();
        }
        let policies = policies_of(namespace);
        let setup =
            Setup::new(namespace).policies_from(&policies).kubeconfig(kubeconfig).config(config).guarded();
        let setup = setup.flag(format!("--policy-service-account={namespace}/bayplan-policies"));
        let label = [("bayplan.dev/policy", "")];
        // The history of a policy that has been gone for more than a day.
        let mut old = objects::config_map(
            &policies,
            "bayplan-history-cold",
            &[("bayplan.dev/history", "")],
            &[("policy.bay", &POLICY.replace("heat", "cold"))],
        );
        old["metadata"]["annotations"] = json!({
            "bayplan.dev/history-of": "cold", "bayplan.dev/unused-since": "2026-01-01T00:00:00Z",
        });
        plane.create(&[objects::config_map(&policies, "heat", &label, &[("policy.bay", POLICY)]), old]);
        Self { plane, namespace, ours: SchedulerProcess::spawn(plane, &setup), enough }
    }

    fn said(&self, text: &str) -> bool {
        self.ours.said().contains(text)
    }

    /// Waits for a step, or for the awaited log line.
    fn until(&self, done: impl Fn() -> bool) -> Result<(), Seen> {
        let enough = || (self.enough)(&self.ours.said());
        let came = became_true(SOON, || enough() || done());
        assert!(came, "waited in vain:\n{}", self.ours.daemon.log_tail(30));
        if enough() { Err(Seen) } else { Ok(()) }
    }

    fn pod(&self, name: &str, cpu: &str) -> Value {
        objects::pod(self.namespace, name, self.namespace, &[("cpu", cpu)])
    }

    fn is_bound(&self, name: &str) -> bool {
        self.plane.node_of(self.namespace, name).is_some()
    }

    /// Does everything that needs a right, except reading pods and claims.
    fn live(&self) -> Result<(), Seen> {
        let (plane, namespace) = (self.plane, self.namespace);
        self.until(|| self.said("became leader") && self.said("caches are synced"))?;
        let mut big = self.pod("big", "5000");
        big["spec"]["nodeSelector"] = json!({ namespace: "yes" });
        plane.create(&[self.pod("fits", "10m"), big]);
        let refused = || {
            let events = plane.events_about(namespace, "big");
            events.into_iter().find(|event| event["reason"] == "FailedScheduling")
        };
        self.until(|| self.is_bound("fits") && refused().is_some())?;
        self.until(|| {
            let big = plane.get_json(["pod", "big", "--namespace", namespace]);
            big["status"]["conditions"][0]["reason"] == "Unschedulable"
        })?;
        // With the label the node is still too small. A pod that leaves the node wakes the pod, and the same
        // rejection makes its event a series.
        let too_small = || {
            let events = plane.events_about(namespace, "big");
            events
                .into_iter()
                .find(|event| event["note"].as_str().is_some_and(|note| note.contains("Insufficient cpu")))
        };
        plane.kubectl_ok(["label", "node", "roomy", &format!("{namespace}=yes")]);
        self.until(|| too_small().is_some())?;
        plane.kubectl_ok(["delete", "pod", "fits", "--namespace", namespace, "--grace-period=0", "--force"]);
        self.until(|| {
            too_small().is_some_and(|event| event["series"]["count"].as_u64().is_some_and(|count| count >= 2))
        })?;
        self.give_volumes()?;
        self.give_devices()?;
        self.evict()?;
        // A request for metrics needs the reviews.
        let shown = plane.get_from(&self.ours.url(), "/metrics").is_some();
        assert!(
            shown || (self.enough)(&self.ours.said()),
            "the admin may not read the metrics: {}",
            self.ours.daemon.log_tail(9)
        );
        let policies = policies_of(namespace);
        let history = |policy: &str| {
            let name = format!("bayplan-history-{policy}");
            plane.kubectl(["get", "configmap", &name, "--namespace", &policies]).status.success()
        };
        self.until(|| history("heat") && !history("cold"))
    }

    /// Gives a volume to a claim, and selects a node for another claim. No controller goes on with them.
    fn give_volumes(&self) -> Result<(), Seen> {
        let (plane, namespace) = (self.plane, self.namespace);
        let mut all = Vec::new();
        for (name, provisioner) in [("given", "kubernetes.io/no-provisioner"), ("made", "example.com/disks")]
        {
            let (class, metadata) =
                (format!("{namespace}-{name}"), json!({"name": name, "namespace": namespace}));
            all.push(json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": class},
                "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer",
            }));
            all.push(json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
                "spec": {
                    "storageClassName": class, "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }));
            let mut pod = self.pod(name, "10m");
            pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "roomy"});
            pod["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": name}}]);
            all.push(pod);
        }
        all.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": namespace},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "storageClassName": format!("{namespace}-given"), "hostPath": {"path": "/tmp"},
            },
        }));
        plane.create(&all);
        plane.patch_status(namespace, &format!("pv/{namespace}"), &json!({"status": {"phase": "Available"}}));
        let selected = "volume.kubernetes.io/selected-node";
        self.until(|| {
            let given = plane.get_json(["pv", namespace])["spec"]["claimRef"]["name"] == "given";
            let made = plane.get_json(["pvc", "made", "--namespace", namespace]);
            given && made["metadata"]["annotations"][selected] == "roomy"
        })
    }

    /// A class of devices of an own driver that is also an extended resource, and a node's slice of them.
    fn devices(&self) -> (String, Vec<Value>) {
        let (driver, name) = (format!("{}.example.com", self.namespace), self.namespace);
        let version = "resource.k8s.io/v1";
        let resource = format!("{driver}/gpu");
        let slice = json!({
            "apiVersion": version, "kind": "ResourceSlice", "metadata": {"name": name},
            "spec": {
                "driver": driver, "nodeName": "roomy", "devices": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}],
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            },
        });
        let class = json!({
            "apiVersion": version, "kind": "DeviceClass", "metadata": {"name": name},
            "spec": {
                "extendedResourceName": resource,
                "selectors": [{"cel": {"expression": format!("device.driver == '{driver}'")}}],
            },
        });
        (resource, vec![slice, class])
    }

    fn claim(&self, name: &str) -> Value {
        let exactly = json!({"deviceClassName": self.namespace});
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
        })
    }

    fn pod_with_claim(&self, name: &str) -> Value {
        let mut pod = self.pod(name, "10m");
        pod["spec"]["resourceClaims"] = json!([{"name": "gpu", "resourceClaimName": name}]);
        pod
    }

    /// Creates a claim with parameters of a driver, and allocates a device as another scheduler does. The API server keeps
    /// the text of parameters, white space and all, and no patch of ours does.
    fn create_as_written(&self, name: &str, device: Option<&str>) {
        let (client, namespace) = (ApiClient::new(self.plane), self.namespace);
        let driver = format!("{namespace}.example.com");
        let opaque = format!(r#"{{"driver": "{driver}", "parameters": {{ "share": "all",  "kind": "K" }}}}"#);
        let written = |of: &Value| of.to_string().replace("\"OPAQUE\"", &opaque).into_bytes();
        let mut claim = self.claim(name);
        claim["spec"]["devices"]["config"] = json!([{"opaque": "OPAQUE"}]);
        let path = format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims");
        let made =
            client.call(Request { body: written(&claim), ..post(&*path, &claim) }).expect("a new claim");
        let Some(device) = device else { return };
        let result = json!({"request": "gpu", "driver": driver, "pool": namespace, "device": device});
        let config = json!([{"source": "FromClaim", "opaque": "OPAQUE"}]);
        claim["metadata"] = made["metadata"].clone();
        claim["status"] = json!({"allocation": {"devices": {"results": [result], "config": config}}});
        let put = post(format!("{path}/{name}/status"), &claim);
        client.call(Request { method: Method::PUT, body: written(&claim), ..put }).expect("its status");
    }

    /// Allocates a device to a claim, uses one that is allocated, and allocates one to a pod with an extended resource whose
    /// claim of an earlier attempt is there.
    fn give_devices(&self) -> Result<(), Seen> {
        let (plane, namespace) = (self.plane, self.namespace);
        let (resource, mut all) = self.devices();
        let mut extended = self.pod("extended", "10m");
        extended["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
        let resources = &mut extended["spec"]["containers"][0]["resources"];
        (resources["requests"][&resource], resources["limits"][&resource]) = (json!("1"), json!("1"));
        all.extend([self.pod_with_claim("device"), extended]);
        plane.create(&all);
        self.create_as_written("device", None);
        self.create_as_written("given-device", Some("d"));
        let pod = plane.get_json(["pod", "extended", "--namespace", namespace]);
        let mut left = self.claim("left");
        left["metadata"]["annotations"] = json!({"resource.kubernetes.io/extended-resource-claim": "true"});
        left["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "Pod", "name": "extended", "uid": pod["metadata"]["uid"], "controller": true,
        }]);
        plane.create(&[left]);
        self.until(|| self.is_bound("device"))?;
        plane.create(&[self.pod_with_claim("given-device")]);
        self.until(|| self.is_bound("given-device"))?;
        let gone = json!([{"op": "remove", "path": "/spec/schedulingGates"}]);
        let patch = format!("--patch={gone}");
        plane.kubectl_ok(["patch", "pod", "extended", "--namespace", namespace, "--type=json", &patch]);
        let gone = || {
            let left = plane.kubectl(["get", "resourceclaim", "left", "--namespace", namespace]);
            !left.status.success()
        };
        self.until(gone)?;
        // In 1.36 nothing about the claim wakes the pod.
        plane.kubectl_ok(["label", "node", "roomy", &format!("{namespace}-devices=yes")]);
        self.until(|| self.is_bound("extended"))?;
        let pod = plane.get_json(["pod", "extended", "--namespace", namespace]);
        let claim = &pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"];
        assert!(claim.as_str().is_some_and(|name| name.starts_with("extended-extended-resources-")), "{pod}");
        Ok(())
    }

    /// Has a write of a claim refused that another writer was faster with; the scheduler then reads the claim.
    fn read_a_claim(&self, proxy: &HttpProxy) -> Result<(), Seen> {
        let (_, mut all) = self.devices();
        all.extend([self.claim("device"), self.pod_with_claim("device")]);
        let part = "/resourceclaims/device/status";
        proxy
            .rule(Rule::fails(Method::PATCH, part, 409, "Conflict", "the object has been modified").times(1));
        self.plane.create(&all);
        self.until(|| self.is_bound("device"))
    }

    /// Evicts a pod from a node with room for one.
    fn evict(&self) -> Result<(), Seen> {
        let (plane, namespace) = (self.plane, self.namespace);
        let small = format!("small-{namespace}");
        let victim = |name: &str| {
            let mut pod = self.pod(name, "700m");
            pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": small});
            pod
        };
        let mut wins = victim("wins");
        wins["spec"]["priorityClassName"] = json!(namespace);
        plane.create(&[
            objects::node(&small, &[("cpu", "1"), ("memory", "1Gi")]),
            json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": namespace},
                "value": 1_000,
            }),
            victim("loses"),
        ]);
        self.until(|| self.is_bound("loses"))?;
        plane.create(&[wins]);
        self.until(|| self.is_bound("wins"))
    }

    /// Has a binding of unknown result, after which the scheduler reads the pod, and reads a claim.
    fn read_a_pod(&self, proxy: &HttpProxy) -> Result<(), Seen> {
        self.until(|| self.said("became leader") && self.said("caches are synced"))?;
        // Since 1.37 the call is sent four times.
        let calls = if kubernetes() == "1.36" { 1 } else { 4 };
        proxy.rule(Rule::fails(Method::POST, "/binding", 500, "InternalError", "an error").times(calls));
        self.plane.create(&[self.pod("pod", "10m")]);
        self.until(|| self.is_bound("pod"))?;
        self.read_a_claim(proxy)
    }
}

fn roles(plane: &ControlPlane) -> Roles {
    for file in ["namespace", "rbac"] {
        let path = format!("{}/deploy/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        plane.apply(&std::fs::read_to_string(path).unwrap());
    }
    plane.create(&[objects::node("roomy", &[("cpu", "1000"), ("memory", "64Gi"), ("pods", "500")])]);
    Roles {
        cluster: plane.get_json(["clusterrole", "bayplan"]),
        own: plane.get_json(["role", "bayplan", "--namespace", "bayplan"]),
        policies: plane.get_json(["role", "bayplan", "--namespace", "bayplan-policies"]),
    }
}

/// Whether the log has the API server's refusal: `User "…" cannot VERB resource "RESOURCE"`. Without the right to
/// impersonate, an API server that knows constrained impersonation names the verb that would be enough.
fn refuses(said: &str, right: &Right) -> bool {
    let said = said.replace('\\', "");
    said.contains(&format!("cannot {} resource \"{}\"", right.verb, right.resource))
        || right.verb == "impersonate" && said.contains("cannot impersonate-on:serviceaccount:")
}

#[test]
fn each_right_of_the_roles_is_needed_and_no_other() {
    let audit = Folder::new("audit");
    let policy = audit.join("policy.yaml");
    let text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- level: Metadata\n";
    std::fs::write(&policy, text).unwrap();
    let log = audit.join("audit.log");
    let flags = [
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", log.display()),
        "--audit-log-mode=blocking".to_owned(),
    ];
    let plane = ControlPlane::start_with(Options { api_server_flags: flags.to_vec(), ..Options::default() });
    let roles = roles(&plane);
    let nothing = |_: &str| false;

    // With all rights everything works, and the API server refuses nothing.
    let proxy = HttpProxy::start(&plane.url());
    let (whole, cut) = (account(&plane, &roles, None), account(&plane, &roles, None));
    let life = Life::start(&plane, &whole, None, &nothing);
    assert!(life.live().is_ok());
    let other = Life::start(&plane, &cut, Some(&proxy), &nothing);
    assert!(other.read_a_pod(&proxy).is_ok());
    for life in [life, other] {
        assert!(!life.said("forbidden"), "{}", life.ours.daemon.log_tail(40));
    }
    let audited = std::fs::read_to_string(&log).unwrap();
    let (mut asked, mut read) = (0, false);
    for line in audited.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let user = entry["user"]["username"].as_str().unwrap_or_default();
        if [&whole, &cut].iter().any(|of| user == format!("system:serviceaccount:{of}:bayplan")) {
            asked += 1;
            read |= entry["verb"] == "get" && entry["objectRef"]["resource"] == "pods";
            assert_ne!(entry["responseStatus"]["code"], 403, "{line}");
        }
    }
    assert!(asked > 20 && read, "{asked} requests, a pod was read: {read}");

    // Without one right, the log names that right.
    let mut all = rights_of("ClusterRole", &roles.cluster);
    all.extend(rights_of("Role", &roles.own));
    all.extend(rights_of("Role", &roles.policies));
    assert!(all.len() > 15, "{all:?}");
    let (open, unneeded) = (Mutex::new(VecDeque::from(all)), Mutex::new(Vec::new()));
    let next = || open.lock().unwrap().pop_front();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(right) = next() {
                    let namespace = account(&plane, &roles, Some(&right));
                    let enough = |said: &str| refuses(said, &right);
                    let read =
                        ["pods", "resourceclaims"].contains(&right.resource.as_str()) && right.verb == "get";
                    let missed = if read {
                        let proxy = HttpProxy::start(&plane.url());
                        Life::start(&plane, &namespace, Some(&proxy), &enough).read_a_pod(&proxy).is_err()
                    } else {
                        Life::start(&plane, &namespace, None, &enough).live().is_err()
                    };
                    if !missed {
                        unneeded.lock().unwrap().push(right);
                    }
                }
            });
        }
    });
    let unneeded = unneeded.into_inner().unwrap();
    assert!(unneeded.is_empty(), "these rights are not needed: {unneeded:#?}");
}

/// The roles that `rbac` prints are enough for an extender; without one of them `--check-rights` says which.
#[test]
fn an_extender_has_the_roles_that_are_printed_for_it_or_says_what_it_lacks() {
    let plane = ControlPlane::shared();
    let namespace = plane.create_namespace("asked");
    plane.kubectl_ok(["create", "serviceaccount", "bayplan", "--namespace", &namespace]);
    let kubeconfig = plane.kubeconfig_of_service_account(&namespace, "bayplan");
    let run = |arguments: &[&str]| {
        let output =
            std::process::Command::new(env!("CARGO_BIN_EXE_bayplan")).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let policies = format!("--policy-namespaces={namespace}");
    let through = format!("--kubeconfig={}", kubeconfig.display());
    let check =
        || run(&["extender", "--check-rights", "--bind", "--listen=unix:/tmp/never", &policies, &through]);
    let (status, said) = check();
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.starts_with("no question of kube-scheduler is answered until these rights are granted:"),
        "{said}"
    );
    for right in
        ["list, watch pods", "create pods/binding", &format!("configmaps in the namespace `{namespace}`")]
    {
        assert!(said.contains(right), "{right}: {said}");
    }
    let (name, place) = (format!("--name={namespace}"), format!("--namespace={namespace}"));
    let (status, roles) = run(&["rbac", "--way=extender", "--bind", &policies, &name, &place]);
    assert_eq!(status, Some(0), "{roles}");
    plane.apply(&roles);
    wait_until("it has every right", SOON, || check().0 == Some(0));
}

/// The rights of kube-scheduler are not those that policies need: it is said that no pod is scheduled, and the line that is
/// said grants what is missing.
#[test]
fn a_missing_right_without_which_nothing_is_scheduled_is_said_and_granted_by_the_line_that_is_printed() {
    let plane = ControlPlane::start();
    let load = crate::workload::Workload::new(&plane, "lacking", 1);
    let space = load.namespace.as_str();
    plane.kubectl_ok(["create", "serviceaccount", "lacking", "--namespace", space]);
    let account = format!("--serviceaccount={space}:lacking");
    for role in ["system:kube-scheduler", "system:volume-scheduler", "system:auth-delegator"] {
        let name = format!("lacking-{}", role.trim_start_matches("system:"));
        plane.kubectl_ok(["create", "clusterrolebinding", &name, &format!("--clusterrole={role}"), &account]);
    }
    let kubeconfig = plane.kubeconfig_of_service_account(space, "lacking");
    let setup = Setup::new(&load.scheduler).policies_from(space).elects().kubeconfig(kubeconfig.clone());
    let ours = SchedulerProcess::spawn(&plane, &setup);
    let soon = Duration::from_secs(60);
    wait_until("the port answers", soon, || plane.get_from(&ours.url(), "/livez").is_some());
    let token = crate::support::User::new("admin", &[]).token();
    let ready = || crate::secure_port::page(&plane, &ours, &token, "/readyz").1;
    let policies = format!("list, watch configmaps in the namespace `{space}`");
    wait_until("the readiness says what is missing", soon, || ready().contains(&policies));
    let said = ready();
    assert!(
        said.contains("[-]rights failed: no pod is scheduled until missing rights are granted: "),
        "{said}"
    );
    assert!(said.contains("get, update leases.coordination.k8s.io"), "{said}");
    assert!(
        ours.said().contains("no pod is scheduled until this right is granted: kubectl create role"),
        "{}",
        ours.said()
    );
    load.create_pods(1, "10m");

    let check = || {
        std::process::Command::new(env!("CARGO_BIN_EXE_bayplan"))
            .args(["run", "--check-rights", "--config"])
            .arg(ours.folder.join("config.yaml"))
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .arg(format!("--policy-namespaces={space}"))
            .output()
            .unwrap()
    };
    let checked = check();
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&checked.stderr));
    assert!(text.contains(&policies) && text.starts_with("no pod is scheduled until"), "{text}");
    assert_eq!(load.bound(), 0);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("kubectl ")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    for line in lines {
        let ran = std::process::Command::new("sh")
            .args(["-ec", line])
            .env("KUBECONFIG", plane.kubeconfig())
            .env("PATH", plane.path_with_kubectl())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    wait_until("everything is there", soon, || check().status.code() == Some(0));
    load.wait_bound(1, soon);
    wait_until("it is ready", soon, || ready() == "ok");
}

//! A real etcd and kube-apiserver for tests: `ControlPlane::shared()` for tests that use names of
//! their own (namespace, scheduler name, labels of nodes), `ControlPlane::start()` for tests that
//! stop or pause a server.
//!
//! There is no kubelet and no controller: nodes are only objects, a bound pod with grace period 0
//! is deleted at once, nothing collects garbage, taints nodes or makes service accounts. Tests use
//! `kubectl`, so that the client under test never checks itself.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::binaries::Binaries;
use super::daemon::{Daemon, Folder};
use super::objects;
use super::proxy::Proxy;
use super::wait::became_true;

/// How a control plane differs from the usual one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// More flags of kube-apiserver, such as `--max-requests-inflight=3000` for a measurement.
    pub api_server_flags: Vec<String>,
    /// More users. There are always `admin` (group `system:masters`), `system:kube-scheduler` (with
    /// the rights that Kubernetes gives its scheduler) and `nobody` (authenticated, without
    /// rights).
    pub users: Vec<User>,
}

/// A user with the token `NAME-token`.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub name: String,
    pub groups: Vec<String>,
}

impl User {
    pub(crate) fn new(name: &str, groups: &[&str]) -> Self {
        Self { name: name.to_owned(), groups: groups.iter().map(|group| (*group).to_owned()).collect() }
    }

    /// The token of this user.
    pub(crate) fn token(&self) -> String {
        format!("{}-token", self.name.replace(':', "-"))
    }
}

/// A running etcd and kube-apiserver; both are killed when dropped.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    // Fields are dropped in this order; without etcd the API server would retry first.
    api_server: Option<Daemon>,
    pub etcd: Daemon,
    folder: Folder,
    binaries: &'static Binaries,
    options: Options,
    etcd_port: u16,
    port: u16,
}

/// A busy machine takes longer than the usual three seconds.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How often the start of a control plane is tried.
const ATTEMPTS: u32 = 4;

impl ControlPlane {
    /// The control plane that all tests of this process share. The first of them starts it.
    ///
    /// # Panics
    ///
    /// If the programs are missing, or it does not start.
    #[track_caller]
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<ControlPlane> = OnceLock::new();
        let binaries = Binaries::find();
        SHARED.get_or_init(|| Self::start_from(binaries, Options::default()))
    }

    /// A control plane for one test.
    ///
    /// # Panics
    ///
    /// As `shared`.
    #[track_caller]
    pub(crate) fn start() -> Self {
        Self::start_with(Options::default())
    }

    /// A control plane with options, for one test.
    ///
    /// # Panics
    ///
    /// As `shared`.
    #[track_caller]
    pub(crate) fn start_with(options: Options) -> Self {
        Self::start_from(Binaries::find(), options)
    }

    #[track_caller]
    fn start_from(binaries: &'static Binaries, mut options: Options) -> Self {
        options.users.push(User::new("admin", &["system:masters"]));
        options.users.push(User::new("system:kube-scheduler", &[]));
        options.users.push(User::new("nobody", &[]));
        for attempt in 1.. {
            match Self::try_start(binaries, options.clone()) {
                Ok(plane) => return plane,
                Err(log) if attempt == ATTEMPTS => panic!("the control plane did not start:\n{log}"),
                // Another process took the port before the server listened on it, or the machine was short of something.
                Err(log) => {
                    eprintln!("the control plane did not start, attempt {attempt} of {ATTEMPTS}:\n{log}")
                }
            }
            std::thread::sleep(Duration::from_secs(5));
        }
        unreachable!("the last attempt returns")
    }

    fn try_start(binaries: &'static Binaries, options: Options) -> Result<Self, String> {
        let folder = Folder::new("control-plane");
        write_credentials(&folder, &options.users);
        let etcd_port = free_port();
        let client_url = format!("http://127.0.0.1:{etcd_port}");
        let mut command = Command::new(binaries.etcd());
        command
            .arg("--unsafe-no-fsync")
            .arg(format!("--data-dir={}", folder.join("etcd").display()))
            .arg(format!("--listen-client-urls={client_url}"))
            .arg(format!("--advertise-client-urls={client_url}"))
            .args(["--listen-peer-urls=http://127.0.0.1:0", "--log-level=warn"]);
        let etcd = Daemon::spawn("etcd", command, &folder.join("etcd.log"));
        let mut plane =
            Self { api_server: None, etcd, folder, binaries, options, etcd_port, port: free_port() };
        plane.start_api_server()?;
        // The account in whose name policies write in tests that are not about its rights.
        let account = "--serviceaccount=kube-system:policy-writer";
        let role = "--clusterrole=cluster-admin";
        let done = plane.kubectl(["create", "clusterrolebinding", "policy-writer", role, account]);
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
        }
        Ok(plane)
    }

    fn start_api_server(&mut self) -> Result<(), String> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let mut command = Command::new(self.binaries.kube_apiserver());
        command
            .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port))
            .arg(format!("--secure-port={}", self.port))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--cert-dir={}", file("certs")))
            .arg("--service-account-issuer=https://bayplan.test")
            .arg(format!("--service-account-key-file={}", file("service-account.pub")))
            .arg(format!("--service-account-signing-key-file={}", file("service-account.key")))
            .arg(format!("--token-auth-file={}", file("tokens.csv")))
            .arg("--authorization-mode=RBAC")
            // ServiceAccount: no controller makes the default account that it requires of every
            // pod. TaintNodesByCondition: no controller removes the taint that it adds to every new
            // node.
            .arg("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
            .args(["--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24"])
            .args(["--allow-privileged=true", "--profiling=false"])
            .args(&self.options.api_server_flags);
        let mut daemon = Daemon::spawn("kube-apiserver", command, &self.folder.join("kube-apiserver.log"));
        self.write_kubeconfig("admin", &self.user("admin").token());
        // The server is ready a moment before it has made the first namespaces.
        let ready = became_true(START_TIMEOUT, || {
            !daemon.is_running()
                || !self.etcd.is_running()
                || self.api_server_is_ready()
                    && self.kubectl(["get", "ns", "default", "kube-system"]).status.success()
        });
        if ready && daemon.is_running() && self.etcd.is_running() {
            self.api_server = Some(daemon);
            return Ok(());
        }
        Err(format!("etcd:\n{}\nkube-apiserver:\n{}", self.etcd.log_tail(15), daemon.log_tail(15)))
    }

    /// Whether `/readyz` returns ok.
    pub(crate) fn api_server_is_ready(&self) -> bool {
        self.kubectl(["get", "--raw=/readyz"]).stdout == b"ok"
    }

    /// The running API server, to pause, resume and measure.
    ///
    /// # Panics
    ///
    /// Between `stop_api_server` and `restart_api_server`.
    #[track_caller]
    pub(crate) fn api_server(&mut self) -> &mut Daemon {
        self.api_server.as_mut().expect("an API server that was not stopped")
    }

    /// Kills the API server; all connections break. Stored objects stay.
    pub(crate) fn stop_api_server(&mut self) {
        self.api_server = None;
    }

    /// Starts the API server again, after killing it if it runs, with the same port, certificate
    /// and objects. Waits until it is ready.
    ///
    /// # Panics
    ///
    /// If it does not become ready.
    #[track_caller]
    pub(crate) fn restart_api_server(&mut self) {
        self.stop_api_server();
        if let Err(log) = self.start_api_server() {
            panic!("the API server did not start again:\n{log}");
        }
    }

    /// Ends both servers and removes their data, as dropping does.
    pub(crate) fn stop(self) {}

    pub(crate) fn binaries(&self) -> &'static Binaries {
        self.binaries
    }

    /// The folder with all files of this control plane.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The port of the API server on 127.0.0.1; restarts keep it.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// `https://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The certificate of the API server with the authority that signed it.
    pub(crate) fn certificate_authority(&self) -> PathBuf {
        self.folder.join("certs/apiserver.crt")
    }

    #[track_caller]
    fn user(&self, name: &str) -> &User {
        self.options.users.iter().find(|user| user.name == name).unwrap_or_else(|| panic!("no user `{name}`"))
    }
}

/// Kubeconfigs.
impl ControlPlane {
    /// Of a user in `system:masters`.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// `PATH` with the folder of kubectl first.
    pub(crate) fn path_with_kubectl(&self) -> String {
        let kubectl = self.binaries.kubectl();
        let folder = kubectl.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        format!("{folder}:{}", std::env::var("PATH").unwrap_or_default())
    }

    /// Of `system:kube-scheduler`, `nobody` or a user of the options.
    ///
    /// # Panics
    ///
    /// If the options have no such user.
    #[track_caller]
    pub(crate) fn kubeconfig_of_user(&self, name: &str) -> PathBuf {
        let token = self.user(name).token();
        self.write_kubeconfig(&name.replace(':', "-"), &token)
    }

    /// Of a service account that exists, with a token that lasts an hour.
    ///
    /// # Panics
    ///
    /// If there is no such service account.
    #[track_caller]
    pub(crate) fn kubeconfig_of_service_account(&self, namespace: &str, name: &str) -> PathBuf {
        let token = self.kubectl_ok(["create", "token", name, "--namespace", namespace, "--duration=1h"]);
        self.write_kubeconfig(&format!("{namespace}-{name}"), token.trim())
    }

    /// Writes `NAME.kubeconfig` with any token, also one that the server refuses.
    pub(crate) fn write_kubeconfig(&self, name: &str, token: &str) -> PathBuf {
        self.write_kubeconfig_to(&self.url(), name, token)
    }

    /// Of a user, through a proxy before this API server.
    ///
    /// # Panics
    ///
    /// If the options have no such user.
    #[track_caller]
    pub(crate) fn kubeconfig_through(&self, proxy: &Proxy, user: &str) -> PathBuf {
        let name = format!("{}-through-{}", user.replace(':', "-"), proxy.port());
        self.write_kubeconfig_to(&proxy.url(), &name, &self.user(user).token())
    }

    /// Of the admin, for another server, such as a scheduler, with any certificate.
    pub(crate) fn kubeconfig_for(&self, url: &str) -> PathBuf {
        self.kubeconfig_at(url, &self.user("admin").token())
    }

    /// With any token, or none, for another server with any certificate.
    pub(crate) fn kubeconfig_at(&self, url: &str, token: &str) -> PathBuf {
        let user = if token.is_empty() { "{}".to_owned() } else { format!("{{token: {token:?}}}") };
        self.write_kubeconfig_text(url, "insecure-skip-tls-verify: true", &user)
    }

    /// For another server with this certificate only, given as PEM.
    pub(crate) fn kubeconfig_trusting(&self, url: &str, certificate: &str) -> PathBuf {
        let path = self.folder.join(format!("trusted-{}.crt", url.rsplit(':').next().unwrap_or_default()));
        std::fs::write(&path, certificate).expect("writing a certificate");
        self.write_kubeconfig_text(
            url,
            &format!("certificate-authority: {:?}", path.display().to_string()),
            "{}",
        )
    }

    /// For another server with any certificate, as the owner of a client certificate.
    pub(crate) fn kubeconfig_showing(&self, url: &str, certificate: &Path, key: &Path) -> PathBuf {
        let quoted = |path: &Path| format!("{:?}", path.display().to_string());
        let user = format!("{{client-certificate: {}, client-key: {}}}", quoted(certificate), quoted(key));
        self.write_kubeconfig_text(url, "insecure-skip-tls-verify: true", &user)
    }

    fn write_kubeconfig_text(&self, url: &str, trust: &str, user: &str) -> PathBuf {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = self.folder.join(format!("other-{}.kubeconfig", COUNT.fetch_add(1, Ordering::Relaxed)));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\nclusters:\n- name: test\n  cluster:\n    server: \
             {url}\n    {trust}\nusers:\n- name: test\n  user: {user}\ncontexts:\n- name: test\n  context: {{cluster: \
             test, user: test}}\n"
        );
        std::fs::write(&path, text).expect("writing a kubeconfig");
        path
    }

    fn write_kubeconfig_to(&self, url: &str, name: &str, token: &str) -> PathBuf {
        let path = self.folder.join(format!("{name}.kubeconfig"));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters:\n- name: test\n  cluster:\n    server: {url}\n    certificate-authority: {:?}\n\
             users:\n- name: test\n  user:\n    token: {token}\n\
             contexts:\n- name: test\n  context:\n    cluster: test\n    user: test\n",
            self.certificate_authority().display().to_string(),
        );
        // Renamed into place, because another test may be reading the file of the same user.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let partial = self.folder.join(format!(".{}.kubeconfig", COUNT.fetch_add(1, Ordering::Relaxed)));
        std::fs::write(&partial, text).expect("writing a kubeconfig");
        std::fs::rename(&partial, &path).expect("renaming a kubeconfig");
        path
    }
}

/// Objects, as the admin.
impl ControlPlane {
    /// Runs kubectl and returns its output, also of a failure. The timeout of its requests is 20 s.
    pub(crate) fn kubectl<const N: usize>(&self, args: [&str; N]) -> Output {
        self.kubectl_with_input(&args, "")
    }

    /// Runs kubectl with a text on its standard input, for `-f -`.
    pub(crate) fn kubectl_with_input(&self, args: &[&str], input: &str) -> Output {
        // From a file, because a pipe would have to be written while the output is read.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let stdin = if input.is_empty() {
            Stdio::null()
        } else {
            let path = self.folder.join(format!(".input-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
            std::fs::write(&path, input).expect("writing what kubectl reads");
            let file = std::fs::File::open(&path).expect("opening what kubectl reads");
            std::fs::remove_file(&path).expect("removing what kubectl reads");
            Stdio::from(file)
        };
        Command::new(self.binaries.kubectl())
            .env_remove("KUBECONFIG")
            // Its cache of a server goes by the address, which another server may have next.
            .env("KUBECACHEDIR", self.folder.join("kubectl-cache"))
            .arg(format!("--kubeconfig={}", self.kubeconfig().display()))
            .arg("--request-timeout=20s")
            .args(args)
            .stdin(stdin)
            .output()
            .unwrap_or_else(|e| panic!("cannot run kubectl: {e}"))
    }

    /// The answer of another server, such as a scheduler, to a GET by the admin; `None` without
    /// status 200. Its certificate is not checked.
    pub(crate) fn get_from(&self, url: &str, path: &str) -> Option<String> {
        // kubectl is an HTTPS client that every machine with these tests has. Without a token it
        // would prompt for a user name.
        let output = Command::new(self.binaries.kubectl())
            .env_remove("KUBECONFIG")
            .args(["--kubeconfig=/dev/null", "--insecure-skip-tls-verify", "--request-timeout=10s"])
            .arg(format!("--token={}", self.user("admin").token()))
            .arg(format!("--server={url}"))
            .args(["get", "--raw", path])
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|e| panic!("cannot run kubectl: {e}"));
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs kubectl and returns its standard output.
    ///
    /// # Panics
    ///
    /// If it fails, with its message.
    #[track_caller]
    pub(crate) fn kubectl_ok<const N: usize>(&self, args: [&str; N]) -> String {
        succeeded(&args, self.kubectl(args))
    }

    /// `kubectl apply` of one or more documents.
    ///
    /// # Panics
    ///
    /// If the server refuses one.
    #[track_caller]
    pub(crate) fn apply(&self, yaml: &str) {
        let args = ["apply", "-f", "-"];
        succeeded(&args, self.kubectl_with_input(&args, yaml));
    }

    /// Defines custom kinds, and waits until the API server serves them.
    ///
    /// # Panics
    ///
    /// If the server refuses one.
    #[track_caller]
    pub(crate) fn define_kinds(&self, yaml: &str) {
        // Of two that create a kind at once, the API server refuses one.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        self.apply(yaml);
        let args = ["wait", "--for=condition=Established", "-f", "-"];
        succeeded(&args, self.kubectl_with_input(&args, yaml));
    }

    /// Creates objects one after the other, in one run of kubectl.
    ///
    /// # Panics
    ///
    /// If the server refuses one.
    #[track_caller]
    pub(crate) fn create(&self, objects: &[Value]) {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        let args = ["create", "-f", "-"];
        succeeded(&args, self.kubectl_with_input(&args, &list.to_string()));
    }

    /// `kubectl get ... -o json`.
    ///
    /// # Panics
    ///
    /// If it fails, also if a named object does not exist.
    #[track_caller]
    pub(crate) fn get_json<const N: usize>(&self, args: [&str; N]) -> Value {
        let mut all = vec!["get", "--output=json"];
        all.extend(args);
        let text = succeeded(&all, self.kubectl_with_input(&all, ""));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("kubectl {all:?} answered no JSON: {e}"))
    }

    /// Makes a new namespace whose name starts with `purpose`.
    ///
    /// # Panics
    ///
    /// If the server refuses it.
    #[track_caller]
    pub(crate) fn create_namespace(&self, purpose: &str) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{purpose}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.kubectl_ok(["create", "namespace", &name]);
        name
    }

    /// Makes `count` Ready nodes `PREFIX-0`, `PREFIX-1`, … with the label `node-group: PREFIX`,
    /// which the node selectors of a test use.
    ///
    /// # Panics
    ///
    /// If the server refuses one.
    #[track_caller]
    pub(crate) fn create_nodes(&self, prefix: &str, count: usize, capacity: &[(&str, &str)]) {
        let node =
            |i| objects::with_label(objects::node(&format!("{prefix}-{i}"), capacity), "node-group", prefix);
        self.create(&(0..count).map(node).collect::<Vec<_>>());
    }

    /// Merges a patch into the status of an object, such as `node/NAME` or `pod/NAME`.
    ///
    /// # Panics
    ///
    /// If the server refuses it.
    #[track_caller]
    pub(crate) fn patch_status(&self, namespace: &str, object: &str, patch: &Value) {
        let patch = format!("--patch={patch}");
        self.kubectl_ok([
            "patch",
            object,
            "--namespace",
            namespace,
            "--subresource=status",
            "--type=merge",
            &patch,
        ]);
    }

    /// Deletes a pod at once, as a kubelet that has stopped it does.
    ///
    /// # Panics
    ///
    /// If there is no such pod.
    #[track_caller]
    pub(crate) fn delete_pod(&self, namespace: &str, name: &str) {
        self.kubectl_ok(["delete", "pod", name, "--namespace", namespace, "--grace-period=0", "--force"]);
    }

    /// The node of a bound pod.
    ///
    /// # Panics
    ///
    /// If there is no such pod.
    #[track_caller]
    pub(crate) fn node_of(&self, namespace: &str, pod: &str) -> Option<String> {
        let pod = self.get_json(["pod", pod, "--namespace", namespace]);
        pod["spec"]["nodeName"].as_str().map(str::to_owned)
    }

    /// The events (events.k8s.io/v1) about one object, oldest first.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    #[track_caller]
    pub(crate) fn events_about(&self, namespace: &str, name: &str) -> Vec<Value> {
        let list = self.get_json(["events.events.k8s.io", "--namespace", namespace]);
        let mut events: Vec<Value> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|event| event["regarding"]["name"] == name)
            .cloned()
            .collect();
        events.sort_by_cached_key(|event| {
            let time =
                ["eventTime", "deprecatedFirstTimestamp"].map(|field| event[field].as_str().unwrap_or(""));
            time.into_iter().find(|time| !time.is_empty()).unwrap_or("").to_owned()
        });
        events
    }
}

#[track_caller]
fn succeeded(args: &[&str], output: Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kubectl {args:?} failed ({}): {message}", output.status);
    String::from_utf8(output.stdout).expect("kubectl writes UTF-8")
}

/// A port on 127.0.0.1 that was free a moment ago.
///
/// # Panics
///
/// If the machine has none left.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its number").port()
}

fn write_credentials(folder: &Folder, users: &[User]) {
    // kube-apiserver makes its own serving certificate, but no key for signing service account
    // tokens.
    let key = rcgen::KeyPair::generate().expect("an ECDSA key");
    let tokens: String = users
        .iter()
        .map(|user| format!("{},{},{},\"{}\"\n", user.token(), user.name, user.name, user.groups.join(",")))
        .collect();
    for (name, text) in [
        ("service-account.key", key.serialize_pem()),
        ("service-account.pub", key.public_key_pem()),
        ("tokens.csv", tokens),
    ] {
        std::fs::write(folder.join(name), text).expect("writing credentials");
    }
}

//! Starts the real binary, `bayplan run`, against a control plane.

use crate::support::{
    ControlPlane, Daemon, binaries::kubernetes, control_plane::free_port, daemon::Folder, wait::became_true,
};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The account in whose name policies write, unless a test names another one: it may do everything.
pub(crate) const WRITER: &str = "kube-system/policy-writer";

/// How a scheduler differs from the usual one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// The name of the scheduler and of its lease.
    pub name: String,
    /// The kubeconfig; by default the admin's.
    pub kubeconfig: Option<PathBuf>,
    /// The namespace of its policies and of its lease.
    pub namespace: Option<String>,
    /// Whether it uses leader election.
    pub elects: bool,
    /// A configuration file, instead of one made from the fields above.
    pub config: Option<PathBuf>,
    /// Whether metrics and configuration need authorization.
    pub guarded: bool,
    /// Further flags.
    pub flags: Vec<String>,
    /// Environment variables.
    pub variables: Vec<(String, String)>,
}

impl Setup {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub(crate) fn policies_from(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    pub(crate) fn elects(mut self) -> Self {
        self.elects = true;
        self
    }

    pub(crate) fn kubeconfig(mut self, path: PathBuf) -> Self {
        self.kubeconfig = Some(path);
        self
    }

    pub(crate) fn config(mut self, path: PathBuf) -> Self {
        self.config = Some(path);
        self
    }

    pub(crate) fn guarded(mut self) -> Self {
        self.guarded = true;
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }
}

/// A running scheduler; killed when dropped.
#[derive(Debug)]
pub(crate) struct SchedulerProcess {
    pub daemon: Daemon,
    /// Its configuration and its log.
    pub folder: Folder,
    port: u16,
}

impl SchedulerProcess {
    /// Starts it and does not wait.
    pub(crate) fn spawn(plane: &ControlPlane, setup: &Setup) -> Self {
        let folder = Folder::new("bayplan");
        let config = folder.join("config.yaml");
        let namespace = setup.namespace.as_deref().unwrap_or("default");
        let text = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
             leaderElection:\n  leaderElect: {}\n  resourceName: {}\n  resourceNamespace: {namespace}\n\
             profiles:\n- schedulerName: {}\n",
            setup.elects, setup.name, setup.name
        );
        std::fs::write(&config, text).expect("writing a configuration");
        let port = free_port();
        // Another build, for measurements.
        let program = std::env::var_os("BAYPLAN_BINARY").unwrap_or(env!("CARGO_BIN_EXE_bayplan").into());
        let mut command = Command::new(program);
        command
            .envs(setup.variables.iter().cloned())
            .arg("run")
            .arg(format!("--config={}", setup.config.as_ref().unwrap_or(&config).display()))
            .arg(format!("--kubeconfig={}", setup.kubeconfig.clone().unwrap_or(plane.kubeconfig()).display()))
            .args(["--bind-address=127.0.0.1", "-v=2"])
            .args(
                (!setup.guarded).then_some(
                    "--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics,/configz",
                ),
            )
            .arg(format!("--secure-port={port}"))
            .arg(format!("--kubernetes={}", kubernetes()))
            .arg(format!("--policy-namespaces={}", setup.namespace.as_deref().unwrap_or_default()))
            .arg(format!("--policy-service-account={WRITER}"))
            .args(&setup.flags);
        let daemon = Daemon::spawn("bayplan", command, &folder.join("log"));
        Self { daemon, folder, port }
    }

    /// Starts it and waits until it is ready.
    #[track_caller]
    pub(crate) fn start(plane: &ControlPlane, setup: &Setup) -> Self {
        let mut ours = Self::spawn(plane, setup);
        let ready = became_true(Duration::from_secs(60), || {
            !ours.daemon.is_running() || plane.get_from(&ours.url(), "/readyz").is_some_and(|it| it == "ok")
        });
        let running = ours.daemon.is_running();
        assert!(ready && running, "the scheduler is not ready:\n{}", ours.daemon.log_tail(40));
        ours
    }

    /// The URL of its secure port.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Its log so far.
    pub(crate) fn said(&self) -> String {
        self.daemon.log()
    }
}

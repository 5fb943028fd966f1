//! The real kube-scheduler against a control plane, for comparing decisions, texts and costs with
//! Bayplan's.

use std::process::Command;
use std::time::Duration;

use super::control_plane::{ControlPlane, free_port};
use super::daemon::{Daemon, Folder};
use super::wait::became_true;

/// A running kube-scheduler; killed when dropped.
#[derive(Debug)]
pub(crate) struct KubeScheduler {
    pub daemon: Daemon,
    pub folder: Folder,
    port: u16,
}

impl ControlPlane {
    /// A KubeSchedulerConfiguration without leader election for the user `system:kube-scheduler`; `config` is its end.
    pub(crate) fn kube_scheduler_configuration(&self, config: &str) -> String {
        let kubeconfig = self.kubeconfig_of_user("system:kube-scheduler");
        format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\n\
             kind: KubeSchedulerConfiguration\n\
             clientConnection:\n  kubeconfig: {:?}\n  qps: 5000\n  burst: 5000\n\
             leaderElection:\n  leaderElect: false\n{config}\n",
            kubeconfig.display().to_string(),
        )
    }

    /// Starts kube-scheduler and waits until it has read the cluster. `config` is the end of its
    /// KubeSchedulerConfiguration, from `profiles:` on, after client connection and leader election
    /// (off). On a shared control plane the scheduler name must be unique. It has only the rights
    /// of the user `system:kube-scheduler`.
    ///
    /// # Panics
    ///
    /// If there is no kube-scheduler, or it does not become ready.
    #[track_caller]
    pub(crate) fn start_kube_scheduler(&self, config: &str) -> KubeScheduler {
        self.start_kube_scheduler_with(config, &[])
    }

    /// Starts kube-scheduler with more flags.
    ///
    /// # Panics
    ///
    /// As `start_kube_scheduler`.
    #[track_caller]
    pub(crate) fn start_kube_scheduler_with(&self, config: &str, flags: &[&str]) -> KubeScheduler {
        let program = self.binaries().kube_scheduler();
        let folder = Folder::new("kube-scheduler");
        let config_file = folder.join("config.yaml");
        let text = self.kube_scheduler_configuration(config);
        std::fs::write(&config_file, text).expect("writing a configuration");
        let port = free_port();
        let mut command = Command::new(program);
        command
            .arg(format!("--config={}", config_file.display()))
            .args([
                "--bind-address=127.0.0.1",
                "--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics",
            ])
            .arg(format!("--secure-port={port}"))
            .arg(format!("--cert-dir={}", folder.join("certs").display()))
            .args(flags);
        let daemon = Daemon::spawn("kube-scheduler", command, &folder.join("log"));
        let mut scheduler = KubeScheduler { daemon, folder, port };
        let ready = became_true(Duration::from_secs(60), || {
            !scheduler.daemon.is_running()
                || self.get_from(&scheduler.url(), "/readyz").is_some_and(|answer| answer == "ok")
        });
        let running = scheduler.daemon.is_running();
        assert!(ready && running, "kube-scheduler is not ready:\n{}", scheduler.daemon.log_tail(30));
        scheduler
    }
}

impl KubeScheduler {
    /// The URL of its own server, for `ControlPlane::get_from`.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }
}

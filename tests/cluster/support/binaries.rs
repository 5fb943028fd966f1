//! The programs of the control plane. `tests/control-plane/build.sh` finds or builds them; this
//! runs it once per test process. On a machine that cannot have them every test of this binary
//! fails, so that no test shows as passed that did not run; `make test-cluster` does not start the
//! binary there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The programs of a control plane.
#[derive(Debug, Clone)]
pub(crate) struct Binaries {
    folder: PathBuf,
}

/// The version of Kubernetes whose programs the tests run with: `KUBERNETES`, as `build.sh` reads it.
pub(crate) fn kubernetes() -> String {
    std::env::var("KUBERNETES").unwrap_or_else(|_| "1.37".to_owned())
}

/// A text of 1.37 as the version says it that the tests run with.
pub(crate) fn as_said(text: &str) -> String {
    match kubernetes().as_str() {
        "1.36" => text.replace(". preemption: ", ". no new claims to deallocate, preemption: "),
        _ => text.to_owned(),
    }
}

/// The exit status of `build.sh` on a machine that cannot have the programs.
const NOT_AVAILABLE: i32 = 3;

impl Binaries {
    /// The programs, built first if this machine has not built them yet (minutes; `build.sh` shows
    /// its progress on standard error).
    ///
    /// # Panics
    ///
    /// If this machine cannot have them, and if the build fails.
    #[track_caller]
    pub(crate) fn find() -> &'static Self {
        static FOUND: OnceLock<Option<Binaries>> = OnceLock::new();
        FOUND.get_or_init(Self::run_build_script).as_ref().expect(
            "this test needs etcd and kube-apiserver: put Go 1.26 on the PATH or set KUBEBUILDER_ASSETS; \
             `tests/control-plane/build.sh` says more",
        )
    }

    fn run_build_script() -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/control-plane/build.sh");
        // `libtest` does not capture what a child writes to inherited standard error, so progress
        // is visible.
        let output = Command::new(&script)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .unwrap_or_else(|e| panic!("cannot run {}: {e}", script.display()));
        match output.status.code() {
            Some(0) => {
                let folder = String::from_utf8(output.stdout).expect("a folder name in UTF-8");
                Some(Self { folder: PathBuf::from(folder.trim_end_matches('\n')) })
            }
            Some(NOT_AVAILABLE) => None,
            _ => panic!("{} failed ({}), see its messages above", script.display(), output.status),
        }
    }

    pub(crate) fn etcd(&self) -> PathBuf {
        self.folder.join("etcd")
    }

    pub(crate) fn kube_apiserver(&self) -> PathBuf {
        self.folder.join("kube-apiserver")
    }

    /// # Panics
    ///
    /// If `KUBEBUILDER_ASSETS` has none, as after `setup-envtest`. `make test-cluster` then leaves
    /// out the tests with `kube_scheduler` in their names.
    #[track_caller]
    pub(crate) fn kube_scheduler(&self) -> PathBuf {
        let path = self.folder.join("kube-scheduler");
        assert!(path.exists(), "this test needs a program `kube-scheduler` in `{}`", self.folder.display());
        path
    }

    /// The one beside the servers, else the machine's own.
    pub(crate) fn kubectl(&self) -> PathBuf {
        let beside = self.folder.join("kubectl");
        if beside.exists() { beside } else { PathBuf::from("kubectl") }
    }
}

//! Where the servers come from, and what is said when they are not to be had: a test that did not run must be
//! seen. Building and caching is `tests/control-plane/build.sh`; this calls it once per test process.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The programs of a control plane.
#[derive(Debug, Clone)]
pub struct Binaries {
    folder: PathBuf,
}

/// The status of `build.sh` for "not to be had on this machine".
const NOT_TO_BE_HAD: i32 = 3;

impl Binaries {
    /// The programs, built first when this machine has not yet built them (minutes; `build.sh` shows progress on
    /// standard error). `None` when they are not to be had; then the running test is reported as not run.
    ///
    /// # Panics
    ///
    /// When they are not to be had and `CI` is set, and when a build fails.
    pub fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Binaries>> = OnceLock::new();
        let found = FOUND.get_or_init(Self::ask_build_script).as_ref();
        if found.is_none() {
            report_not_run("no etcd and kube-apiserver");
        }
        found
    }

    fn ask_build_script() -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/control-plane/build.sh");
        // Standard error is inherited: `libtest` does not catch what a child writes, so progress is seen.
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
            Some(NOT_TO_BE_HAD) => None,
            _ => panic!("{} failed ({}), see its messages above", script.display(), output.status),
        }
    }

    pub fn etcd(&self) -> PathBuf {
        self.folder.join("etcd")
    }

    pub fn kube_apiserver(&self) -> PathBuf {
        self.folder.join("kube-apiserver")
    }

    /// `None` where `KUBEBUILDER_ASSETS` has none, as `setup-envtest` makes it; then the running test is reported
    /// as not run.
    ///
    /// # Panics
    ///
    /// When there is none and `CI` is set.
    pub fn kube_scheduler(&self) -> Option<PathBuf> {
        let path = self.folder.join("kube-scheduler");
        if path.exists() {
            return Some(path);
        }
        report_not_run(&format!("no `kube-scheduler` in `{}`", self.folder.display()));
        None
    }

    /// The one beside the servers, else the machine's own.
    pub fn kubectl(&self) -> PathBuf {
        let beside = self.folder.join("kubectl");
        if beside.exists() { beside } else { PathBuf::from("kubectl") }
    }
}

/// Says on standard error that the running test (by the name `libtest` gives its thread) did not run, and with
/// the first one how to get it to run. Written past `libtest`, which would show nothing of a test that passes.
///
/// # Panics
///
/// When `CI` is set to anything but `false` or `0`: there all tests run.
pub fn report_not_run(reason: &str) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let in_ci = std::env::var("CI").is_ok_and(|ci| !matches!(ci.as_str(), "" | "0" | "false"));
    assert!(!in_ci, "`{test}` must run where CI is set: {reason}");

    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let mut report = format!("NOT RUN ({count}): {test}: {reason}\n");
    if count == 1 {
        let line = "=".repeat(100);
        report = format!(
            "\n{line}\nTests against a real API server are NOT RUN, though `ok` stands beside them. To run them, put Go on \
             the\nPATH (what they need is then built, once) or set KUBEBUILDER_ASSETS; \
             `tests/control-plane/build.sh` says\nmore. With CI=true they fail instead.\n{line}\n{report}"
        );
    }
    // Nothing is left to do when standard error is closed.
    let _ = std::io::stderr().lock().write_all(report.as_bytes());
}

//! Servers as child processes that never outlive the test process, however it ends.
//!
//! A `Daemon` is killed when dropped. That is not enough: statics are not dropped, and a test
//! process may be killed. So a watchdog, a small shell, reads a pipe from the test process. When
//! the pipe ends, it kills the remaining process groups and removes the folders.
//! (`PR_SET_PDEATHSIG` is no alternative: it fires when the *thread* that started the child ends,
//! and in `libtest` each test is a thread.)

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use super::wait::became_true;

/// A running server in a process group of its own, with its output in a file.
#[derive(Debug)]
pub(crate) struct Daemon {
    name: String,
    child: Child,
    exit: Option<ExitStatus>,
    log: PathBuf,
}

impl Daemon {
    /// Starts `command` with standard output and error appended to `log`.
    ///
    /// # Panics
    ///
    /// If the program cannot be started.
    #[track_caller]
    pub(crate) fn spawn(name: &str, mut command: Command, log: &Path) -> Self {
        let out = File::options().create(true).append(true).open(log).expect("a log file");
        let err = out.try_clone().expect("a second handle of the log file");
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {name} ({}): {e}", command.get_program().display()));
        tell_watchdog("started", child.id().to_string());
        Self { name: name.to_owned(), child, exit: None, log: log.to_owned() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its exit status; `None` while it runs or is paused.
    pub(crate) fn exit_status(&mut self) -> Option<ExitStatus> {
        if self.exit.is_none() {
            self.exit = self.child.try_wait().expect("asking for a child's status");
            if self.exit.is_some() {
                tell_watchdog("ended", self.pid().to_string());
            }
        }
        self.exit
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.exit_status().is_none()
    }

    /// Waits for its end; `None` if it has not ended within `timeout`.
    pub(crate) fn wait_exit(&mut self, timeout: Duration) -> Option<ExitStatus> {
        became_true(timeout, || !self.is_running());
        self.exit
    }

    /// Pauses it (SIGSTOP): connections stay open without answers.
    pub(crate) fn pause(&mut self) {
        self.signal("STOP");
    }

    /// Resumes it after `pause` (SIGCONT).
    pub(crate) fn resume(&mut self) {
        self.signal("CONT");
    }

    /// Sends SIGTERM and does not wait.
    pub(crate) fn terminate(&mut self) {
        self.signal("TERM");
    }

    /// Kills its whole process group (SIGKILL, also if paused) and waits for its end.
    pub(crate) fn kill(&mut self) -> ExitStatus {
        self.signal("KILL");
        self.wait_exit(Duration::from_secs(20)).unwrap_or_else(|| panic!("{} survives SIGKILL", self.name))
    }

    /// Sends a signal, named without SIG, to the whole group; does nothing if it has ended.
    pub(crate) fn signal(&mut self, signal: &str) {
        if !self.is_running() {
            return;
        }
        // The shell's builtin `kill`, because not every machine has the program. The child's id is
        // the group's.
        let script = r#"kill -s "$1" -- "-$2""#;
        let sent = Command::new("sh")
            .args(["-c", script, "sh", signal, &self.pid().to_string()])
            .output()
            .expect("a shell");
        let message = String::from_utf8_lossy(&sent.stderr);
        assert!(
            sent.status.success() || !self.is_running(),
            "cannot send SIG{signal} to {}: {message}",
            self.name
        );
    }

    /// Its output so far.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).expect("the log file")).into_owned()
    }

    /// The last lines of its output, for a message.
    pub(crate) fn log_tail(&self, lines: usize) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().rev().take(lines).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Present and peak resident memory in KiB; Linux only, `None` if it has ended.
    pub(crate) fn memory_kib(&self) -> Option<(u64, u64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let field = |name: &str| {
            status.lines().find_map(|l| l.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
        };
        Some((field("VmRSS:")?, field("VmHWM:")?))
    }

    /// User and system CPU seconds so far; Linux only, `None` if it has ended.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).ok()?;
        // The second field is the program's name in parentheses and may have spaces. utime and
        // stime are fields 14 and 15 of proc_pid_stat(5), in ticks of 1/100 s on all machines with
        // Linux.
        let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split(' ').collect();
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(ticks as f64 / 100.0)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Not `kill`, because a panic here would hide the test's own.
        self.signal("KILL");
        self.wait_exit(Duration::from_secs(20));
    }
}

/// A folder of this test process, removed when dropped or at the latest when the process ends. With
/// `BAYPLAN_KEEP` it stays, and its path is printed.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(purpose: &str) -> Self {
        static COUNT: Mutex<u32> = Mutex::new(0);
        let number = {
            let mut count = COUNT.lock().expect("a counter");
            *count += 1;
            *count
        };
        let name = format!("{purpose}-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // From an earlier process with the same id.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for a test");
        if keep() {
            eprintln!("kept: {}", path.display());
        } else {
            tell_watchdog("folder", &path);
        }
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !keep() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn keep() -> bool {
    std::env::var_os("BAYPLAN_KEEP").is_some()
}

/// One line to the watchdog, which starts with the first: `started GROUP`, `ended GROUP` or `folder
/// PATH`.
fn tell_watchdog(what: &str, value: impl AsRef<OsStr>) {
    const SCRIPT: &str = r#"
        groups= folders=
        while read -r what value; do
            case $what in
                started) groups="$groups $value" ;;
                ended)
                    left=
                    for group in $groups; do [ "$group" = "$value" ] || left="$left $group"; done
                    groups=$left ;;
                folder) folders="$folders$value
" ;;
            esac
        done
        for group in $groups; do kill -s KILL -- "-$group"; done
        set -f
        IFS='
'
        # The second time removes what a server wrote while it was killed.
        for folder in $folders; do rm -rf -- "$folder" || { sleep 1; rm -rf -- "$folder"; }; done
    "#;
    static WATCHDOG: OnceLock<Mutex<Child>> = OnceLock::new();
    let watchdog = WATCHDOG.get_or_init(|| {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Outside the terminal's process group, or Ctrl-C would end the watchdog before its
            // work.
            .process_group(0)
            .spawn();
        Mutex::new(shell.expect("a shell"))
    });
    let mut line = what.as_bytes().to_vec();
    line.push(b' ');
    line.extend_from_slice(value.as_ref().as_encoded_bytes());
    line.push(b'\n');
    // Without a watchdog the tests still run, but may leave servers behind.
    if let Ok(mut shell) = watchdog.lock()
        && let Some(pipe) = &mut shell.stdin
    {
        let _ = pipe.write_all(&line);
    }
}

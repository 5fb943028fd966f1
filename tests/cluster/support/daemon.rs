//! Servers as child processes that never outlive the test process, however it ends.
//!
//! A `Daemon` is killed when dropped. That is not enough: statics are not dropped, and a test process may be
//! killed itself. So one watchdog, a small shell, reads a pipe from us; when the pipe ends, because we ended, it
//! kills what is left of our process groups and removes our folders. (`PR_SET_PDEATHSIG` would do neither: it
//! fires when the *thread* that started the child ends, and in `libtest` each test is a thread.)

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use super::wait::became_true;

/// A running server: a process group of its own, its output in a file.
#[derive(Debug)]
pub struct Daemon {
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
    /// When the program cannot be started.
    #[track_caller]
    pub fn spawn(name: &str, mut command: Command, log: &Path) -> Self {
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

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended; `None` while it runs (also while it is paused).
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        if self.exit.is_none() {
            self.exit = self.child.try_wait().expect("asking for a child's status");
            if self.exit.is_some() {
                tell_watchdog("ended", self.pid().to_string());
            }
        }
        self.exit
    }

    pub fn is_running(&mut self) -> bool {
        self.exit_status().is_none()
    }

    /// How it ended, `None` when it has not within `timeout`.
    pub fn wait_exit(&mut self, timeout: Duration) -> Option<ExitStatus> {
        became_true(timeout, || !self.is_running());
        self.exit
    }

    /// Stops it where it stands (SIGSTOP): connections stay open and nothing answers.
    pub fn pause(&mut self) {
        self.signal("STOP");
    }

    /// Lets it go on after `pause` (SIGCONT).
    pub fn resume(&mut self) {
        self.signal("CONT");
    }

    /// Asks it to end (SIGTERM) and does not wait.
    pub fn terminate(&mut self) {
        self.signal("TERM");
    }

    /// Kills its whole process group (SIGKILL, also when paused) and waits for its end.
    pub fn kill(&mut self) -> ExitStatus {
        self.signal("KILL");
        self.wait_exit(Duration::from_secs(20)).unwrap_or_else(|| panic!("{} survives SIGKILL", self.name))
    }

    /// Sends a signal, by its name without SIG, to the whole group; nothing when it has ended.
    pub fn signal(&mut self, signal: &str) {
        if !self.is_running() {
            return;
        }
        // The shell's own `kill`: not every machine has the program. The group's id is the child's.
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

    /// All it has written so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).expect("the log file")).into_owned()
    }

    /// The last lines of what it has written, for a message.
    pub fn log_tail(&self, lines: usize) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().rev().take(lines).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Resident memory now and at its peak, in KiB; Linux only, `None` when it has ended.
    pub fn memory_kib(&self) -> Option<(u64, u64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let field = |name: &str| {
            status.lines().find_map(|l| l.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
        };
        Some((field("VmRSS:")?, field("VmHWM:")?))
    }

    /// CPU seconds used so far, user and system together; Linux only, `None` when it has ended.
    pub fn cpu_seconds(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).ok()?;
        // The second field is the program's name in parentheses and may hold spaces; utime and stime are fields
        // 14 and 15 of proc_pid_stat(5), in ticks that Linux shows to programs as 1/100 s on all machines.
        let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split(' ').collect();
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(ticks as f64 / 100.0)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Not `kill`: a panic here would hide the test's own.
        self.signal("KILL");
        self.wait_exit(Duration::from_secs(20));
    }
}

/// A folder of this test process that goes when dropped, or at the latest with the process. It stays when
/// `BAYPLAN_KEEP` is set, and its name is printed.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(purpose: &str) -> Self {
        static COUNT: Mutex<u32> = Mutex::new(0);
        let number = {
            let mut count = COUNT.lock().expect("a counter");
            *count += 1;
            *count
        };
        let name = format!("{purpose}-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Left by a process of the same id, in a life before.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for a test");
        if keep() {
            eprintln!("kept: {}", path.display());
        } else {
            tell_watchdog("folder", &path);
        }
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
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

/// One line to the watchdog, which starts with the first: `started GROUP`, `ended GROUP` or `folder PATH`.
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
        # The second time for what a server wrote while it died.
        for folder in $folders; do rm -rf -- "$folder" || { sleep 1; rm -rf -- "$folder"; }; done
    "#;
    static WATCHDOG: OnceLock<Mutex<Child>> = OnceLock::new();
    let watchdog = WATCHDOG.get_or_init(|| {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of the terminal's group, or Ctrl-C would end the watchdog before its work.
            .process_group(0)
            .spawn();
        Mutex::new(shell.expect("a shell"))
    });
    let mut line = what.as_bytes().to_vec();
    line.push(b' ');
    line.extend_from_slice(value.as_ref().as_encoded_bytes());
    line.push(b'\n');
    // Without a watchdog the tests still run, they only leave more behind.
    if let Ok(mut shell) = watchdog.lock()
        && let Some(pipe) = &mut shell.stdin
    {
        let _ = pipe.write_all(&line);
    }
}

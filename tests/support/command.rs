//! The real binary, as a user runs it, and folders for what it reads.

use super::repository;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The result of a command.
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `bayplan` in the repository.
pub(crate) fn bayplan(arguments: &[&str]) -> Ended {
    bayplan_in(&repository(""), arguments)
}

/// Runs `bayplan` in a folder, with an empty standard input.
pub(crate) fn bayplan_in(folder: &Path, arguments: &[&str]) -> Ended {
    run(folder, arguments, "")
}

/// Runs `bayplan` in the repository, with a text on its standard input.
pub(crate) fn bayplan_reads(arguments: &[&str], stdin: &str) -> Ended {
    run(&repository(""), arguments, stdin)
}

/// Runs `bayplan` without a cluster other than the given one. It never panics.
fn run(folder: &Path, arguments: &[&str], stdin: &str) -> Ended {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env_remove("KUBECONFIG")
        .env("HOME", "/nowhere")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let text = stdin.to_owned();
    // Commands that do not read it close it.
    let writer = std::thread::spawn(move || drop(pipe.write_all(text.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let ended = Ended {
        status: output.status.code().expect("no signal"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!ended.err.contains("panicked"), "{arguments:?}: {}", ended.err);
    ended
}

/// A folder that is deleted with this value.
pub(crate) struct Folder(TempDir);

impl std::ops::Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> Folder {
    let folder = TempDir::with_prefix("bayplan-").unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    Folder(folder)
}

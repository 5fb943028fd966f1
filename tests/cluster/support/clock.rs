//! [`WallClock`]: the wall clock of a process, to be stepped by a test while the process runs.

use super::daemon::Folder;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

/// The wall clock of a process.
pub(crate) struct WallClock {
    folder: Folder,
    ahead: File,
}

impl WallClock {
    /// That of the machine.
    pub(crate) fn new() -> Self {
        let folder = Folder::new("clock");
        let library = folder.join("clock.so");
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/support/clock.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([library.as_os_str(), source.as_os_str()])
            .arg("-ldl")
            .output()
            .expect("a C compiler");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        std::fs::write(folder.join("ahead"), 0i64.to_ne_bytes()).expect("writing the clock");
        let ahead = File::options().write(true).open(folder.join("ahead")).expect("the clock");
        Self { folder, ahead }
    }

    /// The variables that give a process this clock.
    pub(crate) fn variables(&self) -> [(String, String); 2] {
        let path = |name: &str| self.folder.join(name).display().to_string();
        [("LD_PRELOAD".into(), path("clock.so")), ("BAYPLAN_CLOCK".into(), path("ahead"))]
    }

    /// Steps it, by seconds ahead of that of the machine.
    pub(crate) fn step(&self, seconds: i64) {
        self.ahead.write_all_at(&seconds.to_ne_bytes(), 0).expect("writing the clock");
    }
}

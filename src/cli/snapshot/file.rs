//! How a snapshot is written: to stdout, or to a file that is moved to its place once it is whole.

use super::collect::{Content, size};
use crate::cli::Output;
use crate::cli::output::count;
use crate::cli::progress::Progress;
use crate::cli::setup::quoted;
use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where a snapshot goes.
pub(super) enum Target {
    /// Stdout.
    Stdout,
    /// A file of its own, which may exist.
    File(PathBuf),
    /// A device or a pipe, which cannot be replaced.
    Stream(PathBuf),
}

/// What was written.
pub(super) struct Written {
    /// Where to.
    path: Option<PathBuf>,
    bytes: usize,
}

impl Target {
    /// The target of `-o`; refuses what cannot be written, before any work.
    pub(super) fn of(path: Option<&Path>, out: &Output) -> anyhow::Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            if out.width.is_some() {
                anyhow::bail!("a snapshot is for programs: name a file with `-o FILE`");
            }
            return Ok(Self::Stdout);
        };
        match std::fs::metadata(path) {
            Ok(known) if known.is_dir() => anyhow::bail!("{} is a folder: name a file in it", path.display()),
            Ok(known) if !known.is_file() => Ok(Self::Stream(path.to_owned())),
            _ => Ok(Self::File(path.to_owned())),
        }
    }

    /// Writes it; an error leaves what was there before.
    pub(super) fn write(
        self,
        content: &Content,
        progress: &Progress,
        out: &mut Output,
    ) -> anyhow::Result<Written> {
        let Content { saved, objects, .. } = content;
        match self {
            Self::Stdout => {
                let mut text = Vec::new();
                saved.write(objects, &mut text)?;
                out.trusted(&text).context("cannot write the output")?;
                Ok(Written { path: None, bytes: text.len() })
            }
            Self::Stream(path) => {
                let cannot = || format!("cannot write {}", path.display());
                let stream = File::options().write(true).open(&path).with_context(cannot)?;
                let bytes = whole(stream, content).with_context(cannot)?;
                Ok(Written { path: Some(path), bytes })
            }
            Self::File(path) => {
                let cannot = || format!("cannot write {}", path.display());
                let part = beside(&path);
                let file = File::create_new(&part).with_context(cannot)?;
                progress.leaves_nothing_of(Some(part.clone()));
                let bytes = whole(file, content).and_then(|bytes| {
                    std::fs::rename(&part, &path)?;
                    Ok(bytes)
                });
                if bytes.is_err() {
                    let _ = std::fs::remove_file(&part);
                }
                progress.leaves_nothing_of(None);
                Ok(Written { bytes: bytes.with_context(cannot)?, path: Some(path) })
            }
        }
    }
}

/// Writes everything and makes sure that it is there; returns how many bytes that is.
fn whole(file: File, content: &Content) -> std::io::Result<usize> {
    let mut counted = Counted { file: BufWriter::new(&file), bytes: 0 };
    content.saved.write(&content.objects, &mut counted)?;
    counted.flush()?;
    // Devices and pipes are not on a disk.
    if file.metadata()?.is_file() {
        file.sync_all()?;
    }
    Ok(counted.bytes)
}

struct Counted<W> {
    file: W,
    bytes: usize,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// A file of the same folder, hidden, with a name that no other process takes.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

/// Says what was written, and what to do with it.
pub(super) fn said(written: &Written, content: &Content, out: &mut Output) -> anyhow::Result<()> {
    let Some(path) = written.path.as_ref().filter(|_| !out.quiet) else { return Ok(()) };
    let policies = content.saved.policies.iter().map(|text| text.serves.len()).sum::<usize>();
    let policies = match policies {
        0 => String::new(),
        1 => " and 1 policy".to_owned(),
        many => format!(" and {} policies", count(many)),
    };
    let objects = match content.objects.len() {
        1 => "1 object".to_owned(),
        many => format!("{} objects", count(many)),
    };
    let (name, bytes, program) = (path.display(), size(written.bytes), out.program);
    let next = quoted(&path.display().to_string());
    writeln!(out.stderr(), "wrote {name}: {objects}{policies}, {bytes}")?;
    writeln!(out.stderr(), "Next: {program} explain --cluster {next}")?;
    Ok(())
}

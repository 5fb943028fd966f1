//! Policies of `--policies`: the `.bay` files and the YAML files with policy documents below a folder, or
//! one file, read again when they change, each with the files that it uses. Called by `source`.

use super::verdict::Texts;
use bayplan_diag::{SourceId, SourceMap};
use bayplan_lang::uses::{self, Wanted};
use bayplan_policy_files::{ENDING, is_policy_key, mentions_documents};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read policies from `{path}`: {why}")]
pub struct UnreadableFiles {
    /// The folder or file.
    path: String,
    /// The system's message.
    why: std::io::Error,
}

/// The files as last read.
#[derive(Debug)]
pub(super) struct PolicyFiles {
    root: PathBuf,
    known: Vec<String>,
}

/// The files of one reading.
pub(crate) struct Reading {
    /// The texts of each file, by path, with those of the files that it uses. The path is also the key.
    pub(crate) present: Vec<(String, Texts)>,
    /// The paths of files that no longer exist.
    pub(crate) gone: Vec<String>,
}

impl PolicyFiles {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, known: Vec::new() }
    }

    /// Reads all files.
    pub(crate) fn read(&mut self) -> Result<Reading, UnreadableFiles> {
        let files = texts_below(&self.root)
            .map_err(|why| UnreadableFiles { path: self.root.display().to_string(), why })?;
        let gone = self.known.iter().filter(|path| !files.contains_key(*path)).cloned().collect();
        self.known = files.keys().cloned().collect();
        let mut sources = SourceMap::new();
        let add = |(path, text): (String, String)| sources.add(path, text);
        let ids: Vec<SourceId> = files.into_iter().map(add).collect();
        read_used(&mut sources);
        let with_used = |id: &SourceId| {
            let source = sources.get(*id)?;
            let own = std::iter::once(source).chain(uses::reached(&sources, source));
            let own = own.map(|source| (source.name().to_owned(), source.text().to_owned()));
            Some((source.name().to_owned(), own.collect()))
        };
        Ok(Reading { present: ids.iter().filter_map(with_used).collect(), gone })
    }
}

/// Reads the files that are used and are not among those that were found. What cannot be read is missing, which the
/// compiler says.
fn read_used(sources: &mut SourceMap) {
    let mut at = 0;
    while let Some(all) = sources.get(SourceId(at)).map(uses::wanted) {
        for wanted in all {
            let Wanted::File(path) = &wanted else { continue };
            if uses::found(sources, &wanted).is_none()
                && let Ok(text) = std::fs::read_to_string(path)
            {
                sources.add(path.as_str(), text);
            }
        }
        at += 1;
    }
}

/// The texts of the policy files in a folder and its subfolders, by path; or of one file.
fn texts_below(root: &Path) -> std::io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(at) = open.pop() {
        if at.is_dir() {
            for entry in std::fs::read_dir(&at)? {
                let entry = entry?;
                let (name, path) = (entry.file_name(), entry.path());
                let name = name.to_string_lossy();
                // Kubernetes mounts a ConfigMap through hidden folders, which have every file
                // again.
                if !name.starts_with('.') && (path.is_dir() || is_policy_key(&name)) {
                    open.push(path);
                }
            }
        } else {
            let text = std::fs::read_to_string(&at)?;
            let path = at.display().to_string();
            // Other YAML files of a folder, such as the tests of policies, are not policies.
            if at == root || path.ends_with(ENDING) || mentions_documents(text.as_bytes()) {
                files.insert(path, text);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_with_those_that_they_use() {
        let root = std::env::temp_dir().join(format!("bayplan-used-files-{}", std::process::id()));
        std::fs::create_dir_all(root.join("rules")).unwrap();
        for (name, text) in [
            ("rules/a.bay", "use \"b.bay\""),
            ("rules/b.bay", "use \"../c.bay\"\ndef x(): int = y()"),
            ("c.bay", "def y(): int = 3"),
        ] {
            std::fs::write(root.join(name), text).unwrap();
        }
        let mut files = PolicyFiles::new(root.join("rules"));
        let texts = |files: &mut PolicyFiles| -> Vec<usize> {
            files.read().unwrap().present.iter().map(|(_, texts)| texts.len()).collect()
        };
        assert_eq!(texts(&mut files), [3, 2], "the file outside the folder is no object of its own");
        let before = files.read().unwrap().present;
        std::fs::write(root.join("c.bay"), "def y(): int = 4").unwrap();
        assert_ne!(before[0].1, files.read().unwrap().present[0].1, "its users change with it");
        std::fs::remove_file(root.join("c.bay")).unwrap();
        assert_eq!(texts(&mut files), [2, 1]);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn files_are_found_in_subfolders_and_missed_when_they_are_gone() {
        let root = std::env::temp_dir().join(format!("bayplan-files-{}", std::process::id()));
        std::fs::create_dir_all(root.join("team")).unwrap();
        std::fs::create_dir_all(root.join("..data")).unwrap();
        for (name, text) in [
            ("a.bay", "one"),
            ("team/b.bay", "two"),
            ("..data/a.bay", "one"),
            ("y", "none"),
            ("c.yaml", "kind: SchedulingPolicy"),
            ("d.yaml", "kind: Pod"),
        ] {
            std::fs::write(root.join(name), text).unwrap();
        }
        let mut files = PolicyFiles::new(root.clone());
        let reading = files.read().unwrap();
        let texts: Vec<&str> =
            reading.present.iter().flat_map(|(_, texts)| texts.values().map(String::as_str)).collect();
        assert_eq!((texts, reading.gone.len()), (vec!["one", "kind: SchedulingPolicy", "two"], 0));
        std::fs::remove_file(root.join("a.bay")).unwrap();
        let reading = files.read().unwrap();
        assert_eq!(reading.gone, [root.join("a.bay").display().to_string()]);
        assert_eq!(reading.present.len(), 2);
        std::fs::remove_dir_all(&root).unwrap();
        let error = files.read().err().unwrap().to_string();
        assert!(error.starts_with("cannot read policies from `"), "{error}");
    }
}

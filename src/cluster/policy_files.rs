//! Policies of `--policies`: the `.bay` files and the YAML files with policy documents below a folder, or
//! one file, read again when they change. Called by `policy_source`.

use super::policy_verdict::Texts;
use crate::policy_files::{ENDING, is_policy_key, mentions_documents};
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
pub(super) struct Reading {
    /// The texts of each file, by path. The path is also the key.
    pub(super) present: Vec<(String, Texts)>,
    /// The paths of files that no longer exist.
    pub(super) gone: Vec<String>,
}

impl PolicyFiles {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, known: Vec::new() }
    }

    /// Reads all files.
    pub(super) fn read(&mut self) -> Result<Reading, UnreadableFiles> {
        let files = texts_below(&self.root)
            .map_err(|why| UnreadableFiles { path: self.root.display().to_string(), why })?;
        let gone = self.known.iter().filter(|path| !files.contains_key(*path)).cloned().collect();
        self.known = files.keys().cloned().collect();
        let present = files.into_iter().map(|(path, text)| (path.clone(), [(path, text)].into()));
        Ok(Reading { present: present.collect(), gone })
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

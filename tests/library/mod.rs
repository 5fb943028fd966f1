//! The policies that come with Bayplan: what holds for every file in `policies`, their documents in `policies-cel`, the
//! rows of the README, and the GPU scores beside a slow definition.

mod documents;
mod files;
mod gpu_scores;
mod readme;

use crate::support::repository;
use bayplan::diag::{Diagnostic, Source, SourceMap};
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::convert::convert_given;
use bayplan::lang::schemas::Schemas;
use bayplan::lang::typed::Policy;
use bayplan::lang::{self, Given, syntax};
use bayplan::yaml::values;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// A policy of the library. Each is the only one of its file, and has the name of the file.
struct Shipped {
    /// The folder in `policies`, such as `gpu`.
    origin: String,
    name: String,
    path: PathBuf,
    text: String,
}

impl Shipped {
    /// The same policy as a document, if it has one.
    fn document(&self) -> PathBuf {
        repository("policies-cel").join(&self.origin).join(format!("{}.yaml", self.name))
    }

    /// Its syntax tree and its checked form, for a cluster of a size.
    fn checked(&self, size: Size) -> (syntax::ast::File, Policy) {
        let mut sources = SourceMap::new();
        let id = sources.add(self.path.display().to_string(), self.text.as_str());
        let source = sources.get(id).unwrap();
        let (mut policies, said) = compiled(source, size);
        assert_eq!(policies.len(), 1, "{}: {said:?}", self.name);
        (syntax::parse(source).0, policies.remove(0))
    }

    /// Its document, or why it has none.
    fn converted(&self) -> Result<String, String> {
        let mut sources = SourceMap::new();
        let id = sources.add(self.path.display().to_string(), self.text.as_str());
        let source = sources.get(id).unwrap();
        let document = convert_given(source, given(Size::default()))
            .map(|converted| converted.text)
            .map_err(|without| without.iter().map(|of| of.why.clone()).collect::<Vec<_>>().join("; "))?;
        let id = sources.add("document.yaml", document.as_str());
        let (_, said) = compiled(sources.get(id).unwrap(), Size::default());
        match said.iter().find(|said| said.is_error()) {
            Some(said) => Err(said.message.clone()),
            None => Ok(document),
        }
    }
}

/// The policies of a text that may look up the kinds in `policies/schemas`.
fn compiled(source: &Source, size: Size) -> (Vec<Policy>, Vec<Diagnostic>) {
    lang::compile_given(source, given(size))
}

/// What they are compiled for.
fn given(size: Size) -> Given<'static> {
    static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
        let mut schemas = Schemas::default();
        for path in schema_files() {
            for definition in values(&std::fs::read_to_string(path).unwrap(), false).unwrap() {
                schemas.add_definition(&definition).unwrap();
            }
        }
        schemas
    });
    Given { size, schemas: &SCHEMAS, arguments: &|_| Vec::new(), sources: None, exceptions: None }
}

/// The files with the definitions of the custom kinds that policies look up.
fn schema_files() -> Vec<PathBuf> {
    entries(&repository("policies/schemas"))
}

/// All policies of the library, in the order of their folders and names.
fn shipped() -> Vec<Shipped> {
    let mut found = Vec::new();
    for origin in entries(&repository("policies")).into_iter().filter(|path| path.is_dir()) {
        for path in entries(&origin).into_iter().filter(|path| path.extension().is_some_and(|of| of == "bay"))
        {
            found.push(Shipped {
                origin: name_of(&origin),
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                text: std::fs::read_to_string(&path).unwrap(),
                path,
            });
        }
    }
    assert!(found.len() > 20, "{} policies", found.len());
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Runs `bayplan` in a folder: its standard output, and everything that it printed.
fn bayplan(folder: &Path, arguments: &[&str]) -> (String, String) {
    let binary = env!("CARGO_BIN_EXE_bayplan");
    let output = Command::new(binary).args(arguments).current_dir(folder).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let all = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
    (out, all)
}

/// Runs the test files of a folder. Every case passes, and every condition is seen both true and false.
fn tests_pass(folder: &Path) {
    let (report, all) = bayplan(folder, &["test", ".", "-o", "json"]);
    let report: Value = serde_json::from_str(&report).unwrap_or_else(|_| panic!("{all}"));
    let summary = &report["summary"];
    assert!(summary["cases"].as_u64() > Some(0), "{all}");
    assert_eq!((&summary["failed"], &summary["errors"]), (&0.into(), &0.into()), "{report:#}\n{all}");
    assert_eq!(report["coverage"]["uncovered"], Value::Array(Vec::new()));
}

/// Whether goldens are to be written.
fn writes() -> bool {
    std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write")
}

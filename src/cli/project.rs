//! `bayplan.yaml`: settings of `lint`, `test` and of decisions for a project, the same for people and for CI. The file of
//! the present folder counts, or that of the nearest folder above it. Flags are added to what it says.

use super::input::Glob;
use super::output::Lines;
use crate::diag::{Code, Diagnostic, SourceMap, Span, codes, draw};
use crate::model::KubernetesVersion;
use crate::yaml::{Booleans, Field, FieldError, Tree, document};
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The name of the file.
const NAME: &str = "bayplan.yaml";

/// What `--deny` and `--allow` name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Findings {
    /// All warnings.
    Warnings,
    /// All warnings and notes.
    Notes,
    /// The findings of one code.
    Of(&'static Code),
}

impl FromStr for Findings {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "warnings" => Ok(Findings::Warnings),
            "notes" => Ok(Findings::Notes),
            _ => codes::find(word).map(Findings::Of).ok_or_else(|| {
                let near: Vec<String> = codes::near(word).iter().map(|near| format!("`{near}`")).collect();
                let near = if near.is_empty() {
                    String::new()
                } else {
                    format!("; did you mean {}?", near.join(" or "))
                };
                format!("expected `warnings`, `notes`, a code such as `BP0404` or its name{near}")
            }),
        }
    }
}

/// What the file says.
#[derive(Clone, Debug, Default)]
pub(super) struct Project {
    /// Findings that count as errors.
    pub deny: Vec<Findings>,
    /// Findings that are not reported.
    pub allow: Vec<Findings>,
    /// Files and folders that are left out.
    pub exclude: Vec<Glob>,
    /// CustomResourceDefinitions.
    pub schemas: Vec<PathBuf>,
    /// The version of Kubernetes as which decisions are made.
    pub kubernetes: Option<KubernetesVersion>,
    /// The least share of conditions that tests see both true and false, in percent.
    pub min_coverage: Option<u8>,
}

/// What the project file says, if there is one.
pub(super) fn read() -> anyhow::Result<Project> {
    let here = std::env::current_dir().context("cannot find the present folder")?;
    let Some(path) = here.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file()) else {
        return Ok(Project::default());
    };
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let shown = path.strip_prefix(&here).unwrap_or(&path).display().to_string();
    let mut sources = SourceMap::new();
    let id = sources.add(shown, text.as_str());
    let tree = match document(&text, Booleans::Strict) {
        Ok(tree) => tree,
        Err(error) => return Err(drawn(&sources, &[error.diagnostic(id)])),
    };
    // An object of Kubernetes may have the name of the file.
    if tree.get("kind").is_some() {
        return Ok(Project::default());
    }
    let mut errors = Vec::new();
    let project = project(&tree, path.parent().unwrap_or(Path::new("")), &mut errors);
    let said = |error: &FieldError| {
        let span = Span::new(id, error.at.start, error.at.end);
        let said = Diagnostic::new(&codes::BAD_CONFIG, span, error.to_string());
        match &error.help {
            Some(help) => said.with_help(help.clone()),
            None => said,
        }
    };
    let said: Vec<Diagnostic> = errors.iter().map(said).collect();
    if said.is_empty() { Ok(project) } else { Err(drawn(&sources, &said)) }
}

fn drawn(sources: &SourceMap, said: &[Diagnostic]) -> anyhow::Error {
    let drawn = draw::human(sources, said, draw::Look { unicode: true, ..draw::Look::default() });
    Lines(format!("the project file has mistakes\n{}", drawn.as_str().trim_end())).into()
}

fn project(tree: &Tree, folder: &Path, errors: &mut Vec<FieldError>) -> Project {
    let root = Field::root(tree).object(&["lint", "test", "schemas", "kubernetes"], errors);
    let mut project = Project::default();
    if let Some(lint) = root.get("lint") {
        let lint = lint.object(&["deny", "allow", "exclude"], errors);
        project.deny = words(lint.get("deny"), errors);
        project.allow = words(lint.get("allow"), errors);
        project.exclude = words(lint.get("exclude"), errors);
    }
    if let Some(test) = root.get("test") {
        let least = test.object(&["min-coverage"], errors).get("min-coverage");
        project.min_coverage = least.and_then(|least| {
            let percent = least.int(errors)?;
            let in_range = u8::try_from(percent).ok().filter(|percent| *percent <= 100);
            if in_range.is_none() {
                errors.push(least.error(format!("`{percent}` is not a percentage from 0 to 100")));
            }
            in_range
        });
    }
    if let Some(field) = root.get("kubernetes")
        && let Some(word) = field.string(errors)
    {
        match KubernetesVersion::parse(word) {
            Ok(version) => project.kubernetes = Some(version),
            Err(why) => errors.push(field.error(why)),
        }
    }
    let schemas: Vec<PathBuf> = words(root.get("schemas"), errors);
    project.schemas = schemas.into_iter().map(|path| folder.join(path)).collect();
    project
}

/// A list of words of one type.
fn words<T: FromStr<Err: std::fmt::Display>>(
    field: Option<Field<'_>>,
    errors: &mut Vec<FieldError>,
) -> Vec<T> {
    let fields = field.map(|field| field.list(errors)).unwrap_or_default();
    let mut read = Vec::new();
    for field in fields {
        let Some(word) = field.string(errors) else { continue };
        match word.parse() {
            Ok(word) => read.push(word),
            Err(why) => errors.push(field.error(format!("`{word}`: {why}"))),
        }
    }
    read
}

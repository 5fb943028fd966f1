//! Runs the cases of one test file. Whatever keeps a file from running is printed on stderr and
//! becomes a [`RunError`] of the file, so that the other files run and every report counts it.

use super::conditions::Conditions;
use super::{Args, FileOutcome, Outcome, RunError};
use crate::cli::input::Policies;
use crate::cli::output::Output;
use crate::cli::setup::{self, Setup};
use crate::diag::{Diagnostic, Look, SourceMap, Span, draw};
use crate::dry_run::cases::{self, Bench, CaseFile};
use crate::dry_run::{daemon_sets, namespaces};
use crate::lang::analysis::coverage::Coverage;
use crate::lang::policy_set;
use crate::yaml;
use anyhow::Context;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs a file's cases, or the one at a line.
pub(super) fn file(
    args: &Args,
    kinds: &setup::PolicyKinds,
    path: &Path,
    line: Option<usize>,
    conditions: &mut Conditions,
    out: &mut Output,
) -> anyhow::Result<FileOutcome> {
    let name = path.display().to_string();
    let mut outcome =
        FileOutcome { file: name, cases: Vec::new(), sources: SourceMap::new(), errors: Vec::new() };
    let run = Run { args, kinds, path, line, outcome: &mut outcome, conditions, out };
    if let Err(error) = run.file() {
        // Writing itself failed: there is nothing to tell.
        if error.downcast_ref::<std::io::Error>().is_some() {
            return Err(error);
        }
        let message = format!("{error:#}");
        writeln!(out.stderr(), "error: {message}")?;
        outcome.errors.push(RunError { text: message.clone(), message, line: None });
    }
    Ok(outcome)
}

struct Run<'r> {
    args: &'r Args,
    kinds: &'r setup::PolicyKinds,
    path: &'r Path,
    line: Option<usize>,
    outcome: &'r mut FileOutcome,
    conditions: &'r mut Conditions,
    out: &'r mut Output,
}

impl Run<'_> {
    fn file(mut self) -> anyhow::Result<()> {
        let mut read = Policies::default();
        let id = read.add(self.path)?;
        if read.has_errors() {
            return self.refuse(&read);
        }
        let file = match cases::read(&read.sources, id) {
            Ok(file) => file,
            Err(said) => {
                read.diagnostics.extend(said);
                return self.refuse(&read);
            }
        };
        let from = setup::From {
            cluster: file.cluster.iter().map(|name| self.beside(name)).collect(),
            config: file.config.as_deref().map(|name| self.beside(name)),
            policies: file.policies.iter().map(|name| self.beside(name)).collect(),
            kinds: self.kinds.clone(),
            declared: self.args.declared,
            decides_as: self.args.decides_as,
            ..setup::From::default()
        };
        let loaded = setup::load(&from, &setup::Origin::Files, self.out);
        let setup = match loaded.with_context(|| self.path.display().to_string())? {
            Ok(setup) => setup,
            Err(policies) => return self.refuse(&policies),
        };
        let pods = self.pod_files(&file)?;
        self.cases(&file, read, setup, &pods)
    }

    /// Runs the cases of a file that was read.
    fn cases(
        &mut self,
        file: &CaseFile,
        mut read: Policies,
        mut setup: Setup,
        pods: &[(String, Value)],
    ) -> anyhow::Result<()> {
        let pod_file = |name: &str| pods.iter().find(|(known, _)| known == name).map(|(_, pod)| pod.clone());
        let bench = Bench {
            sources: &read.sources,
            cluster: &setup.world,
            profiles: &setup.profiles,
            policies: &setup.policies.set,
            pod_file: &pod_file,
        };
        let mut coverage = Coverage::of(setup.policies.set.iter().map(|compiled| &*compiled.policy));
        let mut wrong = Vec::new();
        let mut warnings: Vec<Diagnostic> = Vec::new();
        for at in self.wanted(file, &read.sources)? {
            let Some(case) = file.cases.get(at) else { continue };
            if let Ok(world) = file.world(case, &bench) {
                let help =
                    "write the labels of the namespace in the test file: `namespaces: {shop: {tier: prod}}`";
                let missing = namespaces::missing(&setup.policies.set, &world, help);
                let fresh = |said: &Diagnostic| !warnings.iter().any(|known| known.span == said.span);
                let help = "give the DaemonSet in the cluster file of the tests";
                let sets = daemon_sets::missing(&setup.policies.set, &world, help);
                let missing: Vec<Diagnostic> = missing.into_iter().chain(sets).filter(fresh).collect();
                warnings.extend(missing);
            }
            let began = Instant::now();
            let ended = match file.run_case(at, &bench, &mut coverage, self.args.explain) {
                Ok(ended) => ended,
                Err(said) => {
                    wrong.push(*said);
                    continue;
                }
            };
            let line = line_of(&read.sources, case.name_span);
            let places =
                ended.mismatches.iter().map(|wrong| policy_set::place(&read.sources, wrong.span)).collect();
            let place = (self.path.display().to_string(), line);
            self.outcome.cases.push(Outcome {
                name: case.name.clone(),
                place,
                ended,
                took: began.elapsed(),
                places,
            });
        }
        self.conditions.add(&setup.policies.sources, &coverage);
        setup.policies.diagnostics = warnings;
        // A note beside a mistake of the test is taken for its cause.
        if wrong.is_empty() {
            self.print(&setup.policies)?;
        }
        self.outcome.sources = setup.policies.sources;
        if !wrong.is_empty() {
            read.diagnostics.extend(wrong);
            self.refuse(&read)?;
        }
        Ok(())
    }

    /// A file that the test file names.
    fn beside(&self, name: &str) -> PathBuf {
        self.path.parent().map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
    }

    /// The objects of the pod files that cases name.
    fn pod_files(&self, file: &CaseFile) -> anyhow::Result<Vec<(String, Value)>> {
        let mut pods = Vec::new();
        for name in file.pod_files() {
            let path = self.beside(name);
            let mut read = Policies::default();
            let id = read.add(&path)?;
            let text = read.sources.get(id).map(|source| source.shared_text()).unwrap_or_default();
            let values = yaml::values(&text, name.ends_with(".json"))
                .with_context(|| format!("cannot read the pod in {}", path.display()))?;
            let pod = values.into_iter().find(|value| !value.is_null());
            let pod = pod.with_context(|| format!("{} has no pod", path.display()))?;
            pods.push((name.to_owned(), pod));
        }
        Ok(pods)
    }

    /// The cases to run: all, or the one that a line belongs to.
    fn wanted(&self, file: &CaseFile, sources: &SourceMap) -> anyhow::Result<Vec<usize>> {
        let Some(line) = self.line else {
            let named = |at: &usize| {
                let name = file.cases.get(*at).map_or("", |case| &*case.name);
                self.args.name.is_empty() || self.args.name.iter().any(|wanted| name.contains(&**wanted))
            };
            return Ok((0..file.cases.len()).filter(named).collect());
        };
        let lines: Vec<(usize, usize)> = file
            .cases
            .iter()
            .map(|case| {
                let (start, end) = sources.places(case.span);
                let last = if end.column == 1 { end.line.saturating_sub(1) } else { end.line };
                (start.line, last.max(start.line))
            })
            .collect();
        let found = lines.iter().position(|(first, last)| (*first..=*last).contains(&line));
        let listed = lines.iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
        let listed: Vec<String> = listed.collect();
        let found = found.with_context(|| {
            let path = self.path.display();
            format!("no case of {path} is at line {line}: its cases are at lines {}", listed.join(", "))
        })?;
        Ok(vec![found])
    }

    fn print(&mut self, of: &Policies) -> anyhow::Result<()> {
        if !of.diagnostics.is_empty() && (!self.out.quiet || of.has_errors()) {
            let drawn = draw::human(&of.sources, &of.diagnostics, self.out.stderr_look(Some(20)));
            self.out.draw_on_stderr(&drawn)?;
        }
        Ok(())
    }

    /// Prints the mistakes that keep the file or a case from running, and keeps them for reports.
    fn refuse(&mut self, of: &Policies) -> anyhow::Result<()> {
        self.print(of)?;
        let own = self.path.display().to_string();
        let elsewhere = |said: &&Diagnostic| {
            said.is_error() && of.sources.file(said.span).is_none_or(|file| file.name() != own)
        };
        if of.diagnostics.iter().any(|said| elsewhere(&said)) {
            writeln!(self.out.stderr(), "error: {own} cannot run for this reason")?;
        }
        for said in of.diagnostics.iter().filter(|said| said.is_error()) {
            let place = policy_set::place(&of.sources, said.span);
            let look = Look { unicode: true, ..Look::default() };
            let text = draw::human(&of.sources, std::slice::from_ref(said), look);
            let is_own = of.sources.file(said.span).is_some_and(|file| file.name() == own);
            self.outcome.errors.push(RunError {
                message: format!("{place}: {}", said.message),
                text: text.as_str().trim_end().to_owned(),
                line: is_own.then(|| line_of(&of.sources, said.span)),
            });
        }
        Ok(())
    }
}

fn line_of(sources: &SourceMap, span: Span) -> usize {
    sources.places(span).0.line
}

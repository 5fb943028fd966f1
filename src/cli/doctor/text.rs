//! The findings as text: first how many there are, then each with its reason and what to type, the severest first.

use super::super::output::{Output, Style};
use crate::cluster::doctor::checks::Outcome;
use crate::cluster::doctor::facts::Facts;
use crate::cluster::doctor::finding::{Finding, Severity};

/// The findings with their checks, the severest first.
pub(super) fn in_order(outcomes: &[Outcome]) -> Vec<(&'static str, &Finding)> {
    let of = |outcome: &'_ Outcome| outcome.check.name;
    let mut all: Vec<(&'static str, &Finding)> = outcomes
        .iter()
        .flat_map(|outcome| outcome.result.iter().flatten().map(move |finding| (of(outcome), finding)))
        .collect();
    all.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.severity));
    all
}

/// How many findings have a severity.
pub(super) fn count(all: &[(&'static str, &Finding)], severity: Severity) -> usize {
    all.iter().filter(|(_, finding)| finding.severity == severity).count()
}

pub(super) fn print(facts: &Facts, outcomes: &[Outcome], out: &mut Output) -> anyhow::Result<()> {
    let all = in_order(outcomes);
    let counted = |severity: Severity| match count(&all, severity) {
        0 => None,
        1 => Some(format!("1 {}", severity.word())),
        many => Some(format!("{many} {}s", severity.word())),
    };
    let counts: Vec<String> =
        [Severity::Error, Severity::Warning, Severity::Note].into_iter().filter_map(counted).collect();
    let found = if counts.is_empty() { "nothing is wrong".to_owned() } else { counts.join(", ") };
    writeln!(out.stdout(), "{} checks: {found}", outcomes.len())?;
    if out.quiet {
        return Ok(());
    }
    for of in &facts.installations {
        let serves = match of.names.is_empty() {
            true => "answers kube-scheduler".to_owned(),
            false => format!("serves {}", of.names.join(", ")),
        };
        let line = format!("{}/{} {serves}", of.workload.namespace, of.workload.name);
        let line = out.paint(Style::Dim, &line);
        writeln!(out.stdout(), "{line}")?;
    }
    for (check, finding) in all {
        let style = match finding.severity {
            Severity::Error => Style::Bad,
            Severity::Warning => Style::Warn,
            Severity::Note => Style::Dim,
        };
        let (word, name) = (out.paint(style, finding.severity.word()), out.paint(Style::Name, check));
        let what = out.part(&finding.what);
        writeln!(out.stdout(), "\n{word} {name}: {what}")?;
        for (head, text) in [("", &finding.why), ("$ ", &finding.command)] {
            if !text.is_empty() {
                let text = out.part(text);
                writeln!(out.stdout(), "  {head}{text}")?;
            }
        }
    }
    let left_out: Vec<&str> =
        outcomes.iter().filter(|of| of.unread().is_some()).map(|of| of.check.name).collect();
    if !left_out.is_empty() {
        writeln!(out.stdout(), "\nleft out, since something cannot be read: {}", left_out.join(", "))?;
    }
    Ok(())
}

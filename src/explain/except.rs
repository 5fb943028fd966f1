//! Writes an exception for one pod into the text of a policy: `except until DATE because TEXT when …`.
//!
//! Called for suggestions and by `explain --fix`; the callers compile the text.

use bayplan_diag::{Form, Source};
use bayplan_framework::Exempted;
use bayplan_lang::syntax::document;
use bayplan_lang::typed::Policy;
use bayplan_model::{Duration, PodInfo, Symbol, Time};

/// How long an exception lasts where no end is given.
const USUAL: Duration = Duration::from_seconds(30 * 86_400);

/// Until when there is an exception, and why.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The last day, as `2027-01-31`; its end is in UTC.
    pub until: String,
    /// The reason.
    pub because: String,
}

impl Terms {
    /// Up to the end of the day in 30 days, since the pod is not placed otherwise.
    pub fn usual(pod: &PodInfo, now: Time) -> Self {
        let until = (now + USUAL).in_calendar().to_rfc3339();
        let until = until.split('T').next().unwrap_or_default().to_owned();
        let because = match maker(pod) {
            Some(Maker { kind, name, .. }) => {
                format!("the pods of {kind} {}/{name} are not placed otherwise", pod.namespace)
            }
            None => format!("{} is not placed otherwise", pod.full_name()),
        };
        Self { until, because }
    }
}

/// An exception for a pod from a rule, or from its whole policy. Pods that a controller made are named by what stays in
/// their names: they change, and those of a Deployment or CronJob with each roll-out or run.
#[derive(Clone, Copy, Debug)]
pub struct Exception<'a> {
    /// What it is from.
    pub from: &'a Exempted,
    /// For whom.
    pub pod: &'a PodInfo,
    /// Until when, and why.
    pub terms: &'a Terms,
}

impl Exception<'_> {
    /// The text of the policy with the exception, and the byte of the old text where it was put. `None` when the
    /// policy is not where it says.
    pub fn written_into(&self, source: &Source, policy: &Policy) -> Option<(String, usize)> {
        match source.form() {
            Form::Language => with_line(source.text(), policy, &self.in_language()),
            Form::Document => document::with_exception(source, &policy.name, &self.in_document()),
        }
    }

    /// The exception in the language of a source, as people read it.
    pub fn text(&self, form: Form) -> String {
        match form {
            Form::Language => self.in_language(),
            Form::Document => format!("exceptions: [{}]", self.in_document()),
        }
    }

    fn in_language(&self) -> String {
        let rule = self.from.rule.as_ref().map_or_else(String::new, |rule| format!("{rule} "));
        let Terms { until, because } = self.terms;
        format!("except {rule}until {until} because {} when {}", literal(because), self.condition())
    }

    /// An item of `exceptions`, in JSON: a value of YAML in every place where one may be.
    fn in_document(&self) -> String {
        let Terms { until, because } = self.terms;
        let rule = self.from.rule.as_ref();
        let rule = rule.map_or_else(String::new, |rule| format!("\"rule\": {}, ", literal(rule.as_str())));
        format!(
            "{{{rule}\"until\": {}, \"because\": {}, \"when\": {}}}",
            literal(until),
            literal(because),
            literal(&self.condition())
        )
    }

    fn condition(&self) -> String {
        let pod = self.pod;
        let namespace = literal(&pod.namespace);
        match maker(pod).map(|maker| maker.names) {
            Some(Names::Prefix(prefix)) => {
                format!("pod.namespace == {namespace} && pod.name.startsWith({})", literal(&prefix))
            }
            Some(Names::Pattern(pattern)) => {
                format!("pod.namespace == {namespace} && pod.name.matches({})", literal(&pattern))
            }
            None => format!("pod.namespace == {namespace} && pod.name == {}", literal(&pod.name)),
        }
    }
}

/// The object that a person edits so that other pods are made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Maker {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    names: Names,
}

/// What the names of the pods have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Names {
    Prefix(String),
    Pattern(String),
}

/// The letters of the names that Kubernetes makes up.
const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";

/// The object behind a pod that its controller named, from the pod alone: a Deployment names a ReplicaSet by a hash of the
/// pod template, a CronJob a Job by the minute.
pub fn maker(pod: &PodInfo) -> Option<Maker> {
    let controller = pod.owners.iter().find(|owner| owner.controller)?;
    let name = controller.name.as_str();
    pod.name.strip_prefix(name).filter(|rest| rest.starts_with('-'))?;
    let (kind, stem, names) = match controller.kind.as_str() {
        "ReplicaSet" => match name.rsplit_once('-').filter(|(_, hash)| is_hash(pod, hash)) {
            Some((stem, _)) => {
                let pattern = format!("^{}-[{LETTERS}]{{6,10}}-[{LETTERS}]{{5}}$", escaped(stem));
                ("Deployment", stem, Names::Pattern(pattern))
            }
            None => ("ReplicaSet", name, Names::Prefix(format!("{name}-"))),
        },
        "Job" => match name.rsplit_once('-').filter(|(_, minute)| is_minute(minute)) {
            Some((stem, _)) => ("CronJob", stem, Names::Pattern(format!("^{}-[0-9]{{8,}}-", escaped(stem)))),
            None => ("Job", name, Names::Prefix(format!("{name}-"))),
        },
        kind => (kind, name, Names::Prefix(format!("{name}-"))),
    };
    Some(Maker { kind: kind.to_owned(), name: stem.to_owned(), names })
}

/// Whether the end of the name of a pod's ReplicaSet is the hash of a pod template.
fn is_hash(pod: &PodInfo, end: &str) -> bool {
    match pod.labels.get(&Symbol::new("pod-template-hash")) {
        Some(hash) => hash.as_str() == end,
        None => (6..=10).contains(&end.len()) && end.chars().all(|letter| LETTERS.contains(letter)),
    }
}

/// Whether the end of the name of a Job is a minute since 1970, which has eight digits from 1989 to 2160. Dates such as
/// `20260131` would be minutes of 2008.
fn is_minute(end: &str) -> bool {
    let is_date = end.starts_with("19") || end.starts_with("20");
    end.len() == 8 && end.bytes().all(|digit| digit.is_ascii_digit()) && !is_date
}

/// A name as a regular expression that matches it.
fn escaped(name: &str) -> String {
    name.replace('.', "[.]")
}

/// The text of a policy with a further line: before the first `applies when`, or else at the beginning of the body.
fn with_line(text: &str, policy: &Policy, line: &str) -> Option<(String, usize)> {
    if let Some(at) = before_applies(text, policy) {
        let (before, after) = (text.get(..at)?, text.get(at..)?);
        let indent: String = after.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
        return Some((format!("{before}{indent}{line}\n{after}"), at));
    }
    let after_name = policy.name_span.range().end;
    let brace = body_of(text.get(after_name..)?)? + after_name;
    let at = brace + 1;
    let (before, after) = (text.get(..at)?, text.get(at..)?);
    let rest = if after.starts_with(['\n', '\r']) { "" } else { "\n " };
    Some((format!("{before}\n  {line}{rest}{after}"), at))
}

/// The brace that begins a body, after comments.
fn body_of(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        at += match rest.get(..2) {
            Some("//") => rest.find('\n')?,
            Some("/*") => rest.find("*/")? + 2,
            _ if rest.starts_with('{') => return Some(at),
            _ => rest.chars().next()?.len_utf8(),
        };
    }
}

/// The beginning of the line of the first `applies when`, if the statement begins its line.
fn before_applies(text: &str, policy: &Policy) -> Option<usize> {
    let condition = policy.applies().iter().map(|condition| condition.span.range().start).min()?;
    let body = text.get(policy.name_span.range().end..condition)?;
    let statement = body.rfind("applies")? + policy.name_span.range().end;
    let start = text.get(..statement)?.rfind('\n')? + 1;
    text.get(start..statement)?.trim().is_empty().then_some(start)
}

/// As JSON, which both languages read.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

//! Writes an exception for one pod into the text of a policy: `except until DATE because TEXT when …`.
//!
//! Called for suggestions and by `explain --fix`; the callers compile the text.

use crate::diag::{Form, Source};
use crate::framework::Exempted;
use crate::lang::syntax::document;
use crate::lang::typed::Policy;
use crate::model::{Duration, PodInfo, Time};

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
        let because = match controller(pod) {
            Some((kind, name)) => {
                format!("the pods of {kind} {}/{name} are not placed otherwise", pod.namespace)
            }
            None => format!("{} is not placed otherwise", pod.full_name()),
        };
        Self { until, because }
    }
}

/// An exception for a pod from a rule, or from its whole policy. Pods that a controller made are named by the
/// controller's prefix: their names change.
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
        match controller(pod).map(|(_, name)| format!("{name}-")) {
            Some(prefix) => {
                format!("pod.namespace == {namespace} && pod.name.startsWith({})", literal(&prefix))
            }
            None => format!("pod.namespace == {namespace} && pod.name == {}", literal(&pod.name)),
        }
    }
}

/// Kind and name of the controller that made a pod and named it.
fn controller(pod: &PodInfo) -> Option<(&str, &str)> {
    let controller = pod.owners.iter().find(|owner| owner.controller)?;
    let named = pod.name.strip_prefix(controller.name.as_str()).is_some_and(|rest| rest.starts_with('-'));
    named.then(|| (controller.kind.as_str(), controller.name.as_str()))
}

/// The text of a policy with a further line: before the first `applies when`, or else at the beginning of the body.
fn with_line(text: &str, policy: &Policy, line: &str) -> Option<(String, usize)> {
    if let Some(at) = before_applies(text, policy) {
        let (before, after) = (text.get(..at)?, text.get(at..)?);
        let indent: String = after.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
        return Some((format!("{before}{indent}{line}\n{after}"), at));
    }
    let after_name = policy.name_span.range().end;
    let brace = text.get(after_name..)?.find('{')? + after_name;
    let at = brace + 1;
    let (before, after) = (text.get(..at)?, text.get(at..)?);
    let rest = if after.starts_with(['\n', '\r']) { "" } else { "\n " };
    Some((format!("{before}\n  {line}{rest}{after}"), at))
}

/// The beginning of the line of the first `applies when`, if the statement begins its line.
fn before_applies(text: &str, policy: &Policy) -> Option<usize> {
    let condition = policy.applies.iter().map(|condition| condition.span.range().start).min()?;
    let body = text.get(policy.name_span.range().end..condition)?;
    let statement = body.rfind("applies")? + policy.name_span.range().end;
    let start = text.get(..statement)?.rfind('\n')? + 1;
    text.get(start..statement)?.trim().is_empty().then_some(start)
}

/// As JSON, which both languages read.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

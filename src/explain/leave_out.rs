//! Excludes one pod from a policy: an additional `applies when`, inserted into the policy's text.
//!
//! Called for suggestions and by `explain --fix`; the callers compile the text.

use crate::diag::{Form, Source};
use crate::lang::syntax::document;
use crate::lang::typed::Policy;
use crate::model::PodInfo;

/// The text of a policy that leaves a pod out, and the byte of the old text where it was changed. `None` when the
/// policy is not where it says.
pub fn changed(source: &Source, policy: &Policy, pod: &PodInfo) -> Option<(String, usize)> {
    match source.form() {
        Form::Language => with_line(source.text(), policy, &line(pod)),
        Form::Document => document::with_condition(source, &policy.name, &condition(pod)),
    }
}

/// What is added to the text of a policy, as people read it.
pub fn added(source: &Source, pod: &PodInfo) -> String {
    match source.form() {
        Form::Language => line(pod),
        Form::Document => format!("appliesWhen: … && {}", condition(pod)),
    }
}

/// The line for a pod. Pods that a controller made are named by the controller's prefix: their
/// names change.
pub fn line(pod: &PodInfo) -> String {
    format!("applies when {}", condition(pod))
}

fn condition(pod: &PodInfo) -> String {
    let namespace = literal(&pod.namespace);
    let controller = pod.owners.iter().find(|owner| owner.controller);
    let prefix = controller.map(|owner| format!("{}-", owner.name));
    match prefix.filter(|prefix| pod.name.starts_with(prefix.as_str())) {
        Some(prefix) => {
            format!("!(pod.namespace == {namespace} && pod.name.startsWith({}))", literal(&prefix))
        }
        None => {
            format!("!(pod.namespace == {namespace} && pod.name == {})", literal(&pod.name))
        }
    }
}

/// The text of a policy with a further line, and the byte of the old text where it was put: before
/// the first
/// `applies when`, or else at the beginning of the body. `None` when the body is not where the
/// policy says.
pub fn with_line(text: &str, policy: &Policy, line: &str) -> Option<(String, usize)> {
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

fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

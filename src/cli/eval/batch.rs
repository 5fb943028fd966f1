//! `bayplan eval --batch FILE`: a line of JSON for each line of the file. The first line declares
//! variables; a further line that cannot be read is answered with `compileError`, and the rest goes on.
//! So other programs ask what an expression is worth.

use super::compile as compile_in_a_policy;
use crate::cli::input::Policies;
use crate::cli::{ExitStatus, Output};
use crate::diag::Diagnostic;
use crate::lang::cel;
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::interpret::Evaluator;
use crate::lang::eval::tagged::{tagged, typed};
use crate::lang::types::Type;
use crate::lang::types::cel::Cel;
use crate::lang::types::value::Value;
use crate::model::{PodInfo, Snapshot, Time};
use anyhow::Context;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// The most bytes of a line.
const LINE: usize = 1 << 20;

/// The language of the expressions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Language {
    /// CEL as Kubernetes has it.
    Cel,
    /// The policy language.
    Policy,
}

/// Answers the lines of a file, or of stdin.
pub(super) fn run(file: &Path, language: Language, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        let opened = std::fs::File::open(file);
        Box::new(opened.with_context(|| format!("cannot read {}", file.display()))?)
    };
    let mut lines = Lines { input: BufReader::new(input), number: 0 };
    answer_all(&mut lines, language, &mut |answer| Ok(writeln!(out.stdout(), "{answer}")?))
        .with_context(|| file.display().to_string())?;
    Ok(ExitStatus::Success)
}

/// Answers every line of a text.
pub(crate) fn answer_all<R: BufRead>(
    lines: &mut Lines<R>,
    language: Language,
    write: &mut dyn FnMut(Json) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let first = lines.next().context("it is empty: the first line holds the variables")??;
    let first = first.map_err(|why| anyhow::anyhow!("{why}"))?;
    let batch = Batch::new(&first, language)?;
    for line in lines {
        write(batch.answer(line?))?;
    }
    Ok(())
}

/// The lines of an input that are not blank.
pub(crate) struct Lines<R> {
    input: R,
    number: usize,
}

#[cfg(any(test, feature = "testing"))]
impl<'a> Lines<&'a [u8]> {
    /// The lines of a text.
    pub(crate) fn of(text: &'a [u8]) -> Self {
        Lines { input: text, number: 0 }
    }
}

impl<R: BufRead> Lines<R> {
    /// The next line without its end, or why it cannot be read; at most [`LINE`] bytes are kept.
    fn read(&mut self) -> std::io::Result<Option<Result<String, String>>> {
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(LINE as u64 + 1).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.len() > LINE {
            self.skip_line()?;
            return Ok(Some(Err(format!("line {} is longer than 1 MiB", self.number))));
        }
        let text = String::from_utf8(bytes);
        Ok(Some(text.map_err(|_| format!("line {} is not UTF-8", self.number))))
    }

    /// Reads up to the end of the line and keeps nothing.
    fn skip_line(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let (used, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(used);
            if ended {
                return Ok(());
            }
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = std::io::Result<Result<Json, String>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let text = match self.read() {
                Err(error) => return Some(Err(error)),
                Ok(None) => return None,
                Ok(Some(Err(why))) => return Some(Ok(Err(why))),
                Ok(Some(Ok(text))) => text,
            };
            if !text.trim().is_empty() {
                let json = serde_json::from_str(&text);
                return Some(Ok(json.map_err(|error| format!("line {} is not JSON: {error}", self.number))));
            }
        }
    }
}

/// What the first line declares.
struct Batch {
    values: Vec<Value<'static>>,
    how: How,
}

/// How an expression becomes a value.
enum How {
    Cel(Box<cel::Environment>),
    /// Literals of the variables, and a pod without anything.
    Policy(String, Box<PodInfo>),
}

impl Batch {
    fn new(first: &Json, language: Language) -> anyhow::Result<Self> {
        let variables = first.get("vars").and_then(Json::as_object);
        let variables = variables.context("the first line holds no `vars`: {\"vars\": {\"i\": 7}}")?;
        let dynamic = dynamic_names(first)?;
        for name in &dynamic {
            anyhow::ensure!(variables.contains_key(*name), "`dyn` names `{name}`, which is not in `vars`");
        }
        let (mut types, mut values) = (Vec::new(), Vec::new());
        let mut literals = String::new();
        for (name, json) in variables {
            anyhow::ensure!(is_identifier(name), "`{name}` is not the name of a variable");
            let (ty, value) = typed(json);
            let ty = if dynamic.contains(&name.as_str()) { Type::Dyn } else { ty };
            types.push((name.as_str(), ty));
            values.push(value);
            if let Language::Policy = language {
                anyhow::ensure!(dynamic.is_empty(), "variables of type `dyn` are there in CEL only");
                let literal = literal(json).with_context(|| format!("the variable `{name}`"))?;
                literals.push_str(&format!("let {name} = {literal}\n"));
            }
        }
        let how = match language {
            Language::Cel => How::Cel(Box::new(cel::Environment::kubernetes(types))),
            Language::Policy => How::Policy(literals, Box::new(placeholder()?)),
        };
        Ok(Batch { values, how })
    }

    /// The answer to a line.
    fn answer(&self, line: Result<Json, String>) -> Json {
        let line = match line {
            Ok(line) => line,
            Err(why) => return json!({"expr": "", "compileError": why}),
        };
        let Some(expression) = line.get("expr").and_then(Json::as_str) else {
            return json!({"expr": "", "compileError": "the line holds no text `expr`: {\"expr\": \"i + 1\"}"});
        };
        let answer = match &self.how {
            How::Cel(environment) => cel::compile(expression, environment).map(|program| {
                let value = program.run(&self.values);
                (program.type_name().to_owned(), value_or_error(&value))
            }),
            How::Policy(literals, pod) => in_policy(expression, literals, pod),
        };
        match answer {
            Ok((ty, Ok(value))) => json!({"expr": expression, "type": ty, "value": value}),
            Ok((ty, Err(error))) => json!({"expr": expression, "type": ty, "error": error}),
            Err(said) => json!({"expr": expression, "compileError": first_error(&said)}),
        }
    }
}

/// Type and value of an expression, or what is wrong with it.
type Answer = Result<(String, Result<Json, String>), Vec<Diagnostic>>;

/// An expression of the policy language. It has its own source map, so that memory does not grow.
fn in_policy(expression: &str, literals: &str, pod: &PodInfo) -> Answer {
    let compiled = compile_in_a_policy(&mut Policies::default(), literals, expression)?;
    let snapshot = Snapshot::default();
    let context = EvalContext::new(pod, &snapshot, Time(0));
    let (policy, expr) = compiled.parts();
    let value = Evaluator::new(policy, context).value(expr);
    Ok((compiled.type_name(), Ok(tagged(&value))))
}

/// A value as JSON, or the words of its fault.
fn value_or_error(value: &Value<'_>) -> Result<Json, String> {
    match value {
        Value::Cel(Cel::Fault(fault)) => Err(fault.message.to_string()),
        value => Ok(tagged(value)),
    }
}

fn first_error(said: &[Diagnostic]) -> String {
    let first = said.iter().find(|said| said.is_error()).or(said.first());
    first.map_or_else(|| "it is not an expression".to_owned(), |said| said.message.clone())
}

/// The names of the variables whose type is not known.
fn dynamic_names(first: &Json) -> anyhow::Result<Vec<&str>> {
    let Some(names) = first.get("dyn") else { return Ok(Vec::new()) };
    let names = names.as_array().map(|names| names.iter().map(Json::as_str).collect::<Option<Vec<_>>>());
    names
        .flatten()
        .context("`dyn` of the first line is a list of names: {\"vars\": {\"o\": {}}, \"dyn\": [\"o\"]}")
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn placeholder() -> anyhow::Result<PodInfo> {
    let pod = PodInfo::from_value(Arc::new(json!({
        "metadata": {"name": "none", "namespace": "default"}, "spec": {"containers": [{"name": "none"}]}
    })));
    pod.map_err(|error| anyhow::anyhow!("{error}"))
}

/// A JSON value as the policy language writes it.
fn literal(value: &Json) -> anyhow::Result<String> {
    Ok(match value {
        Json::Bool(_) | Json::Number(_) | Json::String(_) => value.to_string(),
        Json::Array(items) => {
            let items: anyhow::Result<Vec<String>> = items.iter().map(literal).collect();
            format!("[{}]", items?.join(", "))
        }
        Json::Object(entries) => {
            let entries: anyhow::Result<Vec<String>> = entries
                .iter()
                .map(|(key, value)| Ok(format!("{}: {}", Json::from(key.as_str()), literal(value)?)))
                .collect();
            format!("{{{}}}", entries?.join(", "))
        }
        Json::Null => anyhow::bail!("`null` has no type"),
    })
}

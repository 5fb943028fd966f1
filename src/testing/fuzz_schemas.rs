//! The fuzz target `schemas`: CustomResourceDefinitions and objects of their kinds, which need not fit them.

use crate::diag::SourceMap;
use crate::lang::analysis::cost::Size;
use crate::lang::codegen::{Env, compute};
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::interpret::Evaluator;
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::schemas::Schemas;
use crate::lang::typed::Body;
use crate::lang::types::{ObjectKind, Structure, Type};
use crate::lang::{Given, compile_given};
use crate::model::objects::projection::Projection;
use crate::model::{Change, LookedUp, Snapshot, Time};
use crate::testing::{node, pod};
use crate::yaml;
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Paths of a kind that a policy reads.
const PATHS: usize = 24;
/// Levels of a path.
const LEVELS: usize = 4;

/// A stream of YAML: definitions give types, a policy that reads every path compiles, and closures agree with the
/// reference evaluator on every object of the stream, whether it fits its definition or not. The result is the number of
/// conditions that were compared.
pub(super) fn schemas(data: &[u8]) -> usize {
    let Some(documents) = std::str::from_utf8(data).ok().and_then(|text| yaml::values(text, false).ok())
    else {
        return 0;
    };
    let mut schemas = Schemas::default();
    for definition in documents.iter().filter(|document| Schemas::is_definition(document)) {
        if let Err(why) = schemas.add_definition(definition) {
            assert!(!why.is_empty());
        }
    }
    let kinds: Vec<_> = schemas.names().filter_map(|name| schemas.get(name)).take(4).collect();
    let texts = kinds.into_iter().filter_map(|kind| Some((kind, policy_about(kind)?)));
    texts.map(|(kind, text)| agree(&text, kind, &schemas, &documents)).sum()
}

/// A policy with a condition about each path of a kind; `None` where the schema names no field.
fn policy_about(kind: &ObjectKind) -> Option<String> {
    let mut paths = Vec::new();
    collect(kind.fields.as_ref()?, "o", &mut paths);
    let mut text = format!(
        "policy p {{ applies to all pods let o = lookup(\"{}\", pod.namespace, \"x\") filter f {{\n",
        kind.name
    );
    for (at, (path, ty)) in paths.iter().enumerate() {
        let holds = match ty.present() {
            Type::Bool => format!("{path} ?? false"),
            Type::Int => format!("({path} ?? 0) > 1"),
            Type::Float => format!("({path} ?? 0.0) > 1.0"),
            Type::String => format!("({path} ?? \"a\") < \"b\""),
            Type::List(_) => format!("size({path} ?? []) > 1"),
            _ => format!("has({path})"),
        };
        let _ = writeln!(text, "reject \"{at}\" when {holds}");
    }
    text.push_str("} }");
    (!paths.is_empty()).then_some(text)
}

/// The paths of a structure whose names can be written.
fn collect(of: &Structure, prefix: &str, paths: &mut Vec<(String, Type)>) {
    for field in of.fields() {
        let written = |name: &str| {
            name.chars().all(|letter| letter.is_ascii_alphanumeric())
                && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        };
        if paths.len() >= PATHS || !written(&field.name) {
            continue;
        }
        let path = format!("{prefix}.{}", field.name);
        if let Type::Structure(inner) = field.ty.present()
            && path.matches('.').count() < LEVELS
        {
            collect(inner, &path, paths);
        }
        paths.push((path, field.ty.clone()));
    }
}

fn agree(text: &str, kind: &ObjectKind, schemas: &Schemas, documents: &[Value]) -> usize {
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.bay", text);
    let Some(source) = sources.get(id) else { return 0 };
    let given =
        Given { size: Size::default(), schemas, arguments: &|_| Vec::new(), sources: None, exceptions: None };
    let (policies, said) = compile_given(source, given);
    super::fuzz::said_well(&sources, &said);
    // A field may have the name of a keyword, or a type without a comparison.
    let Some(policy) = policies.into_iter().next() else { return 0 };
    let compiled = CompiledPolicy::new(policy, &sources);
    let pod = pod("p").build();
    let mut compared = 0;
    for document in documents.iter().filter(|document| !Schemas::is_definition(document)) {
        let mut document = document.clone();
        if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("name".into(), "x".into());
            metadata.insert("namespace".into(), pod.namespace.as_str().into());
        }
        let Ok(object) = LookedUp::new(&kind.name, document, &Projection::everything()) else { continue };
        let mut snapshot = Snapshot::default();
        snapshot.apply(Change::NodeUpserted { node: node("n").build() });
        snapshot.apply(Change::ObjectSeen { object: Arc::new(object) });
        let context = EvalContext::new(&pod, &snapshot, Time(0));
        let registers = compute(&compiled.policy, &compiled.statements.registers, context);
        let Some(row) = snapshot.nodes().next() else { continue };
        let mut evaluator = Evaluator::new(&compiled.policy, context.on(row));
        let mut env = Env::new(&compiled.policy, context.on(row), &registers);
        let written = compiled.policy.rules.iter().flat_map(|rule| match &rule.body {
            Body::Filter(filter) => filter.checks.as_slice(),
            _ => &[],
        });
        let checks = compiled.statements.filters.iter().flat_map(|filter| &filter.checks);
        for (check, written) in checks.zip(written) {
            let defined = written.condition.as_ref().is_none_or(|condition| evaluator.holds(condition));
            assert_eq!(check.refuses(&mut env), defined == written.refuses_when, "{text}");
            compared += 1;
        }
    }
    compared
}

#[cfg(test)]
mod tests {
    #[test]
    fn conditions_are_compared() {
        let stream = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/schemas/fits")).unwrap();
        assert!(super::schemas(&stream) > 30);
    }
}

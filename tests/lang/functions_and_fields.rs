//! The tables of functions, macros, forms and fields: every row is described, and its examples
//! hold.

use super::fixtures::expression;
use bayplan::diag::SourceMap;
use bayplan::lang;

/// The value of an expression of constants; `none` too where the compiler says that there is none.
fn constant(text: &str) -> Result<lang::types::value::Constant, String> {
    let (checked, diagnostics, lines) = expression(text);
    if diagnostics.iter().any(|d| d.is_error()) {
        let no_value = diagnostics.iter().all(|d| d.message.ends_with("has no value") || !d.is_error());
        return if no_value { Ok(lang::types::value::Value::Absent) } else { Err(lines) };
    }
    let expr = checked.ok_or("no expression")?;
    let effort = &lang::eval::budget::Budget::default().constants;
    let tables = lang::eval::constant::Tables {
        params: &[],
        lets: &[],
        defs: &[],
        effort,
        known: &Default::default(),
    };
    lang::eval::constant::constant(&expr, tables).ok_or_else(|| "no constant".to_owned())
}

/// The pod that examples may read.
const EXAMPLE_POD: &str = r#"{
  "metadata": {"name": "web", "namespace": "shop", "uid": "1"},
  "spec": {"containers": [{"name": "web", "image": "web", "livenessProbe": {"httpGet": {"port": 8080}}}]}
}"#;

/// The value of an expression: a constant, or what it is for [`EXAMPLE_POD`].
fn example(text: &str) -> Result<String, String> {
    if let Ok(value) = constant(text) {
        return Ok(format!("{value:?}"));
    }
    let mut sources = SourceMap::new();
    let id = sources.add("example", text);
    let (parsed, _) = lang::syntax::parse_expression(sources.get(id).unwrap());
    let (checked, _) = lang::check::check_expression(&parsed.ok_or("it does not parse")?, text);
    let (policy, expr) = checked.ok_or_else(|| expression(text).2)?;
    let pod = bayplan::model::PodInfo::from_value(serde_json::from_str(EXAMPLE_POD).unwrap()).unwrap();
    let snapshot = bayplan::model::Snapshot::default();
    let context = lang::eval::context::EvalContext::new(&pod, &snapshot, bayplan::model::Time::default());
    let value = lang::eval::interpret::Evaluator::new(&policy, context).value(&expr);
    Ok(format!("{value:?}"))
}

/// Every row of the tables of functions, macros and forms: how it is written, its text and its
/// examples.
fn documented() -> Vec<(String, &'static str, lang::language::functions::Examples)> {
    use lang::language::{functions, macros};
    let functions = functions::of_policies();
    let macros = macros::of_policies().map(|row| (row.signature.to_owned(), row.doc, row.examples));
    let forms = macros::FORMS.iter().map(|row| (row.signature.to_owned(), row.doc, row.examples));
    functions.map(|row| (row.signature(), row.doc, row.examples)).chain(macros).chain(forms).collect()
}

#[test]
fn every_function_macro_and_form_is_described_and_has_an_example() {
    let mut wrong = String::new();
    for (signature, doc, examples) in documented() {
        let plain = doc.len() > 8 && !doc.ends_with('.') && !doc.contains("  ");
        if !plain || examples.is_empty() {
            wrong.push_str(&format!("{signature}: {doc:?}, {} examples\n", examples.len()));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn examples_have_the_values_that_are_written_beside_them() {
    let mut wrong = String::new();
    for (text, expected) in documented().into_iter().flat_map(|(.., examples)| examples) {
        let (got, wanted) = (example(text), example(expected));
        if got.is_err() || got != wanted {
            wrong.push_str(&format!("{text} is {got:?}, not {expected}: {wanted:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn macros_of_cel_alone_have_the_values_of_their_examples() {
    let rows = lang::language::macros::MACROS.iter().filter(|row| !row.dialects.policy);
    let mut tried = 0;
    for row in rows {
        let environment = match row.dialects.kubernetes {
            true => lang::cel::Environment::kubernetes([]),
            false => lang::cel::Environment::device(Default::default()),
        };
        for (text, expected) in row.examples {
            let program = lang::cel::compile(&format!("{text} == {expected}"), &environment);
            let value = program.unwrap_or_else(|said| panic!("{text}: {said:?}"));
            assert_eq!(value.run(&[]), lang::types::value::Value::Bool(true), "{text}");
            tried += 1;
        }
    }
    assert!(tried >= 3, "{tried}");
}

#[test]
fn every_field_is_described_with_its_source() {
    for row in lang::language::fields::FIELDS {
        let place = format!("{}.{}", row.owner.name(), row.name);
        assert!(row.doc.len() > 8 && !row.doc.ends_with('.'), "{place} has no description");
        assert!(row.source.len() > 4, "{place} has no source");
        // A path of the API that is the whole source is one that Kubernetes has.
        let path = row.source;
        let is_path = ["spec.", "status.", "metadata."].iter().any(|root| path.starts_with(root));
        if is_path && path.chars().all(|c| c.is_ascii_alphanumeric() || ".[]".contains(c)) {
            use lang::language::fields::ObjectType;
            let owner = match row.owner {
                ObjectType::Container
                | ObjectType::GpuRequest
                | ObjectType::Claim
                | ObjectType::Toleration
                | ObjectType::Owner => ObjectType::Pod,
                ObjectType::Taint | ObjectType::Gpu => ObjectType::Node,
                // Every object has the same metadata.
                ObjectType::LookedUp => ObjectType::Namespace,
                owner => owner,
            };
            let found = lang::language::fields::api::at_path(owner, &path.replace("[]", ""));
            assert!(found.is_some(), "{place}: no field is at {path}");
        }
    }
}

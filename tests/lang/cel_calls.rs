//! Calls of functions of CEL with values, against the recorded answers of Kubernetes' own code.
//!
//! `tests/conformance/generator -cel-calls` writes the file. The row is chosen as cel-go chooses an overload while it
//! evaluates: by the values, and by the first element of a list.

use bayplan::lang::language::functions::{self, FunctionDef, Prepared, cel};
use bayplan::lang::types::value::ExactQuantity;
use bayplan::lang::types::value::{Cel, Constant, Instant, Value};
use bayplan::lang::types::{CelType, Ty};
use bayplan::model::{Duration, Symbol, Time};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether a value can be an argument of a parameter, as cel-go tells while it evaluates.
fn fits(ty: &Ty, value: &Constant) -> bool {
    match (ty, value) {
        (Ty::Bool, Value::Bool(_))
        | (Ty::Int, Value::Int(_))
        | (Ty::Uint, Value::Uint(_))
        | (Ty::Float, Value::Float(_))
        | (Ty::String, Value::String(_))
        | (Ty::Blob, Value::Blob(_))
        | (Ty::Null, Value::Null)
        | (Ty::TypeName, Value::TypeName(_))
        | (Ty::Quantity, Value::Quantity(_))
        | (Ty::Dyn | Ty::Var(_), _) => true,
        (Ty::Cel(ty), Value::Cel(of)) => of.ty() == Some(*ty),
        (Ty::CelOptional(_), Value::Optional(_)) => true,
        (Ty::List(of), Value::List(items)) => items.first().is_none_or(|first| fits(of, first)),
        (Ty::Map(key, of), Value::Map(entries)) => {
            entries.first().is_none_or(|entry| fits(key, &entry.0) && fits(of, &entry.1))
        }
        _ => false,
    }
}

fn row(name: &str, method: bool, args: &[Constant]) -> Option<&'static FunctionDef> {
    let rows = functions::named_in_kubernetes(name, method);
    // cel-go does not look at the elements of the list that `flatten` is given.
    let fit = |def: &&FunctionDef| {
        let all = || name == "flatten" || def.params.iter().zip(args).all(|(ty, value)| fits(ty, value));
        def.params.len() == args.len() && all()
    };
    rows.iter().map(|id| id.def()).find(fit)
}

/// The value of a call; `None` for an error.
fn call(name: &str, method: bool, args: &[Constant]) -> Option<Constant> {
    let value = match (name, args) {
        ("_+_", [a, b]) => cel::add(a, b)?,
        ("_-_", [a, b]) => cel::subtract(a, b)?,
        ("-_", [a]) => cel::negate(a)?,
        ("_==_", [a, b]) => Value::Bool(cel::equal(a, b).ok()?),
        ("_<_", [a, b]) => Value::Bool(cel::compare(a, b)?.is_lt()),
        _ => (row(name, method, args)?.body)(args, &Prepared::Nothing),
    };
    (!value.is_fault() && !value.is_absent()).then_some(value)
}

fn read(json: &Json) -> Constant {
    let (tag, of) = json.as_object().and_then(|of| of.iter().next()).unwrap();
    let text = of.as_str().unwrap_or("");
    let made = |name: &str| call(name, false, &[Value::text(text)]).unwrap();
    match tag.as_str() {
        "int" => Value::Int(text.parse().unwrap()),
        "uint" => Value::Uint(text.parse().unwrap()),
        "double" => Value::Float(text.parse().unwrap()),
        "bool" => Value::Bool(of.as_bool().unwrap()),
        "string" => Value::text(text),
        "bytes" => {
            let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
            Value::Blob((0..text.len()).step_by(2).map(digit).collect())
        }
        "null" => Value::Null,
        "duration" => Value::Cel(Cel::Duration(Duration::parse_nanoseconds(text).unwrap())),
        "timestamp" => {
            let (seconds, nanoseconds, offset) = Time::parse_nanoseconds(text).unwrap();
            Value::Cel(Cel::Instant(Arc::new(Instant { seconds, nanoseconds, offset })))
        }
        "optional" if of.is_null() => Value::Optional(None),
        "optional" => Value::Optional(Some(Arc::new(read(of)))),
        "list" => Value::list(of.as_array().unwrap().iter().map(read)),
        "map" => Value::map(of.as_array().unwrap().iter().map(|pair| (read(&pair[0]), read(&pair[1])))),
        "quantity" => Value::Quantity(Arc::new(ExactQuantity::parse(text).unwrap())),
        "type" => Value::TypeName(Symbol::new(text)),
        "net.IP" => made("ip"),
        "net.CIDR" => made("cidr"),
        "kubernetes.URL" => made("url"),
        "kubernetes.Semver" => made("semver"),
        "kubernetes.NamedFormat" => {
            let mut name = text.to_owned();
            if let Some(rest) = text.strip_prefix("DNS") {
                name = format!("dns{rest}");
            } else if text == "URI" {
                name = "uri".to_owned();
            } else {
                name[..1].make_ascii_lowercase();
            }
            call(&format!("format.{name}"), false, &[]).unwrap()
        }
        other => panic!("{other}"),
    }
}

/// A value exactly: with its type, the bits of a float, the offset of a timestamp and the canonical quantity.
fn exactly(value: &Constant) -> String {
    match value {
        Value::Float(x) if x.is_nan() => "double NaN".to_owned(),
        Value::Float(x) => format!("double {x:?} {:x}", x.to_bits()),
        Value::Cel(Cel::Instant(at)) => format!("{at:?}"),
        Value::List(items) => format!("{:?}", items.iter().map(exactly).collect::<Vec<_>>()),
        Value::Map(entries) => {
            format!("{:?}", entries.iter().map(|(k, v)| (exactly(k), exactly(v))).collect::<Vec<_>>())
        }
        Value::Optional(Some(held)) => format!("optional {}", exactly(held)),
        Value::Blob(bytes) => format!("{bytes:?}"),
        value => format!("{} {value}", cel::type_name(value).unwrap_or("")),
    }
}

#[test]
fn functions_of_cel_give_what_kubernetes_gives() {
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut lines = 0;
    for line in crate::support::vectors("cel-calls-1.36") {
        let name = line["call"].as_str().unwrap();
        let method = line["method"].as_bool().unwrap();
        let args: Vec<Constant> = line["args"].as_array().unwrap().iter().map(read).collect();
        let got = call(name, method, &args).map(|value| exactly(&value));
        let wanted = line.get("value").map(|value| exactly(&read(value)));
        lines += 1;
        if got != wanted {
            let what = format!("{args:?} is {got:?}, not {wanted:?}, {}", line["error"]);
            wrong.entry(name.to_owned()).or_default().push(what);
        }
    }
    assert!(lines > 10_000);
    let mut report = String::new();
    for (name, cases) in &wrong {
        report += &format!("{name}: {}\n", cases.len());
        cases.iter().take(8).for_each(|case| report += &format!("    {case}\n"));
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn every_type_has_its_name() {
    assert_eq!(cel::type_name(&Value::Cel(Cel::Duration(1))), Some(CelType::Duration.name()));
    assert_eq!(cel::type_name(&Value::fault(bayplan::lang::types::value::FaultKind::Overflow, "")), None);
}

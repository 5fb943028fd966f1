//! quick
use bayplan::lang::cel::{Environment, compile};
use bayplan::lang::types::Type;
use bayplan::lang::types::value::Value;
use std::sync::Arc;
fn json(v: &serde_json::Value) -> Value<'static> {
    match v {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(b) => Value::Bool(*b),
        serde_json::Value::Number(n) => {
            n.as_i64().map(Value::Int).unwrap_or(Value::Float(n.as_f64().unwrap()))
        }
        serde_json::Value::String(s) => Value::text(s.clone()),
        serde_json::Value::Array(a) => Value::list(a.iter().map(json)),
        serde_json::Value::Object(o) => Value::map(o.iter().map(|(k, v)| (Value::text(k.clone()), json(v)))),
    }
}
fn ty(name: &str, v: &serde_json::Value) -> Type {
    let _ = name;
    match v {
        serde_json::Value::Null => Type::Null,
        serde_json::Value::Bool(_) => Type::Bool,
        serde_json::Value::Number(n) if n.is_i64() => Type::Int,
        serde_json::Value::Number(_) => Type::Float,
        serde_json::Value::String(_) => Type::String,
        serde_json::Value::Array(a) => a.first().map(|x| ty("", x)).unwrap_or(Type::Int).list(),
        serde_json::Value::Object(o) => {
            if name == "o" {
                return Type::Dyn;
            }
            Type::Map(
                Arc::new(Type::String),
                Arc::new(o.values().next().map(|x| ty("", x)).unwrap_or(Type::Dyn)),
            )
        }
    }
}
#[test]
fn quick() {
    let file = std::env::var("BAYPLAN_CELQ").unwrap_or("cel-kubernetes-1.36.jsonl.gz".into());
    let lines = super::cel::recorded(&file);
    let vars = lines[0]["vars"].as_object().unwrap();
    let env = Environment::kubernetes(vars.iter().map(|(k, v)| (k.as_str(), ty(k, v))));
    let values: Vec<Value> = vars.values().map(json).collect();
    let (mut ok, mut bad) = (0, 0);
    for line in &lines[1..] {
        let expr = line["expr"].as_str().unwrap();
        let got = match compile(expr, &env) {
            Err(said) => format!("COMPILE {}", said.first().map(|d| d.message.clone()).unwrap_or_default()),
            Ok(program) => {
                let value = program.run(&values);
                let t = program.type_name().to_owned();
                if let Some(of) = line.get("compileError") {
                    format!("COMPILED {value} {t} // {of}")
                } else if t != line["type"].as_str().unwrap_or("") {
                    format!("TYPE {t}")
                } else if value.is_fault() {
                    if line.get("error").is_some() { "ok".into() } else { format!("FAULT {value}") }
                } else if line.get("error").is_some() {
                    format!("VALUE {value}")
                } else if super::cel::is_recorded(&value, &line["value"]) {
                    "ok".into()
                } else {
                    format!("VALUE {value}")
                }
            }
        };
        let fine = got == "ok" || got.starts_with("COMPILE ") && line.get("compileError").is_some();
        if fine {
            ok += 1
        } else {
            bad += 1;
            println!("{expr}\n    got {got}\n    want {line}");
        }
    }
    println!("ok {ok} bad {bad}");
}

//! `NodeMetrics` of metrics.k8s.io as a [`Reading`]: of the metrics API, and of cluster files.

use super::{Measured, Reading};
use crate::objects::ObjectError;
use crate::quantity::Quantity;
use crate::symbol::Symbol;
use crate::time::Time;
use serde_json::Value;

/// The group of the metrics API.
pub const GROUP: &str = "metrics.k8s.io";

/// Whether an object is the metrics of a node.
pub fn is_node_metrics(api_version: &str, kind: &str) -> bool {
    kind == "NodeMetrics" && api_version.split_once('/').is_some_and(|(group, _)| group == GROUP)
}

impl Reading {
    /// Reads an object. Its `timestamp` is the end of the short window that its amounts are of.
    pub fn from_value(value: &Value) -> Result<Self, ObjectError> {
        let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            return Err(ObjectError::new("metadata.name", String::new(), "is missing"));
        }
        let at = match value.get("timestamp") {
            Some(Value::String(text)) => Time::parse(text),
            Some(Value::Null) | None => {
                return Err(ObjectError::new("timestamp", String::new(), "is missing"));
            }
            Some(_) => None,
        };
        let Some(at) = at else {
            let shown = value.get("timestamp").map(shown).unwrap_or_default();
            return Err(ObjectError::new(
                "timestamp",
                shown,
                "is not an instant, such as `2026-01-05T09:00:00Z`",
            ));
        };
        let cpu = amount(value, "cpu", Quantity::checked_milli_value)?;
        let memory = amount(value, "memory", Quantity::checked_value)?;
        let measured = Measured::Sample { at, cpu, memory };
        match measured.check() {
            Ok(()) => Ok(Self { node: Symbol::new(name), measured }),
            Err(why) => {
                let shown = value.get("usage").map(shown).unwrap_or_default();
                Err(ObjectError::new("usage", shown, why.to_string()))
            }
        }
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// An amount of `usage` in base units.
fn amount(of: &Value, name: &str, unit: fn(&Quantity) -> Option<i64>) -> Result<i64, ObjectError> {
    let path = format!("usage.{name}");
    let text = match of.pointer(&format!("/usage/{name}")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => return Err(ObjectError::new(path, shown(other), "is not a quantity")),
        None => return Err(ObjectError::new(path, String::new(), "is missing")),
    };
    let quantity = Quantity::parse(&text)
        .map_err(|error| ObjectError::new(path.clone(), text.clone(), error.to_string()))?;
    unit(&quantity).ok_or_else(|| ObjectError::new(path, text, "does not fit 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Reading, String> {
        Reading::from_value(&value).map_err(|error| error.to_string())
    }

    #[test]
    fn what_metrics_server_writes_is_read() {
        let of = json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics", "metadata": {"name": "n1"},
            "timestamp": "2026-01-05T09:00:00Z", "window": "10.02s",
            "usage": {"cpu": "137402891n", "memory": "1048576Ki"},
        });
        let at = Time::parse("2026-01-05T09:00:00Z").unwrap();
        let measured = Measured::Sample { at, cpu: 138, memory: 1 << 30 };
        assert_eq!(read(of), Ok(Reading { node: Symbol::new("n1"), measured }));
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let of = |at: Value, cpu: Value| json!({"metadata": {"name": "n1"}, "timestamp": at, "usage": {"cpu": cpu, "memory": "1Gi"}});
        let good = json!("2026-01-05T09:00:00Z");
        let bad = [
            (json!({}), "metadata.name"),
            (json!({"metadata": {"name": "n1"}}), "timestamp"),
            (of(json!("yesterday"), json!("1")), "yesterday"),
            (of(json!(7), json!("1")), "7"),
            (of(good.clone(), json!("-1")), "negative"),
            (of(good.clone(), json!("many")), "usage.cpu"),
            (of(good.clone(), json!([1])), "usage.cpu"),
            (of(good.clone(), Value::Null), "usage.cpu"),
            (of(good.clone(), json!("1e18")), "usage.cpu"),
            (of(good.clone(), json!("2e9")), "no node has"),
            (json!({"metadata": {"name": "n1"}, "timestamp": good, "usage": {"cpu": "1"}}), "usage.memory"),
        ];
        for (value, part) in bad {
            let said = read(value.clone()).expect_err(part);
            assert!(said.contains(part), "{value}: {said}");
        }
    }
}

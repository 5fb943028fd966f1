//! Quantities, label selectors and node selectors against what Kubernetes' own code said about them
//! (`tests/conformance/*.jsonl.gz`), line by line.

use crate::support::vectors;
use bayplan::model::objects::selectors;
use bayplan::model::{LabelSelector, Labels, NodeSelector, Quantity, QuantityFormat, Symbol};
use serde_json::Value;

fn text<'a>(case: &'a Value, field: &str) -> Option<&'a str> {
    case[field].as_str()
}

/// Runs `check` on every line of `family`; prints and asserts that no line differs.
fn agree(family: &str, mut check: impl FnMut(&Value) -> Result<(), String>) {
    let cases = vectors(family);
    let mismatches: Vec<String> =
        cases.iter().filter_map(|case| check(case).err().map(|what| format!("{case}\n    {what}"))).collect();
    println!("{family}: {} lines, {} mismatches", cases.len(), mismatches.len());
    assert!(cases.len() >= 1000, "{family} is incomplete: {} lines", cases.len());
    assert!(mismatches.is_empty(), "{}", mismatches[..mismatches.len().min(20)].join("\n"));
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: T, theirs: T) -> Result<(), String> {
    if ours == theirs { Ok(()) } else { Err(format!("{what}: ours {ours:?}, theirs {theirs:?}")) }
}

/// A decimal number without sign of its precision: `-5.500` is `-5.5`.
fn plain(decimal: &str) -> String {
    match decimal.contains('.') {
        true => decimal.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => decimal.to_owned(),
    }
}

#[test]
fn quantities_agree_with_kubernetes() {
    let mut by_amount: Vec<(Quantity, String)> = Vec::new();
    agree("quantity", |case| {
        let input = text(case, "in").unwrap();
        let ours = Quantity::parse(input);
        let quantity = match (ours, text(case, "error")) {
            (Err(error), Some(theirs)) => return same("error", error.to_string().as_str(), theirs),
            (Ok(quantity), None) => quantity,
            (ours, theirs) => return Err(format!("ours {ours:?}, theirs {theirs:?}")),
        };
        same("decimal", quantity.to_decimal(), plain(text(case, "decimal").unwrap()))?;
        same("canonical", &*Quantity::reprint(input).unwrap(), text(case, "canonical").unwrap())?;
        same("sign", i64::from(quantity.sign()), case["sign"].as_i64().unwrap())?;
        let format = match quantity.format() {
            QuantityFormat::DecimalSI => "DecimalSI",
            QuantityFormat::BinarySI => "BinarySI",
            QuantityFormat::DecimalExponent => "DecimalExponent",
        };
        same("format", format, text(case, "format").unwrap())?;
        // Where the exact figure does not fit 64 bits upstream wraps or caps; we saturate.
        let figures = [("value", quantity.checked_value()), ("milli", quantity.checked_milli_value())];
        for (field, ours) in figures {
            if let Some(ours) = ours {
                same(field, ours, text(case, field).unwrap().parse().unwrap())?;
            }
        }
        // What is printed back is the same amount.
        let again = Quantity::parse(&quantity.to_string()).map_err(|error| error.to_string())?;
        let huge = quantity.checked_value().is_none();
        if !huge {
            same("printed and read again", again, quantity)?;
        }
        by_amount.push((quantity, plain(text(case, "decimal").unwrap())));
        Ok(())
    });
    by_amount.sort_by_key(|(quantity, _)| *quantity);
    for pair in by_amount.windows(2) {
        assert_ne!(compare(&pair[0].1, &pair[1].1), std::cmp::Ordering::Greater, "{pair:?}");
        assert_eq!(pair[0].0 == pair[1].0, compare(&pair[0].1, &pair[1].1).is_eq(), "{pair:?}");
    }
}

/// Compares plain decimal numbers of any length.
fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    let parts = |text: &str| {
        let negative = text.starts_with('-');
        let digits = text.trim_start_matches('-');
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        (negative, format!("{whole:0>200}{fraction:0<60}"))
    };
    let ((a_negative, a), (b_negative, b)) = (parts(a), parts(b));
    match (a_negative, b_negative) {
        (false, false) => a.cmp(&b),
        (true, true) => b.cmp(&a),
        _ => b_negative.cmp(&a_negative),
    }
}

fn labels(case: &Value) -> Labels {
    serde_json::from_value(case["labels"].clone()).unwrap()
}

#[test]
fn label_selectors_agree_with_kubernetes() {
    agree("selector", |case| {
        let object: selectors::LabelSelector = serde_json::from_value(case["selector"].clone()).unwrap();
        match (LabelSelector::parse(&object), text(case, "error")) {
            (Err(ours), Some(theirs)) => same("error", ours.to_string().as_str(), theirs),
            (Ok(selector), None) => {
                same("matches", selector.matches(&labels(case)), case["matches"].as_bool().unwrap())?;
                same("text", selector.to_string().as_str(), text(case, "text").unwrap())
            }
            (ours, theirs) => Err(format!("ours {ours:?}, theirs {theirs:?}")),
        }
    });
}

#[test]
fn node_selectors_agree_with_kubernetes() {
    agree("nodeselector", |case| {
        let object: selectors::NodeSelector = serde_json::from_value(case["nodeSelector"].clone()).unwrap();
        let selector = NodeSelector::parse(&object);
        let error = selector.error.as_ref().map(ToString::to_string);
        same("parseError", error.as_deref(), text(case, "parseError"))?;
        let ours = selector.matches(&Symbol::new(text(case, "node").unwrap()), &labels(case));
        let (matches, error) = match ours {
            Ok(matches) => (matches, None),
            Err(error) => (false, Some(error.to_string())),
        };
        same("error", error.as_deref(), text(case, "error"))?;
        same("matches", matches, case["matches"].as_bool().unwrap())
    });
}

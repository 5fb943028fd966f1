//! `metrics` of test files: what nodes used, as rules read it.

use super::fields::Section;
use super::read::Errors;
use bayplan_model::{Duration, Load, Measured, Quantity, Reading, Symbol, Usage};
use bayplan_yaml::{Field, TreeValue};

/// What one node used.
pub(super) fn reading(node: &str, field: &Field, errors: &mut Errors) -> Option<Reading> {
    let before = errors.len();
    let fields = field.object(&Section::Metrics.names(), errors);
    let mut usage = |name: &str, unit: fn(&Quantity) -> Option<i64>| {
        fields.get(name).map_or_else(Usage::default, |field| usage(&field, unit, errors))
    };
    let cpu = usage("cpu", Quantity::checked_milli_value);
    let memory = usage("memory", Quantity::checked_value);
    let samples = fields.get("samples").and_then(|field| {
        let number = field.int(errors)?;
        let fits = u32::try_from(number).ok().filter(|number| (1..=241).contains(number));
        if fits.is_none() {
            errors.push(field.error("a window has from 1 to 241 samples"));
        }
        fits
    });
    let age = fields.get("age").and_then(|field| {
        let text = field.string(errors)?;
        let age = Duration::parse(text).ok().filter(|age| age.0 >= 0);
        if age.is_none() {
            let error = field.error(format!("`{text}` is not an age"));
            errors.push(error.with_help("write a number with a unit, such as `90s` or `10m`"));
        }
        age
    });
    let load = Load { cpu, memory, samples: samples.unwrap_or(1), ..Load::default() };
    let measured = Measured::Summary { load, age: age.unwrap_or_default() };
    (errors.len() == before).then(|| Reading { node: Symbol::new(node), measured })
}

/// What it used of one resource.
fn usage(field: &Field, unit: fn(&Quantity) -> Option<i64>, errors: &mut Errors) -> Usage {
    let fields = field.object(&Section::Usage.names(), errors);
    let mut amount = |name: &str| {
        let field = fields.get(name)?;
        let text = match &field.tree.value {
            TreeValue::String(text) => text.clone(),
            TreeValue::Int(number) => number.to_string(),
            TreeValue::Float(number) => number.to_string(),
            _ => String::new(),
        };
        let amount = Quantity::parse(&text).ok().and_then(|quantity| unit(&quantity)).filter(|at| *at >= 0);
        if amount.is_none() {
            let error = field.error(format!("expected an amount, found {}", field.tree.kind()));
            errors.push(error.with_help("write a quantity, such as `500m` or `4Gi`"));
        }
        amount
    };
    let (latest, mean, std, max) = (amount("latest"), amount("mean"), amount("std"), amount("max"));
    let mean = mean.or(latest).or(max).unwrap_or_default();
    let latest = latest.unwrap_or(mean);
    Usage { latest, mean, std: std.unwrap_or_default(), max: max.unwrap_or_else(|| mean.max(latest)) }
}

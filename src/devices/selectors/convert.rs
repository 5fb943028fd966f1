//! A device of a slice as the variable `device`.

use bayplan_lang::cel;
use bayplan_lang::types::cel::ExactQuantity;
use bayplan_lang::types::value::{Constant, Value};
use bayplan_model::Symbol;
use bayplan_model::objects::devices::{AttributeValue, Device};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The value of `device`. All attributes are converted, whether or not a selector reads them. Without `knows_sharing` it
/// says that claims do not share the device.
///
/// # Errors
/// The first attribute by name that has no value in CEL. Upstream takes any one of several.
pub(super) fn device(
    driver: &Symbol,
    device: &Device,
    knows_sharing: bool,
    knows_lists: bool,
) -> Result<Constant, String> {
    let attributes = by_domain(driver, &device.attributes, |name, attribute| {
        value(attribute, knows_lists).map_err(|why| format!("attribute {name}: {why}"))
    })?;
    let capacity = by_domain(driver, &device.capacity, |_, capacity| {
        Ok(Value::Quantity(Arc::new(ExactQuantity::of(capacity.value))))
    })?;
    let is_shared = knows_sharing && device.allow_multiple_allocations;
    Ok(cel::device(driver, is_shared, attributes, capacity))
}

/// A map for each domain. A name without one is in that of the driver.
fn by_domain<T>(
    driver: &Symbol,
    named: &BTreeMap<Symbol, T>,
    convert: impl Fn(&Symbol, &T) -> Result<Constant, String>,
) -> Result<Vec<(Constant, Constant)>, String> {
    let mut domains: BTreeMap<&str, Vec<(Constant, Constant)>> = BTreeMap::new();
    for (name, of) in named {
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        domains.entry(domain).or_default().push((Value::text(id), convert(name, of)?));
    }
    let maps = domains.into_iter().map(|(domain, values)| (Value::text(domain), Value::map(values)));
    Ok(maps.collect())
}

fn value(attribute: &AttributeValue, knows_lists: bool) -> Result<Constant, String> {
    Ok(match attribute {
        AttributeValue::Int(number) => Value::Int(*number),
        AttributeValue::Bool(truth) => Value::Bool(*truth),
        AttributeValue::String(text) => Value::text(text.clone()),
        AttributeValue::Version(text) => version(text)?,
        AttributeValue::Ints(numbers) if knows_lists => Value::list(numbers.iter().copied().map(Value::Int)),
        AttributeValue::Bools(truths) if knows_lists => Value::list(truths.iter().copied().map(Value::Bool)),
        AttributeValue::Strings(texts) if knows_lists => Value::list(texts.iter().cloned().map(Value::text)),
        AttributeValue::Versions(texts) if knows_lists => {
            Value::List(texts.iter().map(|text| version(text)).collect::<Result<_, _>>()?)
        }
        _ => return Err("unsupported attribute value".to_owned()),
    })
}

fn version(text: &str) -> Result<Constant, String> {
    cel::version(text).map_err(|why| format!("parse semantic version: {why}"))
}

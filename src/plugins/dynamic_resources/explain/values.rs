//! The values that a selector reads of a device, found by the text of its expression.

use bayplan_model::Symbol;
use bayplan_model::objects::devices::{AttributeValue, Device};

/// How many values are shown of a device.
const MOST: usize = 3;

/// An attribute or a capacity that an expression reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Read {
    capacity: bool,
    domain: String,
    /// The name after the domain.
    pub(super) id: String,
}

/// What an expression reads of a device: `device.attributes["d.ex"].model`, and forms of it with an index or as an optional.
pub(super) fn read(expression: &str) -> Vec<Read> {
    let mut found: Vec<Read> = Vec::new();
    for (field, capacity) in [("device.attributes", false), ("device.capacity", true)] {
        for (at, _) in expression.match_indices(field) {
            let rest = expression.get(at + field.len()..).unwrap_or_default();
            let Some((domain, rest)) = index(rest) else { continue };
            let id = match index(rest) {
                Some((id, _)) => id.to_owned(),
                None => {
                    let rest = rest.strip_prefix('.').unwrap_or_default();
                    let rest = rest.strip_prefix('?').unwrap_or(rest);
                    rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
                }
            };
            let read = Read { capacity, domain: domain.to_owned(), id };
            if !read.id.is_empty() && !found.contains(&read) && found.len() < MOST {
                found.push(read);
            }
        }
    }
    found
}

/// The string of `["…"]` at the beginning, and what follows.
fn index(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('[')?;
    let text = text.strip_prefix('?').unwrap_or(text);
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (inner, rest) = text.get(1..)?.split_once(quote)?;
    Some((inner, rest.strip_prefix(']')?))
}

impl Read {
    /// An attribute by its full name.
    pub(super) fn attribute(domain: &str, id: &str) -> Self {
        Self { capacity: false, domain: domain.to_owned(), id: id.to_owned() }
    }

    /// The value that a device has.
    pub(super) fn of(&self, driver: &Symbol, device: &Device) -> String {
        let full = Symbol::from(format!("{}/{}", self.domain, self.id));
        let short = Symbol::new(&self.id);
        let own = *driver == *self.domain;
        let absent = || String::from("absent");
        if self.capacity {
            let capacity = &device.capacity;
            let found = capacity.get(&full).or_else(|| capacity.get(&short).filter(|_| own));
            return found.map_or_else(absent, |capacity| capacity.value.to_string());
        }
        let attributes = &device.attributes;
        let found = attributes.get(&full).or_else(|| attributes.get(&short).filter(|_| own));
        found.map_or_else(absent, text)
    }
}

fn text(value: &AttributeValue) -> String {
    let list = |of: Vec<String>| format!("[{}]", of.join(", "));
    match value {
        AttributeValue::Int(value) => value.to_string(),
        AttributeValue::Bool(value) => value.to_string(),
        AttributeValue::String(value) => format!("{value:?}"),
        AttributeValue::Version(value) => value.to_string(),
        AttributeValue::Ints(values) => list(values.iter().map(i64::to_string).collect()),
        AttributeValue::Bools(values) => list(values.iter().map(bool::to_string).collect()),
        AttributeValue::Strings(values) => list(values.iter().map(|value| format!("{value:?}")).collect()),
        AttributeValue::Versions(values) => list(values.iter().map(|value| value.to_string()).collect()),
        AttributeValue::Unknown => String::from("of a type that is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn what_a_selector_reads_is_found_in_its_text() {
        let names = |text: &str| {
            let found = read(text).into_iter();
            found
                .map(|of| format!("{}/{}{}", of.domain, of.id, if of.capacity { " *" } else { "" }))
                .collect()
        };
        let of = |text: &str| -> Vec<String> { names(text) };
        assert_eq!(of(r#"device.attributes["d.ex"].model == "x""#), ["d.ex/model"]);
        assert_eq!(
            of(
                r#"device.capacity['d.ex']["mem"].isGreaterThan(quantity("1")) && device.attributes[?"e"].?a.orValue(1) > 0"#
            ),
            ["e/a", "d.ex/mem *"]
        );
        assert_eq!(of(r#"device.driver == "d" && device.attributes[x].y"#), Vec::<String>::new());
    }
}

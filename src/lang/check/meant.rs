//! Constants that are not what a function or an operator wants, and what was probably meant: `time("2026-01-01")`,
//! `quantity("4GB")`, a number without a unit. Each suggestion is in the language of the expression, and is a value
//! there.

use super::Checker;
use super::comparisons::is_day;
use super::dialect::ExprLanguage;
use super::expr::strip;
use crate::language::functions::{Conversion, FunctionDef};
use crate::typed::{Expr, ExprKind};
use crate::types::Type;
use crate::types::value::Value;
use bayplan_diag::{Code, Diagnostic, Span};
use bayplan_model as model;

impl Checker<'_> {
    /// Whether expressions are of CEL, where amounts, durations and times are written as calls.
    pub(super) fn is_cel(&self) -> bool {
        matches!(self.dialect, ExprLanguage::Cel(_))
    }

    /// Reports that a function has no value for a constant text, with what was probably meant.
    pub(super) fn no_value(
        &mut self,
        function: &FunctionDef,
        text: &Expr,
        report: (&'static Code, Span, String),
        otherwise: String,
    ) {
        let (code, span, message) = report;
        let Some(Value::String(given)) = self.constant(text) else {
            return self.mistake(code, span, message, otherwise);
        };
        let meant = function.conversion().map(|of| texts_meant(of, given.as_str())).unwrap_or_default();
        let said = Diagnostic::new(code, span, message);
        self.report(match meant.as_slice() {
            [] if otherwise.is_empty() => said,
            [] => said.with_help(otherwise),
            [one] => {
                let written = self.excerpt(text.span);
                let quote = written.chars().next().filter(|quote| matches!(quote, '"' | '\''));
                let said = said.with_help(format!("write `{}(\"{one}\")`", function.name));
                match quote {
                    Some(quote) => {
                        said.with_fix(format!("write `{one}`"), text.span, format!("{quote}{one}{quote}"))
                    }
                    None => said,
                }
            }
            several => {
                let several: Vec<String> = several.iter().map(|one| format!("`{one}`")).collect();
                said.with_help(format!("did you mean {}?", several.join(" or ")))
            }
        });
    }

    /// What may have been meant by a number where a unit is wanted.
    pub(super) fn unit_help(&self, unit: &Type, number: Option<&Value<'_>>) -> String {
        let number = match number {
            Some(Value::Int(n)) => n.to_string(),
            Some(Value::Float(n)) => n.to_string(),
            _ => return without_number(unit, self.is_cel()).to_owned(),
        };
        let amount = |unit: &str| match self.is_cel() {
            true => format!("`quantity(\"{number}{}\")`", unit.trim_matches(['c', 'p', 'u', 'B'])),
            false => format!("`{number}{unit}`"),
        };
        match unit.present() {
            Type::Cpu => {
                let cores = match number.as_str() {
                    "1" => "one core".to_owned(),
                    "2" => "two cores".to_owned(),
                    _ => format!("{number} cores"),
                };
                format!("did you mean {} ({cores}) or {}?", amount("cpu"), amount("m"))
            }
            Type::Bytes if number.parse::<f64>().is_ok_and(|number| number >= 1e6) => {
                format!("did you mean {}?", amount("B"))
            }
            Type::Bytes => format!("did you mean {}, {} or {}?", amount("Gi"), amount("Mi"), amount("B")),
            Type::Duration => match self.is_cel() {
                true => format!("did you mean `duration(\"{number}s\")` or `duration(\"{number}m\")`?"),
                false => format!("did you mean `{number}s` or `{number}min`?"),
            },
            Type::Count => "a count is a whole number".to_owned(),
            Type::Amount(_) => "`.value()` of the amount is a number in base units".to_owned(),
            _ => String::new(),
        }
    }

    /// The help where an amount is made a number: of how much of a node it is, or of its base units.
    pub(super) fn number_of_amount(&self, amount: &Expr) -> String {
        let text = self.excerpt(amount.span);
        let value = format!("`{text}.value()` is the number in base units");
        let of_resource = match strip(&amount.kind) {
            ExprKind::Resource(_, name) => self.constant_str(name),
            _ => None,
        };
        match of_resource {
            Some(name)
                if ["node.free", "node.requested", "node.used"].iter().any(|part| text.starts_with(part))
                    && matches!(&*name, "cpu" | "memory") =>
            {
                format!("`share({text}, node.allocatable.{name})` is a share; {value}")
            }
            _ => value,
        }
    }

    /// A constant text where an amount, a duration or a time is wanted, as CEL writes it.
    pub(super) fn text_meant_in_cel(&self, text: &Expr, wanted: &Type) -> Option<String> {
        let Some(Value::String(given)) = self.constant(text) else { return None };
        let (function, conversion) = match wanted.present() {
            Type::Cpu | Type::Bytes | Type::Count => ("quantity", Conversion::Quantity),
            Type::Duration => ("duration", Conversion::Duration),
            Type::Time => ("timestamp", Conversion::Time),
            _ => return None,
        };
        let given = given.as_str();
        let meant = match has_value(conversion, given) {
            true => given.to_owned(),
            false => <[String; 1]>::try_from(texts_meant(conversion, given)).ok()?.concat(),
        };
        Some(format!("{function}(\"{meant}\")"))
    }
}

/// What to do with a number that is not a constant.
fn without_number(unit: &Type, cel: bool) -> &'static str {
    match unit.present() {
        Type::Cpu if !cel => "multiply it by `1cpu` or `1m`",
        Type::Bytes if !cel => "multiply it by `1B`",
        Type::Duration if !cel => "multiply it by `1s`",
        Type::Cpu | Type::Bytes | Type::Amount(_) => "`.value()` of the amount is a number in base units",
        Type::Count => "cut it with `round(…)`, `floor(…)` or `ceil(…)`",
        _ => "",
    }
}

/// Whether a conversion has a value for this text.
fn has_value(conversion: Conversion, text: &str) -> bool {
    match conversion {
        Conversion::Time => model::Time::parse_exactly(text).is_some(),
        Conversion::Duration => model::Duration::parse(text).is_ok(),
        Conversion::Quantity => model::Quantity::parse(text).is_ok(),
        Conversion::Number | Conversion::Other => false,
    }
}

/// What a constant text was meant to be, for which a conversion has no value.
pub(super) fn texts_meant(conversion: Conversion, text: &str) -> Vec<String> {
    let mut meant = match conversion {
        Conversion::Time => instants(text),
        Conversion::Duration => durations(text),
        Conversion::Quantity => quantities(text),
        Conversion::Number | Conversion::Other => Vec::new(),
    };
    meant.retain(|meant| has_value(conversion, meant));
    meant
}

/// A day, or a day and an hour, as an instant in UTC.
fn instants(text: &str) -> Vec<String> {
    let (day, hour) = text.trim().split_once([' ', 'T', 't']).unwrap_or((text.trim(), "00:00:00"));
    let parts: Vec<&str> = day.split(['-', '/', '.']).collect();
    let [year, month, day] = parts[..] else { return Vec::new() };
    let day = format!("{year}-{month:0>2}-{day:0>2}");
    if !is_day(&day) {
        return Vec::new();
    }
    let hour = hour.trim();
    let (clock, zone) = match hour.find(['Z', 'z', '+', '-', ' ']) {
        Some(at) => (hour.get(..at).unwrap_or(""), hour.get(at..).unwrap_or("").trim()),
        None => (hour, "Z"),
    };
    let zone = if zone.eq_ignore_ascii_case("utc") { "Z" } else { zone };
    let seconds = if clock.matches(':').count() == 1 { ":00" } else { "" };
    vec![format!("{day}T{clock:0>5}{seconds}{zone}")]
}

/// The text with the units of Go's durations. Returns nothing for a text that has more than numbers with units.
fn durations(text: &str) -> Vec<String> {
    let mut out = String::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let split = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(split);
        let tail = tail.trim_start();
        let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, next) = tail.split_at(end);
        let unit = match unit {
            "d" | "day" | "days" => {
                let Some(hours) = number.parse::<u32>().ok().and_then(|days| days.checked_mul(24)) else {
                    return Vec::new();
                };
                out.push_str(&format!("{hours}h"));
                rest = next.trim_start();
                continue;
            }
            "hr" | "hrs" | "hour" | "hours" | "H" => "h",
            "min" | "mins" | "minute" | "minutes" => "m",
            "sec" | "secs" | "second" | "seconds" | "S" => "s",
            "" if out.is_empty() && next.is_empty() => {
                return vec![format!("{number}s"), format!("{number}m")];
            }
            // Each round takes a number and a unit off the text, so that it ends.
            "" => return Vec::new(),
            _ if number.is_empty() => return Vec::new(),
            other => other,
        };
        out.push_str(number);
        out.push_str(unit);
        rest = next.trim_start();
    }
    vec![out]
}

/// The suffixes of Kubernetes' quantities: `GB` is `G` or `Gi`, `GiB` is `Gi`.
fn quantities(text: &str) -> Vec<String> {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    let lower = unit.to_ascii_lowercase();
    let large = lower.get(..1).unwrap_or("").to_ascii_uppercase();
    let decimal = if large == "K" { "k" } else { &large };
    match lower.get(1..).unwrap_or("") {
        _ if matches!(&*lower, "" | "b" | "byte" | "bytes" | "cpu" | "cpus" | "core" | "cores") => {
            vec![number.to_owned()]
        }
        _ if !matches!(&*large, "K" | "M" | "G" | "T" | "P" | "E") => Vec::new(),
        "" | "b" => vec![format!("{number}{decimal}"), format!("{number}{large}i")],
        "i" | "ib" => vec![format!("{number}{large}i")],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::functions::FUNCTIONS;

    /// What the function of a name makes.
    fn conversion_of(name: &str) -> Conversion {
        let mut rows = FUNCTIONS.iter().flat_map(|family| family.iter());
        rows.find(|row| row.name == name).and_then(FunctionDef::conversion).unwrap_or(Conversion::Other)
    }

    #[test]
    fn what_was_meant_is_a_value() {
        for (function, text, meant) in [
            ("time", "2026-01-01", vec!["2026-01-01T00:00:00Z"]),
            ("timestamp", "2026-1-5", vec!["2026-01-05T00:00:00Z"]),
            ("timestamp", "2026/01/05", vec!["2026-01-05T00:00:00Z"]),
            ("time", "2026-01-01 10:00", vec!["2026-01-01T10:00:00Z"]),
            ("time", "2026-01-01T9:30", vec!["2026-01-01T09:30:00Z"]),
            ("time", "2026-01-01 10:00:05+02:00", vec!["2026-01-01T10:00:05+02:00"]),
            ("time", "2026-01-01 10:00 UTC", vec!["2026-01-01T10:00:00Z"]),
            ("time", "2026-13-01", vec![]),
            ("time", "tomorrow", vec![]),
            ("quantity", "4GB", vec!["4G", "4Gi"]),
            ("quantity", "4gb", vec!["4G", "4Gi"]),
            ("quantity", "4GiB", vec!["4Gi"]),
            ("as_bytes", "4 Gi", vec!["4Gi"]),
            ("as_bytes", "1.5KB", vec!["1.5k", "1.5Ki"]),
            ("quantity", "4gi", vec!["4Gi"]),
            ("quantity", "4K", vec!["4k", "4Ki"]),
            ("as_cpu", "2cpu", vec!["2"]),
            ("as_cpu", "2 cores", vec!["2"]),
            ("quantity", "abc", vec![]),
            ("quantity", "GB", vec![]),
            ("quantity", "4Xi", vec![]),
            ("duration", "1d", vec!["24h"]),
            ("duration", "1d12h", vec!["24h12h"]),
            ("duration", "5 min", vec!["5m"]),
            ("duration", "1h 30min", vec!["1h30m"]),
            ("duration", "300", vec!["300s", "300m"]),
            ("duration", "soon", vec![]),
            ("duration", "1h-5m", vec![]),
            ("duration", "1h, 30min", vec![]),
            ("duration", "1h 30", vec![]),
            ("duration", "-1d", vec![]),
            ("duration", "1day!", vec![]),
        ] {
            assert_eq!(texts_meant(conversion_of(function), text), meant, "{function} {text}");
        }
    }

    /// Every text of up to five of these letters has an answer, and each suggestion is a value.
    #[test]
    fn every_text_is_answered() {
        const LETTERS: [char; 9] = ['1', '.', '-', ':', ' ', 'd', 'h', 'G', 'é'];
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            let longer: Vec<String> =
                texts.iter().flat_map(|text| LETTERS.map(|letter| format!("{text}{letter}"))).collect();
            for (text, function) in longer.iter().flat_map(|text| {
                ["time", "timestamp", "duration", "quantity", "as_bytes"].map(|function| (text, function))
            }) {
                let conversion = conversion_of(function);
                let meant = texts_meant(conversion, text);
                assert!(
                    meant.iter().all(|meant| has_value(conversion, meant)),
                    "{function} {text}: {meant:?}"
                );
            }
            texts = longer;
        }
    }
}

//! Amounts of resources as people write them in front of the resource's name: `1.5` cpu, `64Gi`
//! memory.
//!
//! Read by plugins and explanations. Parsing quantities is in `quantity.rs`.

/// How many digits a byte amount may have before it is shown in a larger unit.
const DIGITS: i64 = 10_000;

/// Whether amounts of a resource are bytes.
fn is_bytes(resource: &str) -> bool {
    matches!(resource, "memory" | "ephemeral-storage" | "storage") || resource.starts_with("hugepages-")
}

/// An amount in base units (millicores, bytes, pieces), exactly.
pub fn amount(resource: &str, value: i64) -> String {
    amount_beside(resource, value, value)
}

/// An amount in the unit of another amount of the resource: `0.5` beside `2` cpu,
/// `500m` beside `250m`.
pub fn amount_beside(resource: &str, value: i64, other: i64) -> String {
    if is_bytes(resource) {
        return bytes(value);
    }
    if resource != "cpu" {
        return value.to_string();
    }
    match value.abs().max(other.abs()) {
        small if small < 1000 && value != 0 => format!("{value}m"),
        _ if value % 1000 == 0 => (value / 1000).to_string(),
        _ => {
            let (sign, value) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
            let digits = format!("{}.{:03}", value / 1000, value % 1000);
            format!("{sign}{}", digits.trim_end_matches('0'))
        }
    }
}

/// The largest amount of at most `value` that is written with few digits: `4987Mi` for 5,106,784
/// KiB. It differs by less than a thousandth.
pub fn rounded_down(resource: &str, value: i64) -> i64 {
    if !is_bytes(resource) || value <= 0 || shortest(value).0 < DIGITS {
        return value;
    }
    let units = [1i64 << 60, 1 << 50, 1 << 40, 1 << 30, 1 << 20, 1 << 10];
    let unit = units.into_iter().find(|unit| value / unit >= DIGITS / 10).unwrap_or(1);
    value / unit * unit
}

fn bytes(value: i64) -> String {
    let (number, unit) = shortest(value);
    format!("{number}{unit}")
}

/// Bytes in the unit that needs the fewest digits; a binary unit where both need as many.
fn shortest(value: i64) -> (i64, &'static str) {
    let units = [
        ("Ei", 1i64 << 60),
        ("Pi", 1 << 50),
        ("Ti", 1 << 40),
        ("Gi", 1 << 30),
        ("Mi", 1 << 20),
        ("Ki", 1 << 10),
        ("E", 1_000_000_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("T", 1_000_000_000_000),
        ("G", 1_000_000_000),
        ("M", 1_000_000),
        ("k", 1_000),
    ];
    let fitting = units.iter().filter(|(_, size)| value != 0 && value % size == 0);
    let shown = fitting.map(|(unit, size)| (value / size, *unit));
    shown.min_by_key(|(number, _)| number.abs()).unwrap_or((value, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_they_are_written() {
        let table = [
            ("cpu", 2_000, "2"),
            ("cpu", 3_900, "3.9"),
            ("cpu", 500, "500m"),
            ("cpu", 0, "0"),
            ("cpu", 1_005, "1.005"),
            ("memory", 64 << 30, "64Gi"),
            ("memory", 1_000_000_000, "1G"),
            ("memory", 0, "0"),
            ("memory", 1_024_000, "1000Ki"),
            ("hugepages-2Mi", 4 << 20, "4Mi"),
            ("nvidia.com/gpu", 2, "2"),
        ];
        for (resource, value, text) in table {
            assert_eq!(amount(resource, value), text, "{resource} {value}");
        }
        assert_eq!(amount_beside("cpu", 500, 2_000), "0.5");
        assert_eq!(amount_beside("cpu", 0, 500), "0");
    }

    #[test]
    fn amounts_with_many_digits_are_rounded_down_by_less_than_a_thousandth() {
        assert_eq!(amount("memory", rounded_down("memory", 5_106_784 << 10)), "4987Mi");
        for value in [1, 999, 12_345, 5_106_784 << 10, (1 << 40) + 1, i64::MAX, 5_000_000_000] {
            let rounded = rounded_down("memory", value);
            assert!(rounded <= value && value - rounded <= value / 1_000, "{value} {rounded}");
            assert!(amount("memory", rounded).len() <= 8, "{rounded}");
        }
        assert_eq!(rounded_down("memory", 5_000_000_000), 5_000_000_000);
        assert_eq!(rounded_down("cpu", 3_905), 3_905);
    }
}

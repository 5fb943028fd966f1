//! Durations of flags.

use std::time::Duration;

/// Parses a duration as Go writes it: `15s`, `1m30s`, `1.5h`, `200ms`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parsed = crate::model::Duration::parse(text);
    let parsed = parsed.map_err(|error| format!("`{text}` is not a duration: {error}"))?;
    match u64::try_from(parsed.0) {
        Ok(0) | Err(_) => Err("must be greater than zero".into()),
        Ok(microseconds) => Ok(Duration::from_micros(microseconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        assert_eq!(duration("15s"), Ok(Duration::from_secs(15)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5_400)));
        assert!(duration("15").is_err() && duration("s").is_err() && duration("0s").is_err());
    }
}

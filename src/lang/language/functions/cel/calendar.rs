//! Days and hours of instants, time zones as cel-go reads them, and the arithmetic of durations and instants.

use super::overflow;
use crate::types::value::{Cel, Instant, Value};
use jiff::tz::TimeZone;
use std::sync::Arc;

/// The first and the last second of the calendar: 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
pub(super) const CALENDAR: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

/// A second of the Gregorian calendar.
pub(in super::super) struct Civil {
    pub year: i64,
    /// 1 to 12
    pub month: i64,
    /// 1 to 31
    pub day: i64,
    /// 1 to 366
    pub day_of_year: i64,
    /// Sunday is 0.
    pub day_of_week: i64,
    /// Seconds of the day.
    pub second: i64,
}

impl Civil {
    /// From seconds since 1970, in the zone of these seconds.
    pub(in super::super) fn of(seconds: i64) -> Self {
        let days = seconds.div_euclid(DAY);
        // Years begin in March here, so that the day that may be missing is the last; cycles have 400 years.
        let since = days + 719_468;
        let of_cycle = since.rem_euclid(146_097);
        let year_of_cycle = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
        let from_march = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
        let march_month = (5 * from_march + 2) / 153;
        let day = from_march - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = since.div_euclid(146_097) * 400 + year_of_cycle + i64::from(month <= 2);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let day_of_year = if month <= 2 { from_march - 305 } else { from_march + 60 + i64::from(leap) };
        Civil {
            year,
            month,
            day,
            day_of_year,
            day_of_week: (days + 4).rem_euclid(7),
            second: seconds.rem_euclid(DAY),
        }
    }
}

/// Seconds east of UTC at so many seconds since 1970 in a zone. The instants of the crate jiff end a day before the year
/// 9999 does; there the zone has its last offset.
pub(in super::super) fn offset_at(seconds: i64, zone: &TimeZone) -> i64 {
    let at = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    i64::from(zone.to_offset(at).seconds())
}

/// Seconds east of UTC at an instant in a zone: a name of the time zone database, or hours and minutes with a colon.
///
/// # Errors
/// The zone does not exist; the text says why.
pub(super) fn offset_in(at: &Instant, zone: &str) -> Result<i64, String> {
    let Some((hours, minutes)) = zone.split_once(':') else {
        return Ok(offset_at(at.seconds, &named(zone)?));
    };
    let number = |text: &str| {
        let number: Result<i64, _> = text.parse();
        number.map_err(|_| format!("`{zone}` is not an offset, such as `+02:00`"))
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let whole = hours.wrapping_mul(60);
    let offset =
        if zone.starts_with('-') { whole.wrapping_sub(minutes) } else { whole.wrapping_add(minutes) };
    Ok(offset.wrapping_mul(60 * SECOND) / SECOND)
}

/// A zone of the database; names are read with their case, as the files of the database are.
fn named(zone: &str) -> Result<TimeZone, String> {
    if ["", "UTC", "Local"].contains(&zone) {
        return Ok(TimeZone::UTC);
    }
    let found = jiff::tz::db().get(zone).ok().filter(|found| found.iana_name() == Some(zone));
    found.ok_or_else(|| format!("no time zone is called `{zone}`"))
}

/// `left + right` of durations and instants; `None` if the values are others.
pub fn add<'a>(left: &Value<'_>, right: &Value<'_>) -> Option<Value<'a>> {
    Some(match (left, right) {
        (Value::Cel(Cel::Duration(left)), Value::Cel(Cel::Duration(right))) => {
            left.checked_add(*right).map_or_else(|| overflow("the sum of two durations"), duration)
        }
        (Value::Cel(Cel::Duration(by)), Value::Cel(Cel::Instant(at)))
        | (Value::Cel(Cel::Instant(at)), Value::Cel(Cel::Duration(by))) => moved(at, *by),
        _ => return None,
    })
}

/// `left - right` of durations and instants; `None` if the values are others.
pub fn subtract<'a>(left: &Value<'_>, right: &Value<'_>) -> Option<Value<'a>> {
    Some(match (left, right) {
        (Value::Cel(Cel::Duration(left)), Value::Cel(Cel::Duration(right))) => {
            left.checked_sub(*right).map_or_else(|| overflow("the difference of two durations"), duration)
        }
        (Value::Cel(Cel::Instant(at)), Value::Cel(Cel::Duration(by))) => match by.checked_neg() {
            Some(by) => moved(at, by),
            None => overflow("the duration"),
        },
        (Value::Cel(Cel::Instant(left)), Value::Cel(Cel::Instant(right))) => {
            // In this order, as in cel-go: some differences that would fit overflow on the way.
            let seconds = left.seconds.checked_sub(right.seconds).and_then(|by| by.checked_mul(SECOND));
            let rest = i64::from(left.nanoseconds) - i64::from(right.nanoseconds);
            let between = seconds.and_then(|seconds| seconds.checked_add(rest));
            between.map_or_else(|| overflow("the duration between the two timestamps"), duration)
        }
        _ => return None,
    })
}

/// `-x` of a duration; `None` if the value is another.
pub fn negate<'a>(value: &Value<'_>) -> Option<Value<'a>> {
    let nanoseconds = super::nanoseconds(value)?;
    Some(nanoseconds.checked_neg().map_or_else(|| overflow("the duration"), duration))
}

fn duration<'a>(nanoseconds: i64) -> Value<'a> {
    Value::Cel(Cel::Duration(nanoseconds))
}

/// The instant that lies so many nanoseconds later.
fn moved<'a>(at: &Instant, by: i64) -> Value<'a> {
    let nanoseconds = i64::from(at.nanoseconds) + by.rem_euclid(SECOND);
    let seconds = at.seconds + by.div_euclid(SECOND) + nanoseconds / SECOND;
    if !CALENDAR.contains(&seconds) {
        return overflow("the timestamp");
    }
    let nanoseconds = u32::try_from(nanoseconds % SECOND).unwrap_or(0);
    Value::Cel(Cel::Instant(Arc::new(Instant { seconds, nanoseconds, offset: at.offset })))
}

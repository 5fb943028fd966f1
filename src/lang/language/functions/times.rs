//! Instants, durations, and weekly windows. Time zones and windows are constants.

use super::cel::calendar::{Civil, offset_at};
use super::notation::text;
use super::windows::Windows;
use super::{FunctionDef, Prepare, Prepared, Work};
use crate::types::Ty;
use crate::types::range::Range;
use crate::types::value::{Constant, Value};
use jiff::tz::TimeZone;
use std::sync::Arc;

const BASE: FunctionDef = FunctionDef { method: true, ..FunctionDef::BASE };
const ZONE: Option<Prepare> = Some(Prepare { constants: &[1], make: zone });

/// A part of an instant, from its second of the calendar and its nanoseconds.
type Part = fn(&Civil, u32) -> i64;

macro_rules! rows {
    ($($name:literal $lo:literal $hi:literal ($part:expr) $doc:literal
        $utc:literal $berlin:literal $new_york:literal;)*) => {
        /// The parts of instants, each in a time zone and in UTC.
        pub(crate) static PARTS: &[FunctionDef] = &[$(
            FunctionDef {
                name: $name,
                params: &[Ty::Time, Ty::String],
                names: &["at", "time zone"],
                result: Ty::Int,
                range: Some(|_| Range::whole($lo, $hi)),
                prepare: ZONE,
                work: Work::Calendar,
                body: |args, prepared| part_of(args, prepared, $part),
                doc: concat!($doc, " in the time zone"),
                examples: &[(
                    concat!("time(\"2026-01-02T03:04:05.25Z\").", $name, "(\"Europe/Berlin\")"),
                    $berlin,
                )],
                ..BASE
            },
            FunctionDef {
                name: $name,
                params: &[Ty::Time],
                names: &["at"],
                result: Ty::Int,
                range: Some(|_| Range::whole($lo, $hi)),
                work: Work::Calendar,
                body: |args, prepared| part_of(args, prepared, $part),
                doc: concat!($doc, " in UTC"),
                examples: &[(concat!("time(\"2026-01-02T03:04:05.25Z\").", $name, "()"), $utc)],
                ..BASE
            },
        )*];
    };
}

parts_of_instants!(rows);

/// The family's other rows.
pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        name: "hour",
        params: &[Ty::Time, Ty::String],
        names: &["at", "time zone"],
        result: Ty::Int,
        range: Some(|_| Range::whole(0, 23)),
        prepare: ZONE,
        work: Work::Calendar,
        body: |args, prepared| part_of(args, prepared, |day, _| day.second / 3600),
        doc: "the hour of the day in the time zone; the same as `getHours`",
        examples: &[("time(\"2026-07-02T03:04:05Z\").hour(\"Europe/Berlin\")", "5")],
        ..BASE
    },
    FunctionDef {
        name: "getHours",
        params: &[Ty::Duration],
        names: &["duration"],
        result: Ty::Int,
        body: |args, _| whole(args, |us| us / 3_600_000_000),
        doc: "the duration in whole hours",
        examples: &[("(90min).getHours()", "1")],
        ..BASE
    },
    FunctionDef {
        name: "getMinutes",
        params: &[Ty::Duration],
        names: &["duration"],
        result: Ty::Int,
        body: |args, _| whole(args, |us| us / 60_000_000),
        doc: "the duration in whole minutes",
        examples: &[("(90min).getMinutes()", "90")],
        ..BASE
    },
    FunctionDef {
        name: "getSeconds",
        params: &[Ty::Duration],
        names: &["duration"],
        result: Ty::Int,
        body: |args, _| whole(args, |us| us / 1_000_000),
        doc: "the duration in whole seconds",
        examples: &[("(1500ms).getSeconds()", "1")],
        ..BASE
    },
    FunctionDef {
        name: "getMilliseconds",
        params: &[Ty::Duration],
        names: &["duration"],
        result: Ty::Int,
        body: |args, _| whole(args, |us| us / 1000),
        doc: "the duration in whole milliseconds",
        examples: &[("(1500ms).getMilliseconds()", "1500")],
        ..BASE
    },
    FunctionDef {
        name: "within",
        method: false,
        params: &[Ty::Time, Ty::String, Ty::String],
        names: &["at", "windows", "time zone"],
        result: Ty::Bool,
        prepare: Some(Prepare { constants: &[1, 2], make: windows }),
        work: Work::Calendar,
        body: |args, prepared| match (args, prepared) {
            ([Value::Time(at), ..], Prepared::Windows(windows)) => Value::Bool(windows.contains(*at)),
            _ => Value::Absent,
        },
        doc: "true if the instant lies in one of the weekly windows; a window that ends before it starts \
              runs over midnight and belongs to the day on which it starts; windows and time zone are \
              constants",
        examples: &[
            ("within(time(\"2026-01-02T10:00:00Z\"), \"Mon-Fri 08:00-18:00\", \"UTC\")", "true"),
            ("within(time(\"2026-01-03T02:00:00Z\"), \"Fri 22:00-06:00\", \"UTC\")", "true"),
            ("within(time(\"2026-01-03T10:00:00Z\"), \"Mon-Fri 08:00-18:00\", \"UTC\")", "false"),
        ],
        ..BASE
    },
    FunctionDef {
        name: "within",
        method: false,
        params: &[Ty::Time, Ty::String, Ty::String, Ty::List(&Ty::String)],
        names: &["at", "windows", "time zone", "holidays"],
        result: Ty::Bool,
        prepare: Some(Prepare { constants: &[1, 2, 3], make: windows }),
        work: Work::Calendar,
        body: |args, prepared| match (args, prepared) {
            ([Value::Time(at), ..], Prepared::Windows(windows)) => Value::Bool(windows.contains(*at)),
            _ => Value::Absent,
        },
        doc: "the same but for holidays: false on these days of the time zone, from midnight to midnight, also where a \
              window of the day before runs on; dates as `2026-12-25`; a constant list, which may be a param, of at \
              most 1,000 dates",
        examples: &[
            (
                "within(time(\"2026-12-24T10:00:00Z\"), \"Mon-Fri 08:00-18:00\", \"UTC\", [\"2026-12-25\"])",
                "true",
            ),
            (
                "within(time(\"2026-12-25T10:00:00Z\"), \"Mon-Fri 08:00-18:00\", \"UTC\", [\"2026-12-25\"])",
                "false",
            ),
            (
                "within(time(\"2026-12-24T23:30:00Z\"), \"Thu 22:00-06:00\", \"Europe/Berlin\", [\"2026-12-25\"])",
                "false",
            ),
        ],
        ..BASE
    },
];

fn whole<'a>(args: &[Value<'a>], part: fn(i64) -> i64) -> Value<'a> {
    match args {
        [Value::Int(us)] => Value::Int(part(*us)),
        _ => Value::Absent,
    }
}

fn part_of<'a>(args: &[Value<'a>], prepared: &Prepared, part: Part) -> Value<'a> {
    let Some(Value::Time(at)) = args.first() else { return Value::Absent };
    let at = at.in_calendar().0;
    let (seconds, rest) = (at.div_euclid(1_000_000), at.rem_euclid(1_000_000));
    let offset = match prepared {
        Prepared::Zone(zone) => offset_at(seconds, zone),
        _ => 0,
    };
    Value::Int(part(&Civil::of(seconds + offset), rest as u32 * 1000))
}

fn zone(args: &[Option<Constant>]) -> Result<Prepared, (usize, String)> {
    zone_at(args, 1).map(Prepared::Zone)
}

fn zone_at(args: &[Option<Constant>], at: usize) -> Result<TimeZone, (usize, String)> {
    let name = args.get(at).and_then(Option::as_ref).and_then(text).unwrap_or("");
    if name.eq_ignore_ascii_case("utc") || name == "Z" {
        return Ok(TimeZone::UTC);
    }
    // `+02:00`, `-05:30`, as CEL takes them too.
    if let Some(offset) = fixed_offset(name) {
        return Ok(TimeZone::fixed(offset));
    }
    jiff::tz::db().get(name).map_err(|_| {
        let known: Vec<String> = jiff::tz::db().available().map(|zone| zone.to_string()).collect();
        let near = bayplan_diag::suggest::nearest(name, known.iter().map(String::as_str));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        (at, format!("no time zone is called `{name}`{hint}"))
    })
}

fn fixed_offset(name: &str) -> Option<jiff::tz::Offset> {
    let (sign, digits) = match name.as_bytes().first()? {
        b'-' => (-1, &name[1..]),
        b'+' => (1, &name[1..]),
        b'0'..=b'9' => (1, name),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    if minutes > 59 {
        return None;
    }
    jiff::tz::Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

fn windows(args: &[Option<Constant>]) -> Result<Prepared, (usize, String)> {
    let zone = zone_at(args, 2)?;
    let source = args.get(1).and_then(Option::as_ref).and_then(text).unwrap_or("");
    let mut windows = Vec::new();
    for part in source.split(',') {
        let part = part.trim();
        let fault = |why: &str| (1, format!("`{part}` is not a window: {why}"));
        let (days, hours) =
            part.split_once(' ').ok_or_else(|| fault("write days and hours, as in `Mon-Fri 08:00-18:00`"))?;
        let (from, to) =
            hours.trim().split_once('-').ok_or_else(|| fault("write the hours as `08:00-18:00`"))?;
        let (from, to) = match (minute(from), minute(to)) {
            (Some(from), Some(to)) if from < 1440 => (from, to),
            _ => return Err(fault("hours are from 00:00 to 24:00")),
        };
        if from == to {
            let hour = hours.trim().split_once('-').map_or("00:00", |(from, _)| from.trim());
            let day = format!("it ends when it begins; a whole day is `{days} 00:00-24:00`");
            let from_hour =
                format!(", and 24 hours are `{days} {hour}-24:00` with `00:00-{hour}` on the next day");
            return Err(fault(&if from == 0 { day } else { day + &from_hour }));
        }
        let length = if to > from { to - from } else { to + 1440 - from };
        let day = |name: &str| {
            DAYS.iter()
                .position(|known| *known == name.trim())
                .ok_or_else(|| fault("the days are Mon, Tue, Wed, Thu, Fri, Sat and Sun"))
        };
        let (first, last) = match days.split_once('-') {
            Some((first, last)) => (day(first)?, day(last)?),
            None => (day(days)?, day(days)?),
        };
        let mut at = first;
        loop {
            windows.push((at as u8, from, length));
            if at == last {
                break;
            }
            at = (at + 1) % 7;
        }
    }
    let closed = holidays(args.get(3).and_then(Option::as_ref))?;
    Ok(Prepared::Windows(Arc::new(Windows::new(windows, zone).without(closed))))
}

/// Most dates of a list of holidays.
const MOST_HOLIDAYS: usize = 1_000;

/// The dates of a list as days since 1970-01-01; none where there is no list.
fn holidays(list: Option<&Constant>) -> Result<Vec<i64>, (usize, String)> {
    let dates = list.and_then(|list| list.elements()).unwrap_or_default();
    if dates.len() > MOST_HOLIDAYS {
        return Err((
            3,
            format!("a list of holidays has at most {MOST_HOLIDAYS} dates, and this has {}", dates.len()),
        ));
    }
    let day = |date: &Value<'_>| {
        let written = text(date).unwrap_or("");
        day_of(written).map_err(|why| (3, format!("`{written}` is not a date: {why}")))
    };
    dates.iter().map(day).collect()
}

/// A date as `2026-12-25`, in days since 1970-01-01.
fn day_of(date: &str) -> Result<i64, &'static str> {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = date.split('-').collect();
    let (year, month, day) = match &parts[..] {
        [year, month, day]
            if (year.len(), month.len(), day.len()) == (4, 2, 2) && parts.iter().all(|part| digits(part)) =>
        {
            (year.parse(), month.parse(), day.parse())
        }
        _ => return Err("write year, month and day, as in `2026-12-25`"),
    };
    let (Ok(year), Ok(month), Ok(day)) = (year, month, day) else {
        return Err("the calendar has no such day");
    };
    let date = jiff::civil::Date::new(year, month, day).map_err(|_| "the calendar has no such day")?;
    let since = date.since(jiff::civil::Date::constant(1970, 1, 1)).map_err(|_| "it is too far away")?;
    Ok(i64::from(since.get_days()))
}

/// `08:30` as a minute of the day; `24:00` is 1440.
fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let minute = hours.checked_mul(60)?.checked_add(minutes)?;
    (minutes < 60 && minute <= 1440).then_some(minute)
}

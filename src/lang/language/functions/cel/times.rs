//! Parts of timestamps and durations. Time zones may be computed.

use super::calendar::{Civil, offset_at};
use super::{DURATION, METHOD, TIMESTAMP, go, nanoseconds, no_overload, refused};
use crate::lang::language::functions::{Absence, FunctionDef, Work};
use crate::lang::types::Ty;
use crate::lang::types::range::Range;
use crate::lang::types::value::{Cel, Instant, Value};

/// A part of an instant from its calendar and its nanoseconds.
type Part = fn(&Civil, &Instant) -> i64;

/// Two rows for each part of a timestamp, with a time zone and without, and the other rows.
macro_rules! rows {
    ({ $($name:literal $lo:literal $hi:literal ($part:expr) $doc:literal $utc:literal $local:literal;)* }
     $($row:expr;)*) => {
        /// The family's rows.
        pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
            $(
                FunctionDef {
                    name: $name,
                    params: &[TIMESTAMP],
                    names: &["at"],
                    result: Ty::Int,
                    range: Some(|_| Range::whole($lo, $hi)),
                    work: Work::Calendar,
                    body: |args, _| part_of($name, args, $part),
                    doc: concat!($doc, " in UTC"),
                    examples: &[(concat!("timestamp('2026-01-02T03:04:05.25Z').", $name, "()"), $utc)],
                    ..METHOD
                },
                FunctionDef {
                    name: $name,
                    params: &[TIMESTAMP, Ty::String],
                    names: &["at", "time zone"],
                    result: Ty::Int,
                    range: Some(|_| Range::whole($lo, $hi)),
                    absent: Absence::Maybe,
                    work: Work::Calendar,
                    body: |args, _| part_of($name, args, $part),
                    doc: concat!(
                        $doc, " in a time zone, by its name or as an offset; an error if the zone does not exist"
                    ),
                    examples: &[(
                        concat!("timestamp('2026-01-02T03:04:05.25Z').", $name, "('America/New_York')"),
                        $local,
                    )],
                    ..METHOD
                },
            )*
            $($row),*
        ];
    };
}

rows! {
    {
    "getFullYear" 0 10000 (|day, _| day.year) "the year" "2026" "2026";
    "getMonth" 0 11 (|day, _| day.month - 1) "the month (0 to 11)" "0" "0";
    "getDayOfYear" 0 365 (|day, _| day.day_of_year - 1) "the day of the year (0 to 365)" "1" "0";
    "getDayOfMonth" 0 30 (|day, _| day.day - 1) "the day of the month (0 to 30)" "1" "0";
    "getDate" 1 31 (|day, _| day.day) "the day of the month (1 to 31)" "2" "1";
    "getDayOfWeek" 0 6 (|day, _| day.day_of_week) "the day of the week (Sunday is 0)" "5" "4";
    "getHours" 0 23 (|day, _| day.second / 3600) "the hour of the day" "3" "22";
    "getMinutes" 0 59 (|day, _| day.second / 60 % 60) "the minute of the hour" "4" "4";
    "getSeconds" 0 59 (|day, _| day.second % 60) "the second of the minute" "5" "5";
    "getMilliseconds" 0 999 (|_, at| i64::from(at.nanoseconds / 1_000_000))
        "the millisecond of the second" "250" "250";
    }
    FunctionDef {
        body: |args, _| whole("getHours", args, |of| go::in_units(of, 3_600_000_000_000) as i64),
        doc: "the duration in whole hours",
        examples: &[("duration('90m').getHours()", "1")],
        ..OF_DURATION
    };
    FunctionDef {
        name: "getMinutes",
        body: |args, _| whole("getMinutes", args, |of| go::in_units(of, 60_000_000_000) as i64),
        doc: "the duration in whole minutes",
        examples: &[("duration('90m').getMinutes()", "90")],
        ..OF_DURATION
    };
    FunctionDef {
        name: "getSeconds",
        body: |args, _| whole("getSeconds", args, |of| go::in_units(of, 1_000_000_000) as i64),
        doc: "the duration in whole seconds",
        examples: &[("duration('1500ms').getSeconds()", "1")],
        ..OF_DURATION
    };
    FunctionDef {
        name: "getMilliseconds",
        body: |args, _| whole("getMilliseconds", args, |of| of / 1_000_000),
        doc: "the duration in whole milliseconds",
        examples: &[("duration('1.5s').getMilliseconds()", "1500")],
        ..OF_DURATION
    };
}

const OF_DURATION: FunctionDef =
    FunctionDef { name: "getHours", params: &[DURATION], names: &["duration"], result: Ty::Int, ..METHOD };

fn whole<'a>(name: &str, args: &[Value<'a>], part: fn(i64) -> i64) -> Value<'a> {
    match args.first().and_then(nanoseconds) {
        Some(nanoseconds) => Value::Int(part(nanoseconds)),
        None => no_overload(name, args),
    }
}

fn part_of<'a>(name: &str, args: &[Value<'a>], part: Part) -> Value<'a> {
    let Some(Value::Cel(Cel::Instant(at))) = args.first() else { return no_overload(name, args) };
    let offset = match args.get(1).map(Value::as_str) {
        None => 0,
        Some(Some(zone)) => match offset_at(at, zone) {
            Ok(offset) => offset,
            Err(why) => return refused(why),
        },
        Some(None) => return no_overload(name, args),
    };
    Value::Int(part(&Civil::of(at.seconds.saturating_add(offset)), at))
}

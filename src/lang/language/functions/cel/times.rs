//! Parts of timestamps and durations. Time zones may be computed.

use super::calendar::{Civil, offset_in};
use super::{DURATION, METHOD, TIMESTAMP, go, nanoseconds, no_overload, refused};
use crate::language::functions::{Absence, FunctionDef, Work};
use crate::types::Ty;
use crate::types::range::Range;
use crate::types::value::{Cel, Value};

/// A part of an instant, from its second of the calendar and its nanoseconds.
type Part = fn(&Civil, u32) -> i64;

macro_rules! rows {
    ($($name:literal $lo:literal $hi:literal ($part:expr) $doc:literal
        $utc:literal $berlin:literal $new_york:literal;)*) => {
        /// The parts of timestamps, each in UTC and in a time zone.
        pub(in super::super) static PARTS: &[FunctionDef] = &[$(
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
                    $new_york,
                )],
                ..METHOD
            },
        )*];
    };
}

parts_of_instants!(rows);

/// The family's other rows.
pub(in super::super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef {
        body: |args, _| whole("getHours", args, |of| go::in_units(of, 3_600_000_000_000) as i64),
        doc: "the duration in whole hours",
        examples: &[("duration('90m').getHours()", "1")],
        ..OF_DURATION
    },
    FunctionDef {
        name: "getMinutes",
        body: |args, _| whole("getMinutes", args, |of| go::in_units(of, 60_000_000_000) as i64),
        doc: "the duration in whole minutes",
        examples: &[("duration('90m').getMinutes()", "90")],
        ..OF_DURATION
    },
    FunctionDef {
        name: "getSeconds",
        body: |args, _| whole("getSeconds", args, |of| go::in_units(of, 1_000_000_000) as i64),
        doc: "the duration in whole seconds",
        examples: &[("duration('1500ms').getSeconds()", "1")],
        ..OF_DURATION
    },
    FunctionDef {
        name: "getMilliseconds",
        body: |args, _| whole("getMilliseconds", args, |of| of / 1_000_000),
        doc: "the duration in whole milliseconds",
        examples: &[("duration('1.5s').getMilliseconds()", "1500")],
        ..OF_DURATION
    },
];

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
        Some(Some(zone)) => match offset_in(at, zone) {
            Ok(offset) => offset,
            Err(why) => return refused(why),
        },
        Some(None) => return no_overload(name, args),
    };
    Value::Int(part(&Civil::of(at.seconds.saturating_add(offset)), at.nanoseconds))
}

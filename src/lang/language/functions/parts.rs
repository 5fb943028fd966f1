//! The parts of instants, of which both languages have a method with a time zone and one without: one row for both.

/// Calls a macro with a row for each part: its name, the least and the greatest value, the part of a second of the
/// calendar and its nanoseconds, what it means, and its values at 2026-01-02T03:04:05.25Z in UTC, in Berlin and in New
/// York.
macro_rules! parts_of_instants {
    ($rows:ident) => {
        $rows! {
            "getFullYear" 0 10000 (|day, _| day.year) "the year" "2026" "2026" "2026";
            "getMonth" 0 11 (|day, _| day.month - 1) "the month (0 to 11)" "0" "0" "0";
            "getDayOfMonth" 0 30 (|day, _| day.day - 1) "the day of the month (0 to 30)" "1" "1" "0";
            "getDate" 1 31 (|day, _| day.day) "the day of the month (1 to 31)" "2" "2" "1";
            "getDayOfWeek" 0 6 (|day, _| day.day_of_week) "the day of the week (Sunday is 0)" "5" "5" "4";
            "getDayOfYear" 0 365 (|day, _| day.day_of_year - 1) "the day of the year (0 to 365)" "1" "1" "0";
            "getHours" 0 23 (|day, _| day.second / 3600) "the hour of the day" "3" "4" "22";
            "getMinutes" 0 59 (|day, _| day.second / 60 % 60) "the minute of the hour" "4" "4" "4";
            "getSeconds" 0 59 (|day, _| day.second % 60) "the second of the minute" "5" "5" "5";
            "getMilliseconds" 0 999 (|_, nanoseconds| i64::from(nanoseconds / 1_000_000))
                "the millisecond of the second" "250" "250" "250";
        }
    };
}

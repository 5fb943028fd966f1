//! [`Time`] and [`Duration`] in microseconds. The clock itself is never read here: instants are handed in.

use std::ops::{Add, Sub};

/// An instant: microseconds since 1970-01-01 UTC. Handed in by the driver, never running backwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub i64);

/// A length of time in microseconds; may be negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Duration(pub i64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `seconds` as a duration; saturates.
    #[inline]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    /// `milliseconds` as a duration; saturates.
    #[inline]
    pub const fn from_millis(milliseconds: i64) -> Self {
        Self(milliseconds.saturating_mul(1_000))
    }

    /// In seconds.
    pub fn as_seconds_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, by: Duration) -> Time {
        Time(self.0.saturating_add(by.0))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, by: Duration) -> Time {
        Time(self.0.saturating_sub(by.0))
    }
}

impl Sub for Time {
    type Output = Duration;
    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Time {
    /// The first instant of CEL's and protobuf's calendar: 0001-01-01T00:00:00Z.
    pub const FIRST: Self = Self(-62_135_596_800_000_000);
    /// The last instant of CEL's and protobuf's calendar: 9999-12-31T23:59:59.999999Z.
    pub(crate) const LAST: Self = Self(253_402_300_799_999_999);

    /// Reads an RFC 3339 instant as Kubernetes reads it (Go's `time.Parse`); digits beyond
    /// microseconds are dropped. `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        rfc3339::read(text).map(|read| read.at())
    }

    /// [`Time::parse`] of an instant that is a whole number of microseconds.
    pub fn parse_exactly(text: &str) -> Option<Self> {
        rfc3339::read(text).and_then(|read| (read.nanoseconds % 1000 == 0).then_some(read.at()))
    }

    /// Reads an RFC 3339 instant to the nanosecond: seconds since 1970, nanoseconds of the second, and the
    /// seconds east of UTC that it is written with. `None` outside of the calendar too.
    pub fn parse_nanoseconds(text: &str) -> Option<(i64, u32, i32)> {
        rfc3339::read(text).map(|read| (read.seconds, read.nanoseconds, read.offset))
    }

    /// Writes the instant as Kubernetes' `metav1.Time`: RFC 3339 in UTC, whole seconds. Instants
    /// outside of the calendar stop at its ends.
    pub fn to_rfc3339(self) -> String {
        rfc3339::write(Self(self.in_calendar().0.div_euclid(1_000_000).saturating_mul(1_000_000)))
    }

    /// Writes the instant in RFC 3339 and UTC, with as many decimals as it has. Instants outside of
    /// the calendar stop at its ends.
    pub fn to_rfc3339_exactly(self) -> String {
        rfc3339::write(self)
    }

    /// The end of a day in UTC, which is written as `2027-01-31`. `None`: the text is not a day.
    pub fn end_of_day(day: &str) -> Option<Self> {
        let day: jiff::civil::Date = day.parse().ok()?;
        // The instants of jiff end a day before the calendar.
        let start = Self::parse(&format!("{day}T00:00:00Z"))?;
        Some((start + Duration::from_seconds(86_400)).in_calendar())
    }

    /// The instant, or the end of the calendar that lies next to it.
    pub fn in_calendar(self) -> Self {
        self.clamp(Self::FIRST, Self::LAST)
    }
}

mod rfc3339 {
    //! RFC 3339 as Go's `time.Parse` reads it, which takes a little more: hours of one digit, a comma
    //! before decimals, and offsets up to 24:60. The calendar is jiff's.

    use super::Time;
    use jiff::civil::date;

    /// What a text says.
    pub(super) struct Read {
        /// Since 1970.
        pub seconds: i64,
        /// Of the second.
        pub nanoseconds: u32,
        /// Seconds east of UTC.
        pub offset: i32,
    }

    impl Read {
        /// The instant; digits beyond microseconds are dropped.
        pub(super) fn at(&self) -> Time {
            Time(self.seconds * 1_000_000 + i64::from(self.nanoseconds / 1000))
        }
    }

    pub(super) fn read(text: &str) -> Option<Read> {
        let (year, rest) = digits(text, 4)?;
        let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
        let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
        let rest = rest.strip_prefix('T')?;
        let (hour, rest) = digits(rest, 2).or_else(|| digits(rest, 1))?;
        let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
        let (second, rest) = digits(rest.strip_prefix(':')?, 2)?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let (nanoseconds, rest) = decimals(rest);
        let offset = if rest == "Z" { 0 } else { offset(rest)? };
        let day = jiff::civil::Date::new(year as i16, month as i8, day as i8).ok()?;
        let days = i64::from(date(1970, 1, 1).until(day).ok()?.get_days());
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
        let read = Read {
            seconds,
            nanoseconds: u32::try_from(nanoseconds).unwrap_or(0),
            offset: i32::try_from(offset).unwrap_or(0),
        };
        (read.at() == read.at().in_calendar()).then_some(read)
    }

    pub(super) fn write(at: Time) -> String {
        let at = at.in_calendar().0;
        let (seconds, rest) = (at.div_euclid(1_000_000), at.rem_euclid(1_000_000));
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let day = date(1970, 1, 1).saturating_add(jiff::Span::new().days(days));
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let mut text = format!("{day}T{hour:02}:{minute:02}:{second:02}");
        if rest > 0 {
            text.push('.');
            text.push_str(format!("{rest:06}").trim_end_matches('0'));
        }
        text.push('Z');
        text
    }

    /// A number of so many digits.
    fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
        let (number, rest) = text.split_at_checked(count)?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some((number.parse().ok()?, rest))
    }

    /// `.25` or `,25` in nanoseconds; digits beyond them are dropped.
    fn decimals(text: &str) -> (i64, &str) {
        let Some(behind) = text.strip_prefix(['.', ',']) else { return (0, text) };
        let length = behind.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return (0, text);
        }
        let (written, rest) = behind.split_at(length);
        let nanoseconds = written.get(..length.min(9)).unwrap_or("");
        (format!("{nanoseconds:0<9}").parse().unwrap_or(0), rest)
    }

    /// `+02:00` in seconds.
    fn offset(text: &str) -> Option<i64> {
        let sign = match text.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (hours, rest) = digits(text.get(1..)?, 2)?;
        let (minutes, rest) = digits(rest.strip_prefix(':')?, 2)?;
        (rest.is_empty() && hours <= 24 && minutes <= 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_last_day_of_the_calendar_has_an_end() {
        for (day, end) in [
            ("9999-12-31", Some(Time::LAST)),
            ("9999-12-30", Time::parse("9999-12-31T00:00:00Z")),
            ("2024-02-29", Time::parse("2024-03-01T00:00:00Z")),
            ("2023-02-29", None),
            ("10000-01-01", None),
        ] {
            assert_eq!(Time::end_of_day(day), end, "{day}");
        }
    }

    #[test]
    fn the_calendar_ends_with_the_year_9999() {
        for (text, wanted) in [
            ("0001-01-01T00:00:00Z", Some(Time::FIRST)),
            ("9999-12-31T23:59:59.999999Z", Some(Time::LAST)),
            ("9999-12-31T23:59:59.999999999Z", Some(Time::LAST)),
            ("9999-12-31T23:59:59-00:01", None),
            ("0001-01-01T00:00:00+00:01", None),
            ("0000-12-31T23:59:59-01:00", Some(Time::FIRST + Duration(3_599_000_000))),
            ("10000-01-01T00:00:00Z", None),
            ("1970-01-01T02:00:00+02:00", Some(Time(0))),
            ("1969-12-31T23:59:59.5Z", Some(Time(-500_000))),
            ("2024-02-29T00:00:00Z", Some(Time(1_709_164_800_000_000))),
            ("2023-02-29T00:00:00Z", None),
            ("2023-01-01T00:00:60Z", None),
            ("2023-01-01 00:00:00Z", None),
            ("2023-01-01t00:00:00z", None),
            ("2023-01-01T00:00Z", None),
            ("2023-01-01T00:00:00", None),
            ("-2023-01-01T00:00:00Z", None),
        ] {
            assert_eq!(Time::parse(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_finer_than_a_microsecond_is_told() {
        assert_eq!(Time::parse_exactly("1970-01-01T00:00:00.0000010Z"), Some(Time(1)));
        assert_eq!(Time::parse_exactly("1970-01-01T00:00:00.0000001Z"), None);
        assert_eq!(Time::parse("1970-01-01T00:00:00.0000001Z"), Some(Time(0)));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for at in [Time::FIRST, Time::LAST, Time(0), Time(-1), Time(1_500_000), Time(253_402_293_600_000_000)]
        {
            assert_eq!(Time::parse_exactly(&at.to_rfc3339_exactly()), Some(at));
        }
        assert_eq!(Time::LAST.to_rfc3339(), "9999-12-31T23:59:59Z");
        assert_eq!(Time(i64::MAX).to_rfc3339(), "9999-12-31T23:59:59Z");
        assert_eq!(Time(i64::MIN).to_rfc3339_exactly(), "0001-01-01T00:00:00Z");
        assert_eq!(Time(-1).to_rfc3339_exactly(), "1969-12-31T23:59:59.999999Z");
    }
}

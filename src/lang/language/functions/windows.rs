//! [`Windows`]: weekly windows in a time zone, as `within` has them. Instants are found by the edges of
//! the windows and of the zone's offsets, so the cost does not depend on how long a window lasts.

use crate::model::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Minutes of a week.
const WEEK: usize = 7 * 1440;
/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;
/// Minutes from a Monday to 1970-01-01, a Thursday.
const EPOCH: i64 = 3 * 1440;
/// How far ahead a change is looked for: in two weeks every window starts and ends, also one that a
/// change to summer time skips in the first of them.
const AHEAD: i64 = 15 * 1440 * MINUTE;

/// The weekly windows of a `within`.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The minutes of the week, from Monday, at which a window starts or ends and none that it
    /// touches goes on.
    edges: Vec<u16>,
    /// Whether the last minute of the week lies in a window.
    inside_at_end: bool,
    /// The time zone.
    zone: TimeZone,
}

impl Windows {
    /// Windows from their day (0 is Monday), first minute of the day, and minutes that they last.
    pub fn new(windows: impl IntoIterator<Item = (u8, u16, u16)>, zone: TimeZone) -> Self {
        // By how many windows more are open in a minute than in the minute before it.
        let mut opened = vec![0i64; WEEK];
        let mut open = 0i64;
        for (day, from, length) in windows {
            let start = (usize::from(day) * 1440 + usize::from(from)) % WEEK;
            let end = start + usize::from(length).min(WEEK);
            opened[start] += 1;
            opened[end % WEEK] -= 1;
            // Open in the last minute of the week.
            open += i64::from(end >= WEEK);
        }
        let mut edges = Vec::new();
        let mut inside = open > 0;
        for (minute, opened) in opened.iter().enumerate() {
            open += opened;
            if (open > 0) != inside {
                inside = open > 0;
                edges.push(u16::try_from(minute).unwrap_or(u16::MAX));
            }
        }
        Self { edges, inside_at_end: inside, zone }
    }

    /// Whether an instant lies in one of the windows.
    pub fn contains(&self, at: Time) -> bool {
        let minute = self.local(at).1;
        // The state changes at each edge that was passed in this week.
        let passed = self.edges.partition_point(|edge| i64::from(*edge) <= minute);
        self.inside_at_end != (passed % 2 == 1)
    }

    /// The next instant after `at` at which [`Windows::contains`] changes; none when it never does.
    pub fn next_change(&self, at: Time) -> Option<Time> {
        let inside = self.contains(at);
        let mut from = at;
        // Between two transitions of the zone the next edge changes the state.
        while from.0.saturating_sub(at.0) <= AHEAD {
            let next = match (self.next_edge(from), self.next_transition(from)) {
                (Some(edge), Some(transition)) => edge.min(transition),
                (edge, transition) => edge.or(transition)?,
            };
            if self.contains(next) != inside {
                return Some(next);
            }
            from = next;
        }
        None
    }

    /// The next edge after an instant if the offset of the zone stays as it is.
    fn next_edge(&self, at: Time) -> Option<Time> {
        let (offset, minute) = self.local(at);
        let passed = self.edges.partition_point(|edge| i64::from(*edge) <= minute);
        let ahead = match self.edges.get(passed) {
            Some(edge) => i64::from(*edge) - minute,
            None => i64::from(*self.edges.first()?) + WEEK as i64 - minute,
        };
        let begun = at.0.saturating_add(offset).div_euclid(MINUTE);
        Some(Time(begun.saturating_add(ahead).saturating_mul(MINUTE).saturating_sub(offset)))
    }

    /// The next instant at which the offset of the zone changes.
    fn next_transition(&self, at: Time) -> Option<Time> {
        let next = self.zone.following(timestamp(at)).next()?.timestamp();
        Some(Time(next.as_microsecond())).filter(|next| *next > at)
    }

    /// The offset of the zone from UTC in microseconds, and the minute of the week there.
    fn local(&self, at: Time) -> (i64, i64) {
        let offset = i64::from(self.zone.to_offset(timestamp(at)).seconds()) * 1_000_000;
        let minute = at.0.saturating_add(offset).div_euclid(MINUTE) + EPOCH;
        (offset, minute.rem_euclid(WEEK as i64))
    }
}

/// An instant of the calendar; others stop at its ends.
fn timestamp(at: Time) -> Timestamp {
    let end = if at.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(at.0).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: minutes since the last beginning of a window.
    fn defined(windows: &[(u8, u16, u16)], zone: &TimeZone, at: Time) -> bool {
        let at = timestamp(at).to_zoned(zone.clone());
        let day = i64::from(at.weekday().to_monday_zero_offset());
        let now = day * 1440 + i64::from(at.hour()) * 60 + i64::from(at.minute());
        windows.iter().any(|(day, from, length)| {
            let begin = i64::from(*day) * 1440 + i64::from(*from);
            (now - begin).rem_euclid(10_080) < i64::from(*length)
        })
    }

    /// Windows and zones at random, around the changes of clocks: both as the definition has them,
    /// minute by minute.
    #[test]
    fn edges_are_where_the_definition_changes() {
        let zones = [
            "UTC",
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "Pacific/Apia",
            "Asia/Kathmandu",
        ];
        let mut random = crate::testing::Random(11);
        for round in 0..200 {
            let zone = jiff::tz::db().get(random.of(&zones)).unwrap_or(TimeZone::UTC);
            let mut windows = Vec::new();
            for _ in 0..1 + random.below(4) {
                let length = [1, 20, 60, 480, 1439, 1440][random.below(6)];
                // Around the hours at which clocks change, and anywhere.
                let from = if random.one_in(2) { 50 + random.below(150) } else { random.below(1440) };
                windows.push((random.below(7) as u8, from as u16, length));
            }
            let fast = Windows::new(windows.iter().copied(), zone.clone());
            let around =
                [1_774_746_000, 1_792_890_000, 1_772_953_200, 1_325_239_200, 1_775_314_800][random.below(5)];
            let start = around - 6 * 86_400 + random.below(7 * 86_400) as i64;
            let at = Time(start * 1_000_000 + random.below(60_000_000) as i64);
            assert_eq!(
                fast.contains(at),
                defined(&windows, &zone, at),
                "{round}: {windows:?} {zone:?} {at:?}"
            );
            let inside = defined(&windows, &zone, at);
            let minutes = (1..15 * 1440).map(|minute| Time((at.0.div_euclid(MINUTE) + minute) * MINUTE));
            let expected = minutes.into_iter().find(|at| defined(&windows, &zone, *at) != inside);
            assert_eq!(fast.next_change(at), expected, "{round}: {windows:?} {zone:?} {at:?}");
        }
    }

    #[test]
    fn a_window_of_the_whole_week_never_changes() {
        let days = (0..7).map(|day| (day, 600, 1440));
        let always = Windows::new(days, TimeZone::UTC);
        assert!(always.contains(Time(0)) && always.next_change(Time(0)).is_none());
        let never = Windows::new([], TimeZone::UTC);
        assert!(!never.contains(Time(0)) && never.next_change(Time(0)).is_none());
    }
}

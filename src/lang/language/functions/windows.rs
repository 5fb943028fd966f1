//! [`Windows`]: weekly windows in a time zone, but for some days, as `within` has them. Instants are found by the edges
//! of the windows, of the days and of the zone's offsets, so the cost does not depend on how long a window lasts.

use bayplan_model::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Minutes of a week.
const WEEK: usize = 7 * 1440;
/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;
/// Minutes from a Monday to 1970-01-01, a Thursday.
const EPOCH: i64 = 3 * 1440;
/// Microseconds of a day.
const DAY: i64 = 1440 * MINUTE;
/// How far ahead a change is looked for: in two weeks without a closed day every window starts and ends, also one that
/// a change to summer time skips in the first of them.
const AHEAD: i64 = 15 * DAY;
/// More than offsets of a zone differ by.
const OFFSETS: i64 = 3 * DAY;

/// The weekly windows of a `within`.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The minutes of the week, from Monday, at which a window starts or ends and none that it
    /// touches goes on.
    edges: Vec<u16>,
    /// Whether the last minute of the week lies in a window.
    inside_at_end: bool,
    /// The first closed day and the first open one after it, in order and apart: days since 1970-01-01.
    closed: Vec<(i64, i64)>,
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
        Self { edges, inside_at_end: inside, closed: Vec::new(), zone }
    }

    /// The windows without these days of the zone, given in days since 1970-01-01.
    pub fn without(mut self, days: impl IntoIterator<Item = i64>) -> Self {
        let mut days: Vec<i64> = days.into_iter().collect();
        days.sort_unstable();
        for day in days {
            match self.closed.last_mut() {
                Some((_, end)) if day <= *end => *end = (*end).max(day + 1),
                _ => self.closed.push((day, day + 1)),
            }
        }
        self
    }

    /// Whether an instant lies in one of the windows, and not on a closed day.
    pub fn contains(&self, at: Time) -> bool {
        let (_, day, minute) = self.local(at);
        // The state changes at each edge that was passed in this week.
        let passed = self.edges.partition_point(|edge| i64::from(*edge) <= minute);
        self.inside_at_end != (passed % 2 == 1) && !self.is_closed(day)
    }

    /// The next instant after `at` at which [`Windows::contains`] changes; none when it never does.
    pub fn next_change(&self, at: Time) -> Option<Time> {
        if self.edges.is_empty() && !self.inside_at_end {
            return None;
        }
        let inside = self.contains(at);
        let mut from = at;
        while from.0.saturating_sub(at.0.max(self.all_open())) <= AHEAD {
            from = match self.quiet_until(from) {
                Some(quiet) => quiet,
                // Between two transitions of the zone the next edge, or the end of a day, changes the state.
                None => {
                    let next = [self.next_edge(from), self.next_day(from), self.next_transition(from)];
                    next.into_iter().flatten().min()?
                }
            };
            if self.contains(from) != inside {
                return Some(from);
            }
        }
        None
    }

    fn is_closed(&self, day: i64) -> bool {
        let begun = self.closed.partition_point(|(first, _)| *first <= day);
        begun.checked_sub(1).and_then(|last| self.closed.get(last)).is_some_and(|(_, end)| day < *end)
    }

    /// An instant from which no day is closed, wherever the zone is.
    fn all_open(&self) -> i64 {
        self.closed.last().map_or(i64::MIN, |(_, end)| end.saturating_mul(DAY).saturating_add(OFFSETS))
    }

    /// The first day after a day from which days are closed, or open again.
    fn turn_of_days(&self, day: i64) -> Option<i64> {
        let over = self.closed.partition_point(|(_, end)| *end <= day);
        self.closed.get(over).map(|(first, end)| if *first <= day { *end } else { *first })
    }

    /// A later instant up to which nothing changes, whatever the zone does: days are closed, or windows have no edges,
    /// long enough.
    fn quiet_until(&self, at: Time) -> Option<Time> {
        let (_, day, _) = self.local(at);
        if !self.edges.is_empty() && !self.is_closed(day) {
            return None;
        }
        let turn = self.turn_of_days(day)?.saturating_mul(DAY).saturating_sub(OFFSETS);
        Some(Time(turn)).filter(|turn| *turn > at)
    }

    /// The next turn from open to closed days, or back, if the offset of the zone stays as it is.
    fn next_day(&self, at: Time) -> Option<Time> {
        let (offset, day, _) = self.local(at);
        Some(Time(self.turn_of_days(day)?.saturating_mul(DAY).saturating_sub(offset)))
    }

    /// The next edge after an instant if the offset of the zone stays as it is.
    fn next_edge(&self, at: Time) -> Option<Time> {
        let (offset, _, minute) = self.local(at);
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

    /// The offset of the zone from UTC in microseconds, and the day since 1970-01-01 and the minute of the week there.
    fn local(&self, at: Time) -> (i64, i64, i64) {
        let offset = i64::from(self.zone.to_offset(timestamp(at)).seconds()) * 1_000_000;
        let clock = at.0.saturating_add(offset);
        let minute = clock.div_euclid(MINUTE) + EPOCH;
        (offset, clock.div_euclid(DAY), minute.rem_euclid(WEEK as i64))
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

    /// The definition: the date is none of these days.
    fn open(days: &[i64], zone: &TimeZone, at: Time) -> bool {
        let date = timestamp(at).to_zoned(zone.clone()).date();
        let epoch = jiff::civil::date(1970, 1, 1);
        !days.iter().any(|day| i64::from((date - epoch).get_days()) == *day)
    }

    /// Windows, closed days and zones at random, around the changes of clocks and of years: all as the definitions have
    /// them, minute by minute.
    #[test]
    fn edges_are_where_the_definition_changes() {
        // Clocks change at midnight in Santiago, and by a day in Apia.
        let zones = [
            "UTC",
            "Europe/Berlin",
            "America/New_York",
            "America/Santiago",
            "Australia/Lord_Howe",
            "Pacific/Apia",
            "Asia/Kathmandu",
        ];
        let mut random = bayplan_model::testing::Random(11);
        for round in 0..300 {
            let zone = jiff::tz::db().get(random.of(&zones)).unwrap_or(TimeZone::UTC);
            let mut windows = Vec::new();
            for _ in 0..1 + random.below(4) {
                let length = [1, 20, 60, 480, 1439, 1440][random.below(6)];
                // Around the hours at which clocks change, and anywhere.
                let from = if random.one_in(2) { 50 + random.below(150) } else { random.below(1440) };
                windows.push((random.below(7) as u8, from as u16, length));
            }
            if random.one_in(5) {
                windows = (0..7).map(|day| (day, 0, 1440)).collect();
            }
            let around = [
                1_774_746_000,
                1_792_890_000,
                1_772_953_200,
                1_325_239_200,
                1_775_314_800,
                1_767_225_600,
                1_775_358_000,
                1_788_667_200,
            ][random.below(8)];
            let start = around - 6 * 86_400 + random.below(7 * 86_400) as i64;
            let mut days = Vec::new();
            if random.one_in(2) {
                let of_start = start.div_euclid(86_400);
                days.extend((0..random.below(6)).map(|_| of_start + random.below(16) as i64 - 1));
                // Holidays in a row, which take all of a window.
                let first = of_start + random.below(12) as i64 - 1;
                days.extend((0..random.below(25) as i64).map(|day| first + day));
            }
            let fast = Windows::new(windows.iter().copied(), zone.clone()).without(days.iter().copied());
            let slow = |at: Time| defined(&windows, &zone, at) && open(&days, &zone, at);
            let at = Time(start * 1_000_000 + random.below(60_000_000) as i64);
            let case = format!("{round}: {windows:?} {days:?} {zone:?} {at:?}");
            assert_eq!(fast.contains(at), slow(at), "{case}");
            let inside = slow(at);
            let mut minutes = (1..55 * 1440).map(|minute| Time((at.0.div_euclid(MINUTE) + minute) * MINUTE));
            let expected = minutes.find(|at| slow(*at) != inside);
            assert_eq!(fast.next_change(at), expected, "{case}");
        }
    }

    #[test]
    fn a_closed_day_is_found_however_far_away_it_is() {
        let always = || Windows::new((0..7).map(|day| (day, 0, 1440)), TimeZone::UTC);
        // 2071-01-02.
        let far = always().without([36_891]);
        assert_eq!(far.next_change(Time(0)), Some(Time(36_891 * DAY)));
        assert_eq!(far.next_change(Time(36_891 * DAY)), Some(Time(36_892 * DAY)));
        assert_eq!(far.next_change(Time(36_892 * DAY)), None);
        let berlin = jiff::tz::db().get("Europe/Berlin").unwrap();
        let mondays = Windows::new([(0, 600, 60)], berlin).without(20_000..20_366);
        let change = mondays.next_change(Time(20_000 * DAY)).unwrap();
        assert_eq!(timestamp(change).to_string(), "2025-10-06T08:00:00Z");
    }

    #[test]
    fn a_window_of_the_whole_week_never_changes() {
        let days = (0..7).map(|day| (day, 600, 1440));
        let always = Windows::new(days, TimeZone::UTC);
        assert!(always.contains(Time(0)) && always.next_change(Time(0)).is_none());
        let never = Windows::new([], TimeZone::UTC);
        assert!(!never.contains(Time(0)) && never.next_change(Time(0)).is_none());
        assert!(never.without([1, 2]).next_change(Time(0)).is_none());
    }
}

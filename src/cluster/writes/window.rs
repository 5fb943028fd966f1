//! Which call goes next: one window of open requests for all calls about pods, for their events, and
//! for the status of other objects. Urgent calls (bindings, and the reads of a binding whose outcome is
//! unknown) go first; the others get every 32nd call and at most a quarter of the window while urgent
//! calls wait, and have all of it otherwise. A few places beside the window are for urgent calls only,
//! so that a binding never waits for a patch or an event to end. With a limit of our own on calls,
//! bindings and patches share its tokens. A class that the server throttles gets a narrower part of the
//! window, which widens again call by call. `effects` calls this module, which neither waits nor sends.

use crate::api::limiter::{CLASSES, Class, Limits};
use std::time::Duration;
use tokio::time::Instant;

const URGENT: [Class; 2] = [Class::Read, Class::Bind];
/// In turns.
const OTHERS: [Class; 3] = [Class::Write, Class::Event, Class::Status];
/// While both wait, one call of this many is not urgent. Each event costs the API server as much as
/// half a binding: with one call of four, a burst of bindings takes 15 % longer, and its last event is
/// written no earlier.
const TURN: usize = 32;
/// While both wait, the others have at most one place of this many, and one token of this many.
const SHARE: usize = 4;
/// One place of this many is added for urgent calls only.
const BESIDE: usize = 8;

/// The open requests of a class.
#[derive(Clone, Copy)]
struct Part {
    open: usize,
    /// Maximum number of open requests: halved when the server throttles, then widened.
    width: f64,
    /// When it was halved.
    halved: Option<Instant>,
}

/// The window of open requests.
pub(super) struct Window {
    at_once: usize,
    parts: [Part; CLASSES],
    /// The number of urgent calls since the last other one, while both waited.
    urgent_in_turn: usize,
    /// The number of bindings since the last patch, while both waited.
    bindings_in_turn: usize,
    /// The class of the last call that was not urgent.
    last_other: Class,
}

impl Window {
    /// A window of this many requests.
    pub(crate) fn new(at_once: usize) -> Self {
        let part = Part { open: 0, width: at_once as f64, halved: None };
        Self {
            at_once,
            parts: [part; CLASSES],
            urgent_in_turn: 0,
            bindings_in_turn: 0,
            last_other: Class::Event,
        }
    }

    /// The number of open requests of these classes.
    fn open(&self, classes: &[Class]) -> usize {
        classes.iter().map(|class| self.parts[*class as usize].open).sum()
    }

    /// Opens a request of the class that goes next, of those with a waiting call. `Err`: none may go
    /// now; a limit may admit one at that instant.
    pub(crate) fn next(
        &mut self,
        limits: &Limits,
        now: Instant,
        waits: impl Fn(Class) -> bool,
    ) -> Result<Class, Option<Instant>> {
        let mut again: Option<Instant> = None;
        let mut later = |at: Instant| again = Some(again.map_or(at, |other| other.min(at)));
        let mut may = [false; CLASSES];
        for class in URGENT.into_iter().chain(OTHERS) {
            let part = &self.parts[class as usize];
            may[class as usize] = waits(class)
                && part.open < part.width as usize
                && match limits.paused(class, now) {
                    Some(until) => {
                        later(until);
                        false
                    }
                    None => true,
                };
        }
        while let Some(mut class) = self.choose(&may) {
            if class == Class::Bind && self.next_token_is_for_a_patch(limits, &may) {
                class = Class::Write;
            }
            match limits.take(class, now) {
                Ok(()) => {
                    self.opened(class, &may);
                    return Ok(class);
                }
                Err(at) => {
                    later(at);
                    may[class as usize] = false;
                    // They share a limit, so there is no token for the other, either.
                    if matches!(class, Class::Bind | Class::Write) {
                        may[Class::Bind as usize] = false;
                        may[Class::Write as usize] = false;
                    }
                }
            }
        }
        Err(again)
    }

    /// The class that goes next, of those that may.
    fn choose(&self, may: &[bool; CLASSES]) -> Option<Class> {
        if self.is_full() && self.open(&URGENT) >= self.at_once / BESIDE {
            return None;
        }
        let is_ready = |class: &Class| may[*class as usize];
        let last = OTHERS.iter().position(|class| *class == self.last_other).unwrap_or_default();
        let turns = OTHERS.into_iter().cycle().skip(last + 1).take(OTHERS.len());
        let urgent = URGENT.into_iter().find(is_ready);
        let other = turns.into_iter().find(is_ready).filter(|_| !self.is_full());
        let share = self.open(&OTHERS) < (self.at_once / SHARE).max(1);
        match urgent {
            None => other,
            Some(_) if share && other.is_some() && self.urgent_in_turn >= TURN - 1 => other,
            Some(_) => urgent,
        }
    }

    fn is_full(&self) -> bool {
        self.open(&URGENT) + self.open(&OTHERS) >= self.at_once
    }

    /// Whether a patch gets the next token of a limit that it shares with bindings.
    fn next_token_is_for_a_patch(&self, limits: &Limits, may: &[bool; CLASSES]) -> bool {
        may[Class::Write as usize]
            && self.bindings_in_turn >= SHARE - 1
            && limits.has_rate()
            && !self.is_full()
    }

    fn opened(&mut self, class: Class, may: &[bool; CLASSES]) {
        self.parts[class as usize].open += 1;
        match class {
            Class::Write => self.bindings_in_turn = 0,
            Class::Bind if may[Class::Write as usize] => self.bindings_in_turn += 1,
            _ => {}
        }
        if OTHERS.contains(&class) {
            self.last_other = class;
            self.urgent_in_turn = 0;
        } else if OTHERS.iter().any(|other| may[*other as usize]) {
            self.urgent_in_turn += 1;
        }
    }

    /// A request ended that was open for `took`; `throttled`: the server answered 429.
    pub(crate) fn closed(&mut self, class: Class, now: Instant, took: Duration, throttled: bool) {
        let most = self.at_once as f64;
        let part = &mut self.parts[class as usize];
        part.open = part.open.saturating_sub(1);
        if !throttled {
            part.width = (part.width + 1.0 / part.width).min(most);
        } else if part.halved.is_none_or(|halved| halved + took <= now) {
            // Requests that were open at that time have the same cause.
            part.width = (part.width / 2.0).max(1.0);
            part.halved = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The classes of the next calls while `waits` wait, until none may go.
    fn opened(window: &mut Window, limits: &Limits, waits: &[Class]) -> Vec<Class> {
        let now = Instant::now();
        std::iter::from_fn(|| window.next(limits, now, |class| waits.contains(&class)).ok()).collect()
    }

    fn count(opened: &[Class], class: Class) -> usize {
        opened.iter().filter(|other| **other == class).count()
    }

    #[test]
    fn bindings_get_all_but_one_of_32_calls_while_others_wait() {
        let (mut window, limits, now) = (Window::new(32), Limits::unlimited(), Instant::now());
        let mut next = Vec::new();
        for _ in 0..64 {
            let waits = |class| matches!(class, Class::Bind | Class::Write | Class::Event);
            let class = window.next(&limits, now, waits).unwrap();
            window.closed(class, now, Duration::ZERO, false);
            next.push(class);
        }
        assert_eq!(next[..31], [Class::Bind; 31], "bindings first");
        assert_eq!([Class::Bind, Class::Write, Class::Event].map(|class| count(&next, class)), [62, 1, 1]);
    }

    #[test]
    fn a_class_alone_has_the_whole_window() {
        for class in [Class::Read, Class::Bind, Class::Write, Class::Event, Class::Status] {
            assert_eq!(opened(&mut Window::new(32), &Limits::unlimited(), &[class]), [class; 32]);
        }
    }

    #[test]
    fn a_binding_takes_each_place_that_others_leave() {
        let (mut window, limits, now) = (Window::new(32), Limits::unlimited(), Instant::now());
        assert_eq!(opened(&mut window, &limits, &[Class::Event]).len(), 32);
        let mut next = Vec::new();
        for _ in 0..32 {
            window.closed(Class::Event, now, Duration::ZERO, false);
            next.push(
                window.next(&limits, now, |class| matches!(class, Class::Bind | Class::Event)).unwrap(),
            );
        }
        assert_eq!(next[..31], [Class::Bind; 31], "{next:?}");
        assert_eq!(next[31], Class::Event);
    }

    #[test]
    fn while_bindings_wait_others_have_a_quarter_of_the_places() {
        let (mut window, limits, now) = (Window::new(32), Limits::unlimited(), Instant::now());
        let mut longest = 0;
        // Bindings are answered at once, events not at all.
        for _ in 0..1_000 {
            if window.next(&limits, now, |class| matches!(class, Class::Bind | Class::Event))
                == Ok(Class::Bind)
            {
                window.closed(Class::Bind, now, Duration::ZERO, false);
            }
            longest = longest.max(window.open(&OTHERS));
        }
        assert_eq!(longest, 8);
    }

    #[test]
    fn a_binding_has_a_place_when_patches_and_events_have_taken_the_window() {
        let (mut window, limits) = (Window::new(32), Limits::unlimited());
        assert_eq!(opened(&mut window, &limits, &[Class::Write, Class::Event]).len(), 32);
        assert_eq!(
            opened(&mut window, &limits, &[Class::Bind, Class::Write, Class::Event]),
            [Class::Bind; 4]
        );
        let (now, mut window) = (Instant::now(), Window::new(32));
        assert_eq!(opened(&mut window, &limits, &[Class::Bind]).len(), 32, "alone they have the window");
        window.closed(Class::Bind, now, Duration::ZERO, false);
        assert_eq!(opened(&mut window, &limits, &[Class::Bind]).len(), 1);
    }

    #[test]
    fn patches_have_a_quarter_of_the_tokens_that_they_share_with_bindings() {
        let (limits, mut window, mut now) = (Limits::new(1.0, 1), Window::new(32), Instant::now());
        let mut taken = Vec::new();
        // Events have tokens of their own and wait all the time.
        while taken.len() < 80 {
            let waits = |class| matches!(class, Class::Bind | Class::Write | Class::Event);
            match window.next(&limits, now, waits) {
                Ok(class) => {
                    taken.push(class);
                    window.closed(class, now, Duration::ZERO, false);
                }
                Err(again) => now = again.unwrap(),
            }
        }
        let counts = [Class::Bind, Class::Write, Class::Event].map(|class| count(&taken, class));
        assert_eq!(counts, [30, 10, 40], "{taken:?}");
    }

    #[test]
    fn patches_events_and_statuses_take_turns_behind_bindings() {
        let (mut window, limits, now) = (Window::new(32), Limits::unlimited(), Instant::now());
        let mut next = |waits: fn(Class) -> bool| {
            let class = window.next(&limits, now, waits).unwrap();
            window.closed(class, now, Duration::ZERO, false);
            class
        };
        let others: Vec<_> = (0..9).map(|_| next(|class| OTHERS.contains(&class))).collect();
        for class in OTHERS {
            assert_eq!(count(&others, class), 3, "{others:?}");
        }
        let all: Vec<_> = (0..96).map(|_| next(|class| class != Class::Read)).collect();
        let counts = [Class::Bind, Class::Write, Class::Event, Class::Status].map(|class| count(&all, class));
        assert_eq!(counts, [93, 1, 1, 1]);
    }

    #[test]
    fn a_paused_binding_leaves_the_window_to_others() {
        let limits = Limits::unlimited();
        limits.pause(Class::Bind, Duration::from_secs(5));
        let mut window = Window::new(32);
        assert_eq!(opened(&mut window, &limits, &[Class::Bind, Class::Event]), [Class::Event; 32]);
        let mut window = Window::new(32);
        let again = window.next(&limits, Instant::now(), |class| class == Class::Bind);
        assert!(again.unwrap_err().is_some(), "it tells when to ask again");
    }

    #[test]
    fn the_next_token_is_for_a_binding() {
        let (limits, mut window, now) = (Limits::new(1.0, 1), Window::new(32), Instant::now());
        let bind_and_write = |class| matches!(class, Class::Bind | Class::Write);
        assert_eq!(window.next(&limits, now, bind_and_write), Ok(Class::Bind));
        let again = window.next(&limits, now, bind_and_write).unwrap_err().unwrap();
        assert_eq!(window.next(&limits, again, bind_and_write), Ok(Class::Bind));
        assert_eq!(window.next(&limits, now, |class| class == Class::Event), Ok(Class::Event));
    }

    #[test]
    fn throttling_narrows_its_class_once_for_what_was_open_and_success_widens_it() {
        let (mut window, limits, start) = (Window::new(32), Limits::unlimited(), Instant::now());
        assert_eq!(opened(&mut window, &limits, &[Class::Bind]).len(), 32);
        let took = Duration::from_millis(5);
        for _ in 0..32 {
            window.closed(Class::Bind, start, took, true);
        }
        assert_eq!(opened(&mut window, &limits, &[Class::Bind]).len(), 16);
        assert_eq!(opened(&mut window, &limits, &[Class::Event]).len(), 16, "the rest of the window");
        for _ in 0..16 {
            window.closed(Class::Bind, start + Duration::from_secs(1), took, false);
        }
        assert!(window.parts[Class::Bind as usize].width > 16.5);
    }
}

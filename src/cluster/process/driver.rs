//! The loop that owns the scheduler, on one thread: feeds it Inputs, runs scheduling attempts,
//! wakes it at the times it asks for, and hands its Effects on. Nothing else calls `step`. Other
//! threads read the scheduler by sending a closure.

use super::inbox::{Message, Queue};
use bayplan_model::{Duration as Span, Time};
use bayplan_scheduler::{Effect, Input};
use futures::future::BoxFuture;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The driven state machine: the scheduler, or a simpler one in tests.
pub trait Machine: Send + 'static {
    /// Takes one input; never blocks.
    fn step(&mut self, input: Input, now: Time, out: &mut Vec<Effect>);
    /// When it needs the next tick.
    fn next_wakeup(&self) -> Option<Time>;
    /// Whether it has a pod to attempt.
    fn wants_cycle(&self) -> bool;
}

/// Receives the effects.
pub trait Outlet<M>: Send + 'static {
    /// Takes one effect, in order; `machine` is in the state after the step.
    fn effect(&mut self, effect: Effect, machine: &M, now: Time);
    /// An attempt took this long.
    fn attempted(&mut self, took: Duration);
    /// The loop is about to wait.
    fn idle(&mut self, _machine: &M) {}
}

/// The clock of the scheduling thread: the wall clock at the start plus monotonic time since then.
/// It never runs backwards and never jumps, so timers of the queue are right whatever happens to the
/// system clock. [`Clock::step`] tells how far the wall clock has moved away from it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: Instant,
    start: i64,
    /// The present wall clock, in microseconds since the Unix epoch.
    wall: fn() -> i64,
    /// The difference that was last reported.
    offset: Span,
}

/// A smaller difference between the wall clock and monotonic time is not reported: NTP slews clocks
/// by small amounts all the time.
const SMALLEST_STEP: Span = Span::from_millis(50);
/// If the two clocks are read further apart, because the thread was interrupted, their difference says
/// nothing.
const APART: Span = Span::from_millis(10);

impl Clock {
    /// Starts at the present time.
    pub fn start() -> Self {
        Self::with_wall(|| jiff::Timestamp::now().as_microsecond())
    }

    /// Starts at the present time of this wall clock, which returns microseconds since the Unix epoch.
    pub(crate) fn with_wall(wall: fn() -> i64) -> Self {
        Self { base: Instant::now(), start: wall(), wall, offset: Span(0) }
    }

    /// The present time.
    pub(crate) fn now(&self) -> Time {
        let since = i64::try_from(self.base.elapsed().as_micros()).unwrap_or(i64::MAX);
        Time(self.start.saturating_add(since))
    }

    /// The new difference of the wall clock from [`Clock::now`], if the wall clock was stepped: by
    /// NTP, by an administrator, or because the machine was suspended.
    fn step(&mut self) -> Option<Span> {
        let before = self.now();
        let wall = (self.wall)();
        let now = self.now();
        if now - before > APART {
            return None;
        }
        let offset = Span(wall.saturating_sub(now.0));
        let moved = Span(offset.0.saturating_sub(self.offset.0).saturating_abs());
        (moved >= SMALLEST_STEP).then(|| {
            self.offset = offset;
            offset
        })
    }
}

type Look<M> = Box<dyn FnOnce(&mut M) + Send>;

/// Where inputs go.
trait Receiver: Send + Sync {
    fn input(&self, input: Input) -> bool;
    fn room(&self) -> BoxFuture<'_, ()>;
}

impl<M: 'static> Receiver for Queue<Look<M>> {
    fn input(&self, input: Input) -> bool {
        self.put(Message::Input(input))
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(Queue::room(self))
    }
}

/// Sends inputs to the driver.
#[derive(Clone)]
pub struct Mailbox {
    receiver: Arc<dyn Receiver>,
}

impl Mailbox {
    /// Sends an input without waiting; returns whether the driver still runs.
    pub(crate) fn input(&self, input: Input) -> bool {
        self.receiver.input(input)
    }

    /// Waits until the inbox has room, and sends an input; returns whether the driver still runs.
    pub(crate) async fn input_with_room(&self, input: Input) -> bool {
        self.receiver.room().await;
        self.receiver.input(input)
    }
}

/// A handle of a running driver.
pub struct Driver<M> {
    queue: Arc<Queue<Look<M>>>,
}

impl<M> Clone for Driver<M> {
    fn clone(&self) -> Self {
        Self { queue: Arc::clone(&self.queue) }
    }
}

/// The inbox of a driver that has not started.
pub struct Inbox<M>(Arc<Queue<Look<M>>>);

impl<M> Drop for Inbox<M> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<M: Machine> Driver<M> {
    /// A driver and its inbox. The loop starts later, when its outlet exists.
    pub fn new() -> (Self, Inbox<M>) {
        let queue = Arc::new(Queue::default());
        (Self { queue: Arc::clone(&queue) }, Inbox(queue))
    }

    /// A mailbox of this driver.
    pub fn mailbox(&self) -> Mailbox {
        Mailbox { receiver: Arc::clone(&self.queue) as Arc<dyn Receiver> }
    }

    /// Runs a closure on the driver's thread, between two steps. `None` if the driver has ended.
    pub async fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut M) -> T + Send + 'static,
    ) -> Option<T> {
        let (tell, told) = tokio::sync::oneshot::channel();
        let look: Look<M> = Box::new(move |machine| {
            let _ = tell.send(look(machine));
        });
        self.queue.put(Message::Look(look)).then_some(())?;
        told.await.ok()
    }

    /// Runs a closure on the driver's thread, between two steps and after all earlier messages; does
    /// not wait for it. It never runs if the driver has ended.
    pub(crate) fn tell(&self, look: impl FnOnce(&mut M) + Send + 'static) {
        self.queue.put(Message::Look(Box::new(look)));
    }

    /// Number of messages that wait for the driver.
    pub(crate) fn inbox_depth(&self) -> usize {
        self.queue.depth()
    }

    /// Ends the loop after it has handled all earlier messages.
    pub fn stop(&self) {
        self.queue.put(Message::Stop);
    }
}

/// Maximum number of messages that are taken from the inbox at once.
const BATCH: usize = 256;
/// Maximum wait, so that gauges stay fresh and steps of the wall clock are seen.
const LONGEST: Duration = Duration::from_secs(1);

impl<M: Machine> Inbox<M> {
    /// Runs the loop on this thread until `Driver::stop`.
    pub fn run(self, mut machine: M, mut outlet: impl Outlet<M>, mut clock: Clock) {
        let mut effects = Vec::new();
        let mut batch = VecDeque::new();
        let mut last_attempt = Duration::ZERO;
        loop {
            if let Some(offset) = clock.step() {
                tracing::info!(offset_seconds = offset.0 as f64 / 1e6, "the wall clock was stepped");
                let now = clock.now();
                machine.step(Input::WallClock(offset), now, &mut effects);
                carry(&mut effects, &mut outlet, &machine, now);
            }
            // Messages get at least as much time as attempts, so that neither starves the other.
            let since = Instant::now();
            loop {
                self.0.take(BATCH, &mut batch);
                let more = batch.len() == BATCH;
                for message in batch.drain(..) {
                    match message {
                        Message::Input(input) => {
                            let now = clock.now();
                            machine.step(input, now, &mut effects);
                            carry(&mut effects, &mut outlet, &machine, now);
                        }
                        Message::Look(look) => look(&mut machine),
                        Message::Stop => return,
                    }
                }
                if !more || since.elapsed() >= last_attempt {
                    break;
                }
            }
            let now = clock.now();
            if machine.next_wakeup().is_some_and(|at| at <= now) {
                machine.step(Input::Tick, now, &mut effects);
                carry(&mut effects, &mut outlet, &machine, now);
            }
            if machine.wants_cycle() {
                let now = clock.now();
                let since = Instant::now();
                machine.step(Input::Cycle, now, &mut effects);
                last_attempt = since.elapsed();
                outlet.attempted(last_attempt);
                carry(&mut effects, &mut outlet, &machine, now);
                continue;
            }
            outlet.idle(&machine);
            let wait = match machine.next_wakeup() {
                Some(at) => {
                    let micros = u64::try_from((at - clock.now()).0).unwrap_or(0);
                    Duration::from_micros(micros).min(LONGEST)
                }
                None => LONGEST,
            };
            self.0.wait(wait);
        }
    }
}

fn carry<M: Machine>(effects: &mut Vec<Effect>, outlet: &mut impl Outlet<M>, machine: &M, now: Time) {
    for effect in effects.drain(..) {
        outlet.effect(effect, machine, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_framework::{ApiCall, Ticket};
    use bayplan_model::{Duration as Span, Kind, ObjectKey};
    use std::sync::mpsc;

    /// Asks for a tick 20 ms after each `Synced`, and for one cycle after each tick.
    #[derive(Default)]
    struct Toy {
        wake: Option<Time>,
        due: usize,
        cycles: u64,
    }

    impl Machine for Toy {
        fn step(&mut self, input: Input, now: Time, out: &mut Vec<Effect>) {
            match input {
                Input::Synced => self.wake = Some(now + Span::from_millis(20)),
                Input::Tick => (self.wake, self.due) = (None, self.due + 1),
                Input::Cycle => {
                    (self.due, self.cycles) = (self.due - 1, self.cycles + 1);
                    let key = ObjectKey {
                        kind: Kind::Pod,
                        namespace: "n".into(),
                        name: "p".into(),
                        uid: "".into(),
                    };
                    out.push(Effect::Call(Ticket(self.cycles), ApiCall::Read(key)));
                }
                _ => {}
            }
        }
        fn next_wakeup(&self) -> Option<Time> {
            self.wake
        }
        fn wants_cycle(&self) -> bool {
            self.due > 0
        }
    }

    struct Record(mpsc::Sender<Time>);

    impl Outlet<Toy> for Record {
        fn effect(&mut self, effect: Effect, machine: &Toy, now: Time) {
            assert!(matches!(effect, Effect::Call(Ticket(n), _) if n == machine.cycles));
            self.0.send(now).unwrap();
        }
        fn attempted(&mut self, _: Duration) {}
    }

    #[test]
    fn the_loop_ticks_on_time_runs_wanted_cycles_and_stops() {
        let (driver, inbox) = Driver::<Toy>::new();
        let (tx, rx) = mpsc::channel();
        let clock = Clock::start();
        let thread = std::thread::spawn(move || inbox.run(Toy::default(), Record(tx), clock));
        let before = clock.now();
        assert!(driver.mailbox().input(Input::Synced));
        let at = rx.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!((at - before).0 >= 20_000, "the tick came too early");
        driver.stop();
        thread.join().unwrap();
        assert_eq!(driver.inbox_depth(), 0);
        assert!(!driver.mailbox().input(Input::Synced), "the driver has ended");
    }

    #[test]
    fn a_step_of_the_wall_clock_is_reported_once_and_moves_no_timer() {
        use std::sync::atomic::{AtomicI64, Ordering};
        static AHEAD: AtomicI64 = AtomicI64::new(0);
        let mut clock =
            Clock::with_wall(|| jiff::Timestamp::now().as_microsecond() + AHEAD.load(Ordering::SeqCst));
        assert_eq!(clock.step(), None);
        let mut interrupted = Clock::with_wall(|| {
            let wall = jiff::Timestamp::now().as_microsecond();
            std::thread::sleep(Duration::from_millis(80));
            wall
        });
        assert_eq!(interrupted.step(), None, "a thread that was interrupted saw no step");
        for ahead in [3_600_000_000, -60_000_000] {
            let before = clock.now();
            AHEAD.store(ahead, Ordering::SeqCst);
            let offset = clock.step().unwrap();
            assert!((offset.0 - ahead).abs() < SMALLEST_STEP.0, "{offset:?}");
            assert_eq!(clock.step(), None, "it is reported once");
            assert!((clock.now() - before).0 < 1_000_000, "monotonic time does not jump");
        }
    }
}

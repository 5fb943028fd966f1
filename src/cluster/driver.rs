//! The loop that owns the scheduler, on one thread: feeds it Inputs, runs scheduling attempts,
//! wakes it at the times it asks for, and hands its Effects on. Nothing else calls `step`. Other
//! threads read the scheduler by sending a closure.

use crate::model::Time;
use crate::scheduler::{Effect, Input};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
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

/// The wall clock at the start plus monotonic time since then. It never runs backwards.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: i64,
    base: Instant,
}

impl Clock {
    /// Starts at the present time.
    pub fn start() -> Self {
        Self { wall: jiff::Timestamp::now().as_microsecond(), base: Instant::now() }
    }

    /// The present time.
    pub fn now(&self) -> Time {
        let since = i64::try_from(self.base.elapsed().as_micros()).unwrap_or(i64::MAX);
        Time(self.wall.saturating_add(since))
    }
}

type Look<M> = Box<dyn FnOnce(&mut M) + Send>;

enum Message<M> {
    Input(Input),
    Inspect(Look<M>),
    Stop,
}

/// Sends inputs to the driver.
#[derive(Clone)]
pub struct Mailbox {
    send: std::sync::Arc<dyn Fn(Input) -> bool + Send + Sync>,
}

impl Mailbox {
    /// A mailbox that hands each input to `send`, which returns whether the receiver still exists.
    pub fn new(send: impl Fn(Input) -> bool + Send + Sync + 'static) -> Self {
        Self { send: std::sync::Arc::new(send) }
    }

    /// Sends an input; returns whether the driver still runs.
    pub fn input(&self, input: Input) -> bool {
        (self.send)(input)
    }
}

/// A handle of a running driver.
pub struct Driver<M> {
    messages: Sender<Message<M>>,
}

impl<M> Clone for Driver<M> {
    fn clone(&self) -> Self {
        Self { messages: self.messages.clone() }
    }
}

/// The inbox of a driver that has not started.
pub struct Inbox<M>(Receiver<Message<M>>);

impl<M: Machine> Driver<M> {
    /// A driver and its inbox. The loop starts later, when its outlet exists.
    pub fn new() -> (Self, Inbox<M>) {
        let (messages, inbox) = channel();
        (Self { messages }, Inbox(inbox))
    }

    /// A mailbox of this driver.
    pub fn mailbox(&self) -> Mailbox {
        let messages = self.messages.clone();
        Mailbox::new(move |input| messages.send(Message::Input(input)).is_ok())
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
        self.messages.send(Message::Inspect(look)).ok()?;
        told.await.ok()
    }

    /// Ends the loop after it has handled all earlier messages.
    pub fn stop(&self) {
        let _ = self.messages.send(Message::Stop);
    }
}

/// Maximum number of messages between two attempts, so that neither starves the other.
const BATCH: usize = 256;
/// Maximum wait, so that gauges stay fresh.
const LONGEST: Duration = Duration::from_secs(1);

impl<M: Machine> Inbox<M> {
    /// Runs the loop on this thread until `Driver::stop`.
    pub fn run(self, mut machine: M, mut outlet: impl Outlet<M>, clock: Clock) {
        let mut effects = Vec::new();
        let mut waiting = None;
        loop {
            for _ in 0..BATCH {
                let message = match waiting.take() {
                    Some(message) => message,
                    None => match self.0.try_recv() {
                        Ok(message) => message,
                        Err(TryRecvError::Empty) => break,
                        Err(TryRecvError::Disconnected) => return,
                    },
                };
                match message {
                    Message::Input(input) => {
                        let now = clock.now();
                        machine.step(input, now, &mut effects);
                        carry(&mut effects, &mut outlet, &machine, now);
                    }
                    Message::Inspect(look) => look(&mut machine),
                    Message::Stop => return,
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
                outlet.attempted(since.elapsed());
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
            match self.0.recv_timeout(wait) {
                Ok(message) => waiting = Some(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
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
    use crate::framework::{ApiCall, Ticket};
    use crate::model::{Duration as Span, Kind, ObjectKey};
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
        assert!(!driver.mailbox().input(Input::Synced), "the driver has ended");
    }
}

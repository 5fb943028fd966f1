//! [`Metrics`]: what nodes use, as the metrics API says at each poll: samples of the last hour, and what rules read of
//! them. The scheduler applies a poll as one [`Change`](super::Change); `cluster` polls.
//!
//! Samples have instants of the scheduler's monotonic time: how old one is follows from the two wall clocks at the poll
//! that brings it, and a step of a clock moves no sample that is known.
//!
//! Each node has a ring of samples; what rules read of a window is computed when a poll brings a sample, and
//! `Metrics::recomputed` defines it. The age of a sample is that at the last poll, so that nothing but a poll, or the
//! end of a node, changes what a rule reads.

mod read;
#[cfg(test)]
mod tests;

pub use read::{GROUP, is_node_metrics};

use super::symbol::Symbol;
use super::time::{Duration, Time};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// The longest window, and the longest time for which samples are kept.
pub const LONGEST_WINDOW: Duration = Duration::from_seconds(3_600);
/// How often the metrics API is polled.
pub const POLL_PERIOD: Duration = Duration::from_seconds(15);
/// Most samples of a node: those of the longest window, and the one at its beginning.
pub const MOST_SAMPLES: usize = 241;
/// Larger amounts are mistakes: a thousand million cores, and an exabyte.
const MOST_CPU: i64 = 1_000_000_000_000;
const MOST_MEMORY: i64 = 1 << 60;

/// What a poll says of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// The node.
    pub node: Symbol,
    /// What was measured.
    pub measured: Measured,
}

/// What was measured on a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Measured {
    /// What the node used when it was last looked at.
    Sample {
        /// The instant, by the clock of the cluster: `timestamp` of `NodeMetrics`.
        at: Time,
        /// In millicores.
        cpu: i64,
        /// In bytes.
        memory: i64,
    },
    /// What rules shall read over any window: tests write it.
    Summary {
        /// Everything but its instant.
        load: Load,
        /// How old its newest sample is.
        age: Duration,
    },
}

/// Why a reading cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadReading {
    /// An amount below 0.
    #[error("a negative amount")]
    Negative,
    /// An amount that no node has.
    #[error("an amount that no node has")]
    Huge,
}

impl Measured {
    /// Whether the amounts can be those of a node.
    pub fn check(&self) -> Result<(), BadReading> {
        let Measured::Sample { cpu, memory, .. } = self else { return Ok(()) };
        match () {
            () if *cpu < 0 || *memory < 0 => Err(BadReading::Negative),
            () if *cpu > MOST_CPU || *memory > MOST_MEMORY => Err(BadReading::Huge),
            () => Ok(()),
        }
    }
}

/// What a node used of one resource over a window, in whole base units: millicores or bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Usage {
    /// The newest sample.
    pub latest: i64,
    /// The mean of the samples, rounded.
    pub mean: i64,
    /// The population standard deviation of the samples, rounded.
    pub std: i64,
    /// The largest sample.
    pub max: i64,
}

/// What a node used over a window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Load {
    /// In millicores.
    pub cpu: Usage,
    /// In bytes.
    pub memory: Usage,
    /// How many samples the window has.
    pub samples: u32,
    /// The instant of the newest sample, at which the window ends.
    pub at: Time,
}

/// One sample.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sample {
    at: Time,
    cpu: i64,
    memory: i64,
}

/// The samples of a node, and what follows from them.
#[derive(Clone, PartialEq, Debug, Default)]
struct Series {
    /// Oldest first, at increasing instants.
    samples: VecDeque<Sample>,
    /// The instant of the newest sample by the clock of the cluster: an equal one is the same sample again.
    stamp: Time,
    /// Over each of the windows, in their order.
    loads: Vec<Arc<Load>>,
    /// What a test says in place of samples.
    summary: Option<Arc<Load>>,
}

/// What nodes use. Empty, and without memory, as long as no rule reads it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Metrics {
    /// The windows over which rules read, shortest first.
    windows: Vec<Duration>,
    /// The last poll.
    polled: Time,
    nodes: FxHashMap<Symbol, Arc<Series>>,
}

impl Metrics {
    /// What a node used over one of the windows that were asked for; `None` without samples.
    pub fn load(&self, node: &Symbol, window: Duration) -> Option<&Arc<Load>> {
        let series = self.nodes.get(node)?;
        if let Some(summary) = &series.summary {
            return Some(summary);
        }
        let at = self.windows.binary_search(&window).ok()?;
        series.loads.get(at)
    }

    /// The definition of [`Metrics::load`]: computed of the samples, over any window.
    pub fn recomputed(&self, node: &Symbol, window: Duration) -> Option<Load> {
        let series = self.nodes.get(node)?;
        if let Some(summary) = &series.summary {
            return Some(**summary);
        }
        let newest = series.samples.back()?;
        let within: Vec<&Sample> =
            series.samples.iter().filter(|sample| newest.at - sample.at < window).collect();
        let amounts = |of: fn(&Sample) -> i64| within.iter().map(|sample| of(sample)).collect::<Vec<i64>>();
        Some(Load {
            cpu: Usage::of(&amounts(|sample| sample.cpu)),
            memory: Usage::of(&amounts(|sample| sample.memory)),
            samples: within.len() as u32,
            at: newest.at,
        })
    }

    /// How old the newest sample of a window was at the last poll.
    pub fn age(&self, load: &Load) -> Duration {
        self.polled - load.at
    }

    /// The instant of the last poll.
    pub fn polled(&self) -> Time {
        self.polled
    }

    /// The windows over which rules read.
    pub fn windows(&self) -> &[Duration] {
        &self.windows
    }

    /// How many nodes have samples.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let of = |series: &Arc<Series>| {
            size_of::<(Symbol, Arc<Series>)>()
                + size_of::<Series>()
                + series.samples.capacity() * size_of::<Sample>()
                + series.loads.capacity() * (size_of::<Arc<Load>>() + size_of::<Load>() + 16)
        };
        self.nodes.values().map(of).sum()
    }

    /// Rules read over these windows from here on. Without one nothing is kept.
    pub(super) fn set_windows(&mut self, mut windows: Vec<Duration>) {
        windows.sort_unstable();
        windows.dedup();
        if windows == self.windows {
            return;
        }
        self.windows = windows;
        if self.windows.is_empty() {
            self.nodes = FxHashMap::default();
        }
        let longest = self.longest();
        for series in self.nodes.values_mut() {
            let series = Arc::make_mut(series);
            series.drop_older(longest);
            series.summarize(&self.windows);
        }
    }

    fn longest(&self) -> Duration {
        self.windows.last().copied().unwrap_or_default()
    }

    /// Takes in a poll; `offset` is the distance of the wall clock from monotonic time. Readings of nodes that are not
    /// `known` and those that cannot be used are left out, as is a sample that is no newer than the known one. Returns
    /// whether anything may have changed, which a poll without samples does too: they grow older.
    pub(super) fn poll(
        &mut self,
        now: Time,
        offset: Duration,
        readings: &[Reading],
        known: impl Fn(&Symbol) -> bool,
    ) -> bool {
        if self.windows.is_empty() {
            return false;
        }
        let before = self.nodes.len();
        self.polled = now;
        for reading in readings {
            if known(&reading.node) && reading.measured.check().is_ok() {
                let series = self.nodes.entry(reading.node.clone()).or_default();
                Arc::make_mut(series).take(now, offset, &reading.measured, &self.windows);
            }
        }
        self.nodes.retain(|_, series| series.newest().is_some_and(|at| now - at <= LONGEST_WINDOW));
        before > 0 || !self.nodes.is_empty()
    }

    /// Forgets a node; returns whether it had samples.
    pub(super) fn forget(&mut self, node: &Symbol) -> bool {
        self.nodes.remove(node).is_some()
    }
}

impl Series {
    fn newest(&self) -> Option<Time> {
        self.summary.as_ref().map(|load| load.at).or_else(|| self.samples.back().map(|sample| sample.at))
    }

    fn take(&mut self, now: Time, offset: Duration, measured: &Measured, windows: &[Duration]) {
        match measured {
            Measured::Sample { at, cpu, memory } => {
                let newest = self.samples.back().map(|sample| sample.at);
                // A clock that is ahead of ours makes no sample of the future.
                let age = Duration(((now + offset) - *at).0.clamp(0, LONGEST_WINDOW.0 + 1));
                let sample = Sample { at: now - age, cpu: *cpu, memory: *memory };
                if newest.is_some_and(|newest| *at == self.stamp || sample.at <= newest) {
                    return;
                }
                self.stamp = *at;
                if self.samples.len() >= MOST_SAMPLES {
                    self.samples.pop_front();
                }
                self.samples.push_back(sample);
                self.drop_older(windows.last().copied().unwrap_or_default());
                self.summarize(windows);
            }
            Measured::Summary { load, age } => {
                self.summary = Some(Arc::new(Load { at: now - *age, ..*load }));
            }
        }
    }

    /// Drops what no window reaches back to.
    fn drop_older(&mut self, longest: Duration) {
        let Some(newest) = self.samples.back().map(|sample| sample.at) else { return };
        while self.samples.front().is_some_and(|sample| newest - sample.at >= longest) {
            self.samples.pop_front();
        }
    }

    /// Computes the load over each window.
    fn summarize(&mut self, windows: &[Duration]) {
        self.loads.clear();
        self.loads.reserve_exact(windows.len());
        let Some(newest) = self.samples.back().copied() else { return };
        for window in windows {
            let outside = self.samples.partition_point(|sample| newest.at - sample.at >= *window);
            let within = || self.samples.iter().skip(outside);
            let load = Load {
                cpu: Usage::over(within().map(|sample| sample.cpu)),
                memory: Usage::over(within().map(|sample| sample.memory)),
                samples: (self.samples.len() - outside) as u32,
                at: newest.at,
            };
            self.loads.push(Arc::new(load));
        }
    }
}

impl Usage {
    /// Of samples, oldest first; in two passes, without a copy.
    fn over(samples: impl Iterator<Item = i64> + Clone) -> Self {
        let mut usage = Self::default();
        let (mut sum, mut count) = (0i128, 0i128);
        for sample in samples.clone() {
            sum += i128::from(sample);
            count += 1;
            usage.latest = sample;
            usage.max = usage.max.max(sample);
        }
        if count > 0 {
            usage.mean = ((2 * sum + count) / (2 * count)) as i64;
            let mean = sum as f64 / count as f64;
            let squares = samples.fold(0.0, |all, sample| {
                let distance = sample as f64 - mean;
                all + distance * distance
            });
            usage.std = (squares / count as f64).sqrt().round() as i64;
        }
        usage
    }

    /// The definition: mean, and population standard deviation, of the samples, oldest first.
    fn of(samples: &[i64]) -> Self {
        let Some(latest) = samples.last() else { return Self::default() };
        let count = samples.len() as f64;
        let sum: i128 = samples.iter().map(|sample| i128::from(*sample)).sum();
        let mean = sum as f64 / count;
        let mut squares = 0.0;
        for sample in samples {
            squares += (*sample as f64 - mean) * (*sample as f64 - mean);
        }
        let twice = 2 * samples.len() as i128;
        Self {
            latest: *latest,
            mean: (2 * sum + samples.len() as i128).div_euclid(twice) as i64,
            std: (squares / count).sqrt().round() as i64,
            max: samples.iter().copied().max().unwrap_or_default(),
        }
    }
}

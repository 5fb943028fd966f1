//! CPU times of this thread, for figures that hold on a busy machine.

use rustix::time::{ClockId, clock_gettime};

/// Does the work so many times.
pub(crate) type Work = Box<dyn FnMut(usize)>;

/// CPU time of this thread in microseconds.
pub(crate) fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// CPU time of the work, of each time in microseconds.
pub(crate) fn measure(work: &mut Work, times: usize) -> f64 {
    let begin = cpu_time();
    work(times);
    (cpu_time() - begin) / times as f64
}

pub(crate) fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

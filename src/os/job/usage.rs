//! What a command used. CPU time is exact to one clock tick: a process that has ended is read
//! before it is reaped, and holds the time of the children that it had waited for. The peak of
//! memory is sampled, often at first: the kernel keeps it only as long as a process lives.

use super::Relative;
use crate::os::process::stat::{peak_kib, stat};
use std::time::{Duration, Instant};

/// The longest time between two samples.
const SELDOM: Duration = Duration::from_secs(1);

/// What was used so far.
pub(super) struct Usage {
    cpu_ticks: u64,
    /// Peak memory of the largest process, in KiB.
    pub(super) peak_kib: u64,
    next: Instant,
    pause: Duration,
}

impl Usage {
    pub(super) fn new() -> Self {
        let pause = Duration::from_millis(10);
        Self { cpu_ticks: 0, peak_kib: 0, next: Instant::now() + pause, pause }
    }

    /// How long until the next sample is due.
    pub(super) fn due(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Samples the memory of processes, when that is due.
    pub(super) fn sample(&mut self, processes: impl FnOnce() -> Vec<Relative>) {
        if !self.due().is_zero() {
            return;
        }
        let peak = processes().iter().filter_map(|process| peak_kib(process.pid)).max();
        self.peak_kib = self.peak_kib.max(peak.unwrap_or(0));
        self.next = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(SELDOM);
    }

    /// Counts a process that has ended and is not reaped yet.
    pub(super) fn count(&mut self, pid: u32) {
        self.cpu_ticks += stat(pid).map_or(0, |stat| stat.cpu_ticks);
    }

    /// CPU time in milliseconds.
    pub(super) fn cpu_ms(&self) -> u64 {
        self.cpu_ticks * 1000 / rustix::param::clock_ticks_per_second().max(1)
    }
}

//! What wakes a supervisor: a child's end, somebody who tells it to leave, or time.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rings for every signal that matters. A signal between two waits is not lost: the second
/// returns at once.
pub(super) struct Bell {
    woken: UnixStream,
    told: Arc<AtomicBool>,
}

impl Bell {
    /// From here on signals ring, and nothing else happens to this process by them.
    pub(super) fn hang() -> io::Result<Self> {
        let (woken, wakes) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let told = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            // the flag first: whoever is woken must find it set
            signal_hook::flag::register(signal, Arc::clone(&told))?;
            signal_hook::low_level::pipe::register(signal, wakes.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGCHLD, wakes)?;
        Ok(Self { woken, told })
    }

    /// Whether somebody told us to leave.
    pub(super) fn told(&self) -> bool {
        self.told.load(Ordering::SeqCst)
    }

    /// The same, for those who wait elsewhere.
    pub(super) fn told_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.told)
    }

    /// Waits until it rings, or for as long as it is told. The caller looks what happened.
    pub(super) fn wait(&mut self, time: Duration) {
        let bound = Timespec::try_from(time.min(Duration::from_secs(60))).ok();
        let mut fds = [PollFd::new(&self.woken, PollFlags::IN)];
        let _ = poll(&mut fds, bound.as_ref()); // interrupted: it has rung
        let mut drained = [0; 64];
        while matches!(self.woken.read(&mut drained), Ok(n) if n > 0) {}
    }
}

//! A process held by a pidfd: whatever is found out while it is held is true of one process,
//! and a signal through it cannot meet another that has taken over the number.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{fstat, fstatfs};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;

/// `statfs.f_type` of pidfs: "PIDF" (`include/uapi/linux/magic.h`).
const PIDFS: u64 = 0x5049_4446;

/// A process that cannot become another.
#[derive(Debug)]
pub(in crate::os) struct Pinned {
    pid: Pid,
    /// Absent where the kernel has no pidfds; then the number has to do.
    fd: Option<OwnedFd>,
}

impl Pinned {
    /// Holds a process; `None` when nobody has that number.
    pub(in crate::os) fn open(pid: u32) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Some(Self { pid, fd: Some(fd) }),
            // no process, or a thread of one
            Err(Errno::SRCH | Errno::INVAL) => None,
            Err(_) => Some(Self { pid, fd: None }),
        }
    }

    /// Whether it is held indeed, and not only its number known.
    pub(in crate::os) fn is_held(&self) -> bool {
        self.fd.is_some()
    }

    /// Whether it has ended; a zombie has.
    pub(in crate::os) fn has_ended(&self) -> bool {
        let Some(fd) = &self.fd else { return false };
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// The number that pidfs gives it, which no other process of this boot ever gets. Only
    /// where it has its whole 64 bits: elsewhere an inode is shortened, or the same for all.
    pub(in crate::os) fn handle(&self) -> Option<u64> {
        let fd = self.fd.as_ref()?;
        let of = u64::try_from(fstatfs(fd).ok()?.f_type).ok()?;
        if of != PIDFS || cfg!(not(target_pointer_width = "64")) {
            return None;
        }
        fstat(fd).ok().map(|stat| stat.st_ino)
    }

    /// Sends a signal. To one that has ended there is nothing to say.
    pub(in crate::os) fn signal(&self, signal: Signal) {
        let _ = match &self.fd {
            Some(fd) => pidfd_send_signal(fd, signal),
            None => kill_process(self.pid, signal),
        };
    }
}

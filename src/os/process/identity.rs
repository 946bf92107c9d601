//! Who a process is: host, boot, pid and start time, and its pidfs handle where there is one.

use super::pinned::Pinned;
use super::stat::stat;
use crate::domain::event::Process;
use crate::domain::ids::BootId;
use std::sync::OnceLock;

/// A process's start time in clock ticks since boot.
pub fn start_time(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_time)
}

/// This boot's id. `SCHED_TEST_BOOT_ID` stands in for it, so that a test can show a reboot.
pub(in crate::os) fn boot_id() -> BootId {
    static BOOT: OnceLock<BootId> = OnceLock::new();
    let read = || {
        let path = "/proc/sys/kernel/random/boot_id";
        let real = || std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        BootId(std::env::var("SCHED_TEST_BOOT_ID").unwrap_or_else(|_| real()))
    };
    BOOT.get_or_init(read).clone()
}

/// This machine's host name. `SCHED_TEST_HOST` stands in for it, so that a test can show a
/// journal of another host.
pub(in crate::os) fn host() -> String {
    static HOST: OnceLock<String> = OnceLock::new();
    let read = || {
        let real = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        std::env::var("SCHED_TEST_HOST").unwrap_or_else(|_| real())
    };
    HOST.get_or_init(read).clone()
}

/// A process of this machine, now; held while it is looked at, so that all parts of the answer
/// are of one process.
pub(in crate::os) fn process(pid: u32) -> Option<Process> {
    let pinned = Pinned::open(pid)?;
    let start_time = start_time(pid)?;
    let handle = pinned.handle();
    (!pinned.has_ended()).then(|| Process {
        pid,
        start_time,
        boot_id: boot_id(),
        host: host(),
        handle,
    })
}

/// This process.
pub fn own_process() -> Process {
    static OWN: OnceLock<Process> = OnceLock::new();
    let pid = std::process::id();
    let nobody = || Process { pid, start_time: 0, boot_id: boot_id(), host: host(), handle: None };
    OWN.get_or_init(|| process(pid).unwrap_or_else(nobody)).clone()
}

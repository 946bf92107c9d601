//! Who a process is: host, boot id, pid and start time. A pid alone is nobody.

use crate::domain::event::Process;
use crate::domain::ids::BootId;
use std::sync::OnceLock;

/// One line of `/proc/<pid>/stat`, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) state: char,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) session: u32,
    /// Clock ticks of CPU time, its own and that of children it has waited for.
    pub(super) cpu_ticks: u64,
    /// Clock ticks since boot, raw.
    pub(super) start_time: u64,
}

/// Reads `/proc/<pid>/stat` (proc(5)); the command's name may hold anything, even brackets.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let small = |field: usize| number(field).and_then(|n| u32::try_from(n).ok());
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: small(4)?,
        group: small(5)?,
        session: small(6)?,
        cpu_ticks: number(14)? + number(15)? + number(16)? + number(17)?,
        start_time: number(22)?,
    })
}

/// A process's start time in clock ticks since boot.
pub fn start_time(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_time)
}

/// The value of a variable in another process's environment; `None` when it is absent or cannot
/// be read.
pub(super) fn environment(pid: u32, name: &str) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    bytes.split(|b| *b == 0).find_map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        let (key, value) = pair.split_once('=')?;
        (key == name).then(|| value.to_owned())
    })
}

/// This boot's id. `SCHED_TEST_BOOT_ID` stands in for it, so that a test can show a reboot.
pub(super) fn boot_id() -> BootId {
    static BOOT: OnceLock<BootId> = OnceLock::new();
    let read = || {
        let path = "/proc/sys/kernel/random/boot_id";
        let real = || std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        BootId(std::env::var("SCHED_TEST_BOOT_ID").unwrap_or_else(|_| real()))
    };
    BOOT.get_or_init(read).clone()
}

/// This machine's host name.
pub(super) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A process of this machine, now.
pub(super) fn process(pid: u32) -> Option<Process> {
    let start_time = start_time(pid)?;
    Some(Process { pid, start_time, boot_id: boot_id(), host: host(), handle: None })
}

/// This process.
pub fn own_process() -> Process {
    let pid = std::process::id();
    process(pid).unwrap_or_else(|| Process {
        pid,
        start_time: 0,
        boot_id: boot_id(),
        host: host(),
        handle: None,
    })
}

/// Every process of the machine.
pub(super) fn all() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_alive_and_our_start_time_does_not_change() {
        let me = own_process();
        assert!(me.start_time > 0);
        assert_eq!(own_process(), me);
        assert_eq!(stat(me.pid).unwrap().start_time, me.start_time);
    }
}

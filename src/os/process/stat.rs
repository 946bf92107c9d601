//! What `/proc` says of a process, as far as it matters here (proc(5)).

use std::fs::read;
use std::io::ErrorKind;

/// One line of `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::os) struct Stat {
    pub(in crate::os) state: char,
    pub(in crate::os) parent: u32,
    pub(in crate::os) group: u32,
    pub(in crate::os) session: u32,
    /// Clock ticks of CPU time, its own and that of children it has waited for.
    pub(in crate::os) cpu_ticks: u64,
    /// Clock ticks since boot, raw.
    pub(in crate::os) start_time: u64,
}

impl Stat {
    /// Whether it has ended and only waits for its parent.
    pub(in crate::os) fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// What a look at a process gave. "Cannot be looked at" is not "nobody there".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::os) enum Looked {
    /// It is there.
    There(Stat),
    /// Nobody has that number, as far as we may see.
    Nobody,
    /// Something is there that we cannot read.
    Hidden,
}

/// Looks at a process.
pub(in crate::os) fn look(pid: u32) -> Looked {
    match read(format!("/proc/{pid}/stat")) {
        Ok(bytes) => parse(&String::from_utf8_lossy(&bytes)).map_or(Looked::Hidden, Looked::There),
        Err(error) if error.kind() == ErrorKind::NotFound => Looked::Nobody,
        Err(error) if error.raw_os_error() == Some(ESRCH) => Looked::Nobody,
        Err(_) => Looked::Hidden,
    }
}

/// A process that ended between open and read.
const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();

/// Looks at a process; `None` when there is nobody or nothing to read.
pub(in crate::os) fn stat(pid: u32) -> Option<Stat> {
    match look(pid) {
        Looked::There(stat) => Some(stat),
        Looked::Nobody | Looked::Hidden => None,
    }
}

/// The command's name may hold anything, even brackets and line ends.
fn parse(text: &str) -> Option<Stat> {
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

/// The value of a variable in another process's environment; `None` when it is absent or cannot
/// be read.
pub(in crate::os) fn environment(pid: u32, name: &str) -> Option<String> {
    let bytes = read(format!("/proc/{pid}/environ")).ok()?;
    bytes.split(|b| *b == 0).find_map(|pair| {
        let (key, value) = pair.split_at_checked(name.len())?;
        let value = value.strip_prefix(b"=").filter(|_| key == name.as_bytes())?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

/// A process's arguments; `None` when they cannot be read or there are none.
pub(in crate::os) fn arguments(pid: u32) -> Option<Vec<String>> {
    let bytes = read(format!("/proc/{pid}/cmdline")).ok()?;
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    let words = bytes.split(|b| *b == 0).map(|w| String::from_utf8_lossy(w).into_owned());
    (!bytes.is_empty()).then(|| words.collect())
}

/// The largest amount of memory that a living process has had, in KiB.
pub(in crate::os) fn peak_kib(pid: u32) -> Option<u64> {
    let status = read(format!("/proc/{pid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.split_ascii_whitespace().next()?.parse().ok()
}

/// Every process of the machine that we may see.
pub(in crate::os) fn all() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The children of a process: one file for each of its threads; where the kernel has no such
/// files (`CONFIG_PROC_CHILDREN`), everybody is asked for their parent.
pub(in crate::os) fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let mut found = Vec::new();
    for thread in threads.into_iter().flatten().flatten() {
        match read(thread.path().join("children")) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                found.extend(text.split_ascii_whitespace().filter_map(|n| n.parse::<u32>().ok()));
            }
            Err(_) if stat(pid).is_some() => return children_by_parent(pid),
            Err(_) => {}
        }
    }
    found
}

fn children_by_parent(parent: u32) -> Vec<u32> {
    all().into_iter().filter(|pid| stat(*pid).is_some_and(|s| s.parent == parent)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let text = "7 (a) R 1 (b\n) S 3 4 5 0 -1 0 0 0 0 0 10 20 30 40 20 0 1 0 99 0 0";
        let stat = parse(text).unwrap();
        assert_eq!((stat.state, stat.parent, stat.group, stat.session), ('S', 3, 4, 5));
        assert_eq!((stat.cpu_ticks, stat.start_time), (100, 99));
        assert_eq!(parse("7 (a) R"), None);
    }

    #[test]
    fn children_are_found_with_and_without_the_kernels_list() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let us = std::process::id();
        assert!(children(us).contains(&child.id()));
        assert!(children_by_parent(us).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children(us).contains(&child.id()));
    }
}

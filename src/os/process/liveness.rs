//! Whether a recorded process still is the one that was meant.
//!
//! * Another host: unknown, not judged, not touched. Another boot: gone.
//! * It has ended, or is a zombie: gone.
//! * The pidfs handle, where one was recorded and the kernel has them, decides alone.
//! * Else another start time refutes; `SCHED_DISPATCH` and `SCHED_JOURNAL` of its environment
//!   confirm when they are there and refute when they name another; where they say nothing,
//!   process group and session must be the recorded ones.
//! * Whatever differs is somebody else: it reads as gone and is never signalled.

use super::identity::{boot_id, host};
use super::pinned::Pinned;
use super::stat::{Looked, Stat, arguments, environment, look};
use crate::domain::event::{DispatchStarted, Process};
use crate::domain::ids::{DispatchId, JournalId};
use crate::engine::ports::Life;

/// The start time of a slot that was imported: none was ever recorded.
pub(super) const UNRECORDED: u64 = 0;

/// Looks for the process that is meant; held when it is there.
fn find(process: &Process, is_it: impl FnOnce(&Stat) -> bool) -> (Life, Option<Pinned>) {
    if process.host != host() {
        return (Life::Unknown, None);
    }
    if process.boot_id != boot_id() {
        return (Life::Gone, None);
    }
    let Some(pinned) = Pinned::open(process.pid) else { return (Life::Gone, None) };
    if pinned.has_ended() {
        return (Life::Gone, None);
    }
    let found = look(process.pid);
    let life = match (process.handle, pinned.handle()) {
        (Some(recorded), Some(handle)) if recorded != handle => Life::Gone,
        // what cannot be looked at may still be it: hidden by mount options, not absent
        _ if found == Looked::Hidden => Life::Unknown,
        _ if found == Looked::Nobody && pinned.is_held() => Life::Unknown,
        (Some(_), Some(_)) => judge(&found, |_| true),
        _ => judge(&found, |stat| {
            let since = process.start_time;
            (since == UNRECORDED || since == stat.start_time) && is_it(stat)
        }),
    };
    match life {
        // it was read while it lived, so what was read was its own
        _ if pinned.has_ended() => (Life::Gone, None),
        Life::Alive => (Life::Alive, Some(pinned)),
        other => (other, None),
    }
}

fn judge(found: &Looked, is_it: impl FnOnce(&Stat) -> bool) -> Life {
    match found {
        Looked::There(stat) if !stat.is_dead() && is_it(stat) => Life::Alive,
        _ => Life::Gone,
    }
}

/// What a process's environment says of being of this dispatch; `None`: nothing.
pub(super) fn says(pid: u32, dispatch: DispatchId, journal: Option<JournalId>) -> Option<bool> {
    let dispatch_named = environment(pid, "SCHED_DISPATCH")?;
    let journal_named = environment(pid, "SCHED_JOURNAL");
    let other = journal.zip(journal_named).is_some_and(|(id, named)| named != id.to_string());
    Some(dispatch_named == dispatch.to_string() && !other)
}

/// The leader of a dispatch's command.
pub(super) fn leader(
    started: &DispatchStarted,
    journal: Option<JournalId>,
) -> (Life, Option<Pinned>) {
    find(&started.process, |stat| {
        let group = started.process_group;
        says(started.process.pid, started.dispatch, journal)
            .unwrap_or(stat.group == group && stat.session == group)
    })
}

/// A supervisor. One that left its receipt and became a tick is gone, though its process is not.
pub(super) fn supervisor(process: &Process) -> Life {
    let pid = process.pid;
    let supervises = || arguments(pid).is_none_or(|words| words.iter().any(|w| w == "supervise"));
    let (life, _held) = find(process, |_| environment(pid, "SCHED_DISPATCH").is_none());
    if life == Life::Alive && !supervises() { Life::Gone } else { life }
}

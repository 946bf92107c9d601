//! What is left of a dispatch when its leader is gone.
//!
//! Two who ask, two answers. The supervisor is the child subreaper: whatever descends from it
//! is its own, except other dispatches ([`family`]). A tick that finds no supervisor recognises
//! members of the recorded session or group by their environment ([`left`]), never by a number
//! or a name alone.

use super::identity::{boot_id, host};
use super::liveness::says;
use super::pinned::Pinned;
use super::stat::{all, arguments, children, environment, stat};
use crate::domain::event::DispatchStarted;
use crate::domain::ids::{DispatchId, JournalId};
use std::collections::BTreeSet;

/// What is left of a dispatch whose supervisor and leader are gone; each one held.
pub(super) fn left(started: &DispatchStarted, journal: Option<JournalId>) -> Vec<Pinned> {
    if started.process.host != host() || started.process.boot_id != boot_id() {
        return Vec::new();
    }
    let group = started.process_group;
    let is_left = |pid: u32| {
        stat(pid).is_some_and(|stat| {
            let here = stat.group == group || stat.session == group;
            here && !stat.is_dead() && says(pid, started.dispatch, journal) == Some(true)
        })
    };
    let held = |pid: u32| {
        // held first, then looked at again: so it is this one that was recognised
        let pinned = is_left(pid).then(|| Pinned::open(pid))??;
        (is_left(pid) && !pinned.has_ended()).then_some(pinned)
    };
    // who has the leader's number and is not the leader is somebody else
    let known = [started.supervisor.pid, started.process.pid];
    all().into_iter().filter(|pid| !known.contains(pid)).filter_map(held).collect()
}

/// Everything alive that descends from a process, except what belongs to another dispatch or
/// supervises one, and what descends from those.
pub(in crate::os) fn family(root: u32, dispatch: DispatchId) -> Vec<Relative> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([root]);
    let mut next = children(root);
    while let Some(pid) = next.pop() {
        if !seen.insert(pid) || is_another(pid, dispatch) {
            continue;
        }
        next.extend(children(pid));
        if let Some(stat) = stat(pid).filter(|stat| !stat.is_dead()) {
            found.push(Relative { pid, start_time: stat.start_time });
        }
    }
    found
}

/// Whether a supervisor has no child but its leader and what belongs to others. What starts the
/// next one and is gone before one can look is never in a list of the living, and always a child,
/// alive or not, of who inherits it: only an empty list says that nothing goes on.
pub(in crate::os) fn is_alone(root: u32, leader: Option<u32>, dispatch: DispatchId) -> bool {
    let ours = |pid: &u32| Some(*pid) != leader && !is_another(*pid, dispatch);
    !children(root).iter().any(ours)
}

/// A process that descends from a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::os) struct Relative {
    pub(in crate::os) pid: u32,
    start_time: u64,
}

impl Relative {
    /// Holds it; `None` when it is gone and its number may be somebody else's.
    pub(in crate::os) fn pin(&self) -> Option<Pinned> {
        let pinned = Pinned::open(self.pid)?;
        let same = stat(self.pid).is_some_and(|stat| stat.start_time == self.start_time);
        (same && !pinned.has_ended()).then_some(pinned)
    }
}

/// Whether a process belongs to another dispatch, or supervises one.
fn is_another(pid: u32, dispatch: DispatchId) -> bool {
    match environment(pid, "SCHED_DISPATCH") {
        Some(named) => named != dispatch.to_string(),
        None => arguments(pid).is_some_and(|words| supervises(&words)),
    }
}

/// `sched supervise <dispatch> …`, wherever the program is and whatever it is called there.
fn supervises(words: &[String]) -> bool {
    let id = words.get(2).is_some_and(|word| word.parse::<DispatchId>().is_ok());
    id && words.get(1).is_some_and(|word| word == "supervise")
}

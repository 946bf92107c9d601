//! TERM and KILL to what belongs to a dispatch, never to anybody else.

use super::leftovers::left;
use super::liveness::{UNRECORDED, leader};
use crate::domain::event::DispatchStarted;
use crate::domain::ids::JournalId;
use crate::engine::ports::Life;
use rustix::process::{Pid, Signal, kill_process_group};

/// TERM, then CONT: a stopped process acts on TERM only when it goes on.
const ASK: &[Signal] = &[Signal::TERM, Signal::CONT];
const END: &[Signal] = &[Signal::KILL];

/// Signals the leader's group; where no start time was ever recorded, the leader alone; where
/// the leader is gone, each process that it left.
pub(super) fn send(started: &DispatchStarted, journal: Option<JournalId>, kill: bool) {
    let signals = if kill { END } else { ASK };
    let group = i32::try_from(started.process_group).ok().and_then(Pid::from_raw);
    match (leader(started, journal), group) {
        ((Life::Unknown, _), _) => {}
        ((Life::Alive, Some(pinned)), group) => match group {
            // while its leader is held and lives, the group's number is its own
            Some(group) if started.process.start_time != UNRECORDED => {
                for signal in signals {
                    // a group that is gone by now is what was wanted
                    let _ = kill_process_group(group, *signal);
                }
            }
            _ => signals.iter().for_each(|signal| pinned.signal(*signal)),
        },
        _ => {
            for pinned in left(started, journal) {
                signals.iter().for_each(|signal| pinned.signal(*signal));
            }
        }
    }
}

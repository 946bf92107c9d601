//! While the command runs: the clock of its bounds, and its signs of life.

use super::Station;
use crate::domain::event::Tree;
use crate::domain::fact::{Fact, Input, Seen};
use crate::domain::ids::CommitId;
use crate::domain::rules::dispatch_due;
use crate::domain::state::Dispatch;
use crate::engine::ports::{Clock, Woken, since};
use crate::engine::session::Session;
use std::time::Duration;

/// How often the journal's length is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How soon at the earliest the output is looked at again.
const SOON: Duration = Duration::from_millis(10);
/// How many looks at a silent agent's branch one stall takes.
const LOOKS: u32 = 10;

/// How watching came to its end.
pub(super) enum Watched {
    /// The command has ended.
    Ended,
    /// We were told to leave, and ended the command for that.
    Told,
    /// We were told to leave, and not even KILL ended the command.
    Unkillable,
}

/// Watches until the command has ended, as the clock of this dispatch and of no other.
pub(super) fn watch(
    session: &mut Session<'_>,
    dispatch: &Dispatch,
    station: &mut Station<'_>,
) -> Watched {
    let clock = session.clock();
    let mut activity = Activity::new(clock, dispatch, station);
    let mut ticked: Option<Duration> = None;
    loop {
        let due = own_due(session, dispatch);
        // a bound that a tick did not settle is not asked for again at once
        let rest = ticked.map_or(Duration::ZERO, |at| LOOK.saturating_sub(since(clock, at)));
        let time = due.unwrap_or(LOOK).max(rest).clamp(Duration::from_millis(1), LOOK);
        let time = time.min(activity.pause);
        match station.job.wait(time) {
            Woken::Ended => return Watched::Ended,
            Woken::Told if station.job.end() => return Watched::Told,
            Woken::Told => return Watched::Unkillable,
            Woken::Time => {}
        }
        if session.has_grown() {
            // what cannot be read now is read by the commit at the end
            let _ = session.refresh();
        }
        activity.look(session, dispatch, station);
        let due = own_due(session, dispatch);
        let rested = ticked.is_none_or(|at| since(clock, at) >= LOOK);
        if rested && due.is_some_and(|due| due.is_zero()) {
            (station.tick)();
            ticked = Some(clock.up());
            let _ = session.refresh();
        }
    }
}

/// How long until this dispatch's own next bound.
fn own_due(session: &Session<'_>, dispatch: &Dispatch) -> Option<Duration> {
    let current = session.state.dispatch(&dispatch.id)?;
    dispatch_due(&session.state, current, &session.clock().now())
}

/// Signs of life of a command: output, milestones, new commits.
struct Activity<'a> {
    clock: &'a dyn Clock,
    bytes: u64,
    seen: Duration,
    pause: Duration,
    milestones: u32,
    branch: Option<String>,
    tip: Option<CommitId>,
    last: Duration,
    looked: Duration,
    bound: Option<Duration>,
}

impl<'a> Activity<'a> {
    fn new(clock: &'a dyn Clock, dispatch: &Dispatch, station: &Station<'_>) -> Self {
        let bound = dispatch.plan.stall_timeout_ms.map(Duration::from_millis);
        let branch = match &dispatch.plan.tree {
            Tree::Member { branch, .. } if bound.is_some() => Some(branch.clone()),
            _ => None,
        };
        let now = clock.up();
        let mut activity = Self {
            clock,
            bytes: 0,
            seen: now,
            pause: SOON,
            milestones: 0,
            branch,
            tip: None,
            last: now,
            looked: now,
            bound,
        };
        activity.look_at_branch(station);
        activity
    }

    fn look(&mut self, session: &mut Session<'_>, dispatch: &Dispatch, station: &Station<'_>) {
        let bytes = station.job.output_bytes();
        let limit = session.state.config().output_limit();
        self.pace(bytes, limit);
        let Some(current) = session.state.dispatch(&dispatch.id) else { return };
        let milestones = current.milestones;
        if bytes != self.bytes || milestones != self.milestones {
            (self.bytes, self.milestones, self.last) = (bytes, milestones, self.clock.up());
        }
        if current.stop.is_some() {
            return; // somebody has said enough
        }
        let id = dispatch.id;
        if bytes > limit {
            say(session, station, Fact::Flooded { dispatch: id });
        } else if self.has_stalled(station) {
            say(session, station, Fact::Stalled { dispatch: id });
        }
    }

    /// Output is looked at again by when half of what is left could have come, at the pace since
    /// the last look: a flood is stopped near its limit and not a second of writing later.
    fn pace(&mut self, bytes: u64, limit: u64) {
        let since = since(self.clock, std::mem::replace(&mut self.seen, self.clock.up()));
        let left = u128::from(limit.saturating_sub(bytes));
        let grown = u128::from(bytes.saturating_sub(self.bytes));
        let half = (left * since.as_millis() / 2).checked_div(grown).unwrap_or(u128::MAX);
        let half = Duration::from_millis(u64::try_from(half).unwrap_or(u64::MAX));
        let over = bytes > limit; // and said: no more is to be seen
        self.pause = if over { LOOK } else { half.max(SOON).min(self.pause * 2).min(LOOK) };
    }

    /// Whether nothing has come for too long. The branch is asked only while all else is silent.
    fn has_stalled(&mut self, station: &Station<'_>) -> bool {
        let Some(bound) = self.bound else { return false };
        let silent = since(self.clock, self.last);
        let look = (bound / LOOKS).max(LOOK).min(bound);
        if silent < look || (silent < bound && since(self.clock, self.looked) < look) {
            return false;
        }
        self.look_at_branch(station) && since(self.clock, self.last) >= bound
    }

    /// Whether somebody can tell where the branch is; a new tip is a sign of life. What cannot
    /// be reached decides nothing.
    fn look_at_branch(&mut self, station: &Station<'_>) -> bool {
        self.looked = self.clock.up();
        let Some((branch, git)) = self.branch.as_ref().zip(station.git) else { return true };
        let tip = match git.reference(branch) {
            Seen::Value(tip) => Some(tip),
            Seen::Absent => None,
            Seen::Unreachable(_) => return false,
        };
        if tip != self.tip {
            (self.tip, self.last) = (tip, self.clock.up());
        }
        true
    }
}

/// Commits what was seen, and ticks: the stop is asked for and paid. What could not be committed
/// is said again at the next look.
fn say(session: &mut Session<'_>, station: &Station<'_>, fact: Fact) {
    if session.transact(&Input::Fact(fact)).is_ok() {
        (station.tick)();
        let _ = session.refresh();
    }
}

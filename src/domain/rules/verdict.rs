//! Whose fault is it: every end of a dispatch gets one verdict (3-engine.md).
//!
//! The order of judgement: stopped by us, verified done, wrong procedure, hand-back, dead or
//! failed. So finished work is not lost to an old milestone, and a wrong milestone is not taken
//! for an unverified exit.

use crate::domain::config::{Completion, Profile, Workdir};
use crate::domain::event::{Exit, GateSpec, Ground, Verdict};
use crate::domain::state::Dispatch;

/// An end this soon, without any sign of work, is empty.
const EMPTY_WITHIN_MS: u64 = 60_000;

/// Exit codes by which a command says "the machinery failed, not the work".
const INCONCLUSIVE: [i32; 3] = [75, 126, 127];

/// What comes before any judgement of the work: the end was not the command's own.
fn outside(dispatch: &Dispatch, exit: &Exit) -> Option<Verdict> {
    if is_stopped(dispatch, exit.ran) {
        return Some(Verdict::Stopped);
    }
    if exit.worktree_failed.is_some() {
        return Some(Verdict::WorktreeFailed);
    }
    if exit.exec_failed.is_some() {
        return Some(Verdict::HostFault);
    }
    if !exit.ran {
        return Some(Verdict::NeverRan);
    }
    if exit.supervisor || exit.signal.is_some() {
        return Some(Verdict::KilledOutside);
    }
    None
}

/// Whether a stop is why a dispatch ended. A bound is broken by a command that ran: what waited for
/// its tree until then is nobody's fault.
pub(super) fn is_stopped(dispatch: &Dispatch, ran: bool) -> bool {
    dispatch.stop.as_ref().is_some_and(|stop| ran || !stop.reason.is_bound())
}

/// Whether an agent's work is verified done: an exit is never proof.
fn is_done(dispatch: &Dispatch, profile: &Profile, exit: &Exit) -> bool {
    if exit.code != Some(0) {
        return false;
    }
    if profile.completion == Completion::Milestone && !dispatch.said_done {
        return false;
    }
    if profile.workdir == Workdir::None {
        return true;
    }
    let Some(ground) = &exit.ground else { return false };
    ground.tree && ground.tip.is_some() && (ground.commits > 0 || profile.allow_empty)
}

/// The verdict over an agent.
pub(super) fn agent(dispatch: &Dispatch, profile: &Profile, exit: &Exit) -> Verdict {
    if let Some(verdict) = outside(dispatch, exit) {
        return verdict;
    }
    if is_done(dispatch, profile, exit) {
        return Verdict::Done;
    }
    if dispatch.said.wrong.is_some() {
        return Verdict::UnverifiedExit;
    }
    if dispatch.said.needs_human {
        return Verdict::NeedsHuman;
    }
    let by_code = exit.code.is_some_and(|code| profile.handed_back_codes.contains(&code));
    if by_code || dispatch.said.handed_back.is_some() {
        return Verdict::HandedBack;
    }
    let commits = exit.ground.as_ref().map_or(0, |g| g.commits);
    let output = exit.output.as_ref().map_or(0, |o| o.bytes);
    let nothing = dispatch.milestones == 0 && commits == 0 && output == 0;
    if nothing && exit.duration_ms < EMPTY_WITHIN_MS {
        return Verdict::Empty;
    }
    Verdict::UnverifiedExit
}

/// What the ground says of an agent that was lost while it ran: the gates decide, if there are
/// any, over a clean tree with commits of its own.
pub(super) fn lost_agent(ground: Option<&Ground>, has_gates: bool) -> Verdict {
    let looks_done = ground
        .is_some_and(|g| g.tree && !g.dirty && g.on_branch && g.tip.is_some() && g.commits > 0);
    if looks_done && has_gates { Verdict::Done } else { Verdict::Lost }
}

/// The verdict over a gate. A silent failure is inconclusive: it left no evidence.
pub(super) fn gate(dispatch: &Dispatch, spec: &GateSpec, exit: &Exit) -> Verdict {
    task(dispatch, exit, |code| match code {
        0 => Verdict::Passed,
        code if INCONCLUSIVE.contains(&code) || spec.inconclusive_codes.contains(&code) => {
            Verdict::Inconclusive
        }
        _ if exit.output.as_ref().map_or(0, |o| o.bytes) == 0 => Verdict::Inconclusive,
        _ => Verdict::Failed,
    })
}

/// The verdict over a suite: its report where it has one, else its exit code.
pub(super) fn suite(dispatch: &Dispatch, by_report: bool, exit: &Exit) -> Verdict {
    task(dispatch, exit, |code| {
        if INCONCLUSIVE.contains(&code) {
            return Verdict::Inconclusive;
        }
        if !by_report {
            return if code == 0 { Verdict::Passed } else { Verdict::Failed };
        }
        match &exit.report {
            Some(report) if report.unreadable.is_none() => match (report.failures.len(), code) {
                (0, 0) => Verdict::Passed,
                (0, _) => Verdict::Inconclusive, // failed, and names no test
                _ => Verdict::Failed,
            },
            _ => Verdict::Inconclusive,
        }
    })
}

/// The verdict over a built-in: it answers no question, so it is never inconclusive.
pub(super) fn builtin(dispatch: &Dispatch, exit: &Exit) -> Verdict {
    let by_code = if exit.code == Some(0) { Verdict::Done } else { Verdict::UnverifiedExit };
    outside(dispatch, exit).unwrap_or(by_code)
}

fn task(dispatch: &Dispatch, exit: &Exit, by_code: impl Fn(i32) -> Verdict) -> Verdict {
    match outside(dispatch, exit) {
        // the tool is missing, or it took too long: nobody can tell
        Some(Verdict::HostFault) => Verdict::Inconclusive,
        Some(Verdict::Stopped) if bound(dispatch) => Verdict::Inconclusive,
        Some(verdict) => verdict,
        None => exit.code.map_or(Verdict::Inconclusive, by_code),
    }
}

/// Whether the stop under way is the dispatch's own fault: a bound, not a decision about its unit.
fn bound(dispatch: &Dispatch) -> bool {
    dispatch.stop.as_ref().is_some_and(|stop| stop.reason.is_bound())
}

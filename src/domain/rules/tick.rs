//! What a tick finds when it begins: configuration, gaps, the clock, bounds, missed moves.

use super::draft::Draft;
use super::{conditions, dissolve, member, recover, stop};
use crate::domain::event::{ClockBehind, ConfigApplied, Severity, TickGap};
use crate::domain::fact::TickSeen;
use crate::domain::ids::{BatchId, IssueId};
use crate::domain::state::{Batch, BatchStatus};

/// Decides whatever is due at the beginning of a tick, or when a bound wakes somebody.
pub(super) fn tick(draft: &mut Draft<'_>, seen: &TickSeen) {
    gap(draft, seen);
    clock(draft);
    config(draft, seen);
    disk(draft, seen);
    conditions::forget_branches(draft);
    stop::bounds(draft, &seen.waited);
    recover::missed_moves(draft);
    missing_profiles(draft);
}

/// A silence is only worth a line when there was something to do.
fn gap(draft: &mut Draft<'_>, seen: &TickSeen) {
    let Some(since) = seen.last_tick else { return };
    let long = draft.wall().since(since) > draft.state.config().tick_gap();
    if long && !draft.state.is_at_rest() {
        draft.push(TickGap { since });
    }
}

fn clock(draft: &mut Draft<'_>) {
    // the draft's head is the present; the newest stamp of the journal is what conditions and
    // dispatches carry, so the caller hands a wall clock that never runs behind unseen
    let newest = draft.state.dispatches.values().map(|d| d.planned.at).max();
    let Some(newest) = newest.filter(|at| *at > draft.wall()) else { return };
    if draft.state.health.clock_behind_said {
        return;
    }
    let ahead = newest.since(draft.wall());
    draft.push(ClockBehind { ahead_ms: super::plan::millis(ahead) });
}

/// The configuration file has another content, or an invalid one.
pub(super) fn config(draft: &mut Draft<'_>, seen: &TickSeen) {
    match &seen.config {
        Some((digest, Ok(content))) => {
            let known = draft.state.applied.as_ref().is_some_and(|a| a.digest == *digest);
            if !known {
                let (digest, content) = (digest.clone(), content.clone());
                draft.push(ConfigApplied { digest, content });
                conditions::programs_changed(draft);
            }
            conditions::clear(draft, "config-invalid", "");
        }
        Some((_, Err(message))) => {
            let message = format!("the last good configuration stays in force: {message}");
            let said = draft.state.health.condition("config-invalid", "");
            if said.is_some_and(|said| said.message != message) {
                conditions::clear(draft, "config-invalid", ""); // it is another one
            }
            conditions::raise(draft, "config-invalid", "", Severity::Error, message);
        }
        None => conditions::clear(draft, "config-invalid", ""),
    }
}

fn disk(draft: &mut Draft<'_>, seen: &TickSeen) {
    match seen.disk_low {
        Some(free) => {
            let message = format!("{} MiB are free: nothing new starts", free >> 20);
            conditions::raise(draft, "disk-low", "", Severity::Error, message);
        }
        None => conditions::clear(draft, "disk-low", ""),
    }
}

/// A batch whose profile is no longer configured dissolves, its agents stopped first; once
/// something has landed, the default profile finishes it.
fn missing_profiles(draft: &mut Draft<'_>) {
    let config = draft.state.config();
    let missing = |batch: &Batch| {
        let open = batch.members.iter().filter(|m| m.outcome.is_none());
        open.filter_map(|m| draft.state.issue(&m.issue))
            .find(|i| config.profile(i.profile()).is_none())
            .map(|i| (batch.id.clone(), i.id.clone(), i.profile().to_owned()))
    };
    let due = |b: &&Batch| {
        matches!(b.status, BatchStatus::Executing | BatchStatus::Ready)
            && b.stopping.is_none()
            && b.landed().next().is_none()
    };
    let found: Vec<(BatchId, IssueId, String)> =
        draft.state.batches.values().map(AsRef::as_ref).filter(due).filter_map(missing).collect();
    for (id, issue, profile) in found {
        let Some(batch) = draft.batch(&id) else { continue };
        let reason = format!("profile-missing:{profile}");
        if batch.issue.is_none() {
            dissolve::dissolve(draft, &batch, &reason);
        } else if draft.state.dispatches_in(&batch).next().is_none() {
            member::leave(draft, &id, &issue, &reason, false);
        }
    }
}

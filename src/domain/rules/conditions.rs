//! Conditions that last: journaled at their onset, again every 20 minutes at most, and when they
//! clear; never once per tick.

use super::draft::Draft;
use super::start;
use crate::domain::effect::Probe;
use crate::domain::event::{ConditionCleared, ConditionRaised, ProfileRestored, Severity};
use crate::domain::ids::{DispatchId, Unit};
use crate::domain::wants;
use std::time::Duration;

/// How often a condition that lasts is said again.
const AGAIN_AFTER: Duration = Duration::from_secs(20 * 60);

/// A condition holds now.
pub(super) fn raise(
    draft: &mut Draft<'_>,
    code: &str,
    subject: &str,
    severity: Severity,
    message: String,
) {
    let known = draft.state.health.condition(code, subject);
    let due = known.is_none_or(|c| c.said.remaining(AGAIN_AFTER, draft.now).is_zero());
    if !due {
        return;
    }
    let since = known.map_or(draft.wall(), |c| c.since);
    let (code, subject) = (code.to_owned(), subject.to_owned());
    draft.push(ConditionRaised { code, subject, severity, since, message });
}

/// A condition does not hold now.
pub(super) fn clear(draft: &mut Draft<'_>, code: &str, subject: &str) {
    let Some(since) = draft.state.health.condition(code, subject).map(|c| c.since) else { return };
    draft.push(ConditionCleared { code: code.to_owned(), subject: subject.to_owned(), since });
}

/// Nobody can tell where a branch is; nothing is concluded from it.
pub(super) fn unreachable(draft: &mut Draft<'_>, branch: &str, why: &str) {
    let message = format!("the branch `{branch}` cannot be read: {why}");
    raise(draft, "unreachable", branch, Severity::Warning, message);
}

/// It can be read again.
pub(super) fn reachable(draft: &mut Draft<'_>, branch: &str) {
    clear(draft, "unreachable", branch);
}

/// A branch that nothing waits for any more is no condition, whether it can be read or not.
pub(super) fn forget_branches(draft: &mut Draft<'_>) {
    let Some(said) = draft.state.health.conditions.get("unreachable") else { return };
    let wanted = wants(&draft.state, draft.now);
    let waits = |branch: &String| wanted.contains(&Probe::Base(branch.clone()));
    let forgotten: Vec<String> = said.keys().filter(|branch| !waits(branch)).cloned().collect();
    for branch in forgotten {
        clear(draft, "unreachable", &branch);
    }
}

const UNREADABLE: &str = "ground-truth-unreachable";

/// A dispatch is over and cannot be judged: nothing is concluded, and it is said.
pub(super) fn unreadable(draft: &mut Draft<'_>, id: DispatchId) {
    let Some(dispatch) = draft.dispatch(&id).filter(|d| d.is_started()) else { return };
    let message = format!("its agent ended, but tree and branch cannot be read (dispatch {id})");
    raise(draft, UNREADABLE, &dispatch.unit.to_string(), Severity::Error, message);
}

/// It could be judged.
pub(super) fn readable(draft: &mut Draft<'_>, unit: &Unit) {
    clear(draft, UNREADABLE, &unit.to_string());
}

/// A suspended profile that no longer names the program which could not be executed is tried
/// again.
pub(super) fn programs_changed(draft: &mut Draft<'_>) {
    let config = draft.state.config();
    let still = |profile: &str, program: &str| {
        config.profile(profile).is_some_and(|p| p.programs().any(|named| named == program))
    };
    let suspended = draft.state.health.profiles.iter();
    let changed: Vec<String> = suspended
        .filter(|(profile, suspension)| !still(profile, &suspension.program))
        .map(|(profile, _)| profile.clone())
        .collect();
    for profile in changed {
        draft.push(ProfileRestored { profile });
    }
}

/// A suspended profile's program was looked for. One that was found and could not be executed
/// all the same is tried again after a while.
pub(super) fn program(draft: &mut Draft<'_>, profile: &str, found: bool) {
    let health = &draft.state.health;
    let Some(suspension) = health.profiles.get(profile).filter(|_| found) else { return };
    let times = health.faults.get(profile).copied().unwrap_or_default();
    let trial = times.checked_sub(2).map_or(0, start::trial_after_ms);
    let delay = Duration::from_millis(trial);
    if suspension.since.remaining(delay, draft.now).is_zero() {
        draft.push(ProfileRestored { profile: profile.to_owned() });
    }
}

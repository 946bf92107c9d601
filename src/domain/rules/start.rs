//! How batches and dispatches begin.

use super::draft::Draft;
use super::{member, needs, plan};
use crate::domain::config::Config;
use crate::domain::event::{
    BatchStarted, DispatchExpired, DispatchStarted, DispatchSuperseded, IntegrationCreated,
    IssueBlocked, MemberAssigned, Mode, SpawnFailing, SpawnRecovered,
};
use crate::domain::fact::BranchResult;
use crate::domain::ids::{BatchId, CommitId, DispatchId, IssueId, Unit};
use crate::domain::refusal::Refusal;
use crate::domain::state::{BatchStatus, Dispatch};
use std::sync::Arc;

/// After so many starts in a row that did not come up, starting is suspended.
const SPAWN_FAILURES: u32 = 3;
/// When the first trial is made; each next one after twice that.
const FIRST_TRIAL_MS: u64 = 5_000;
const LAST_TRIAL_MS: u64 = 300_000;

/// How long until the next trial, after so many that failed.
pub(super) fn trial_after_ms(failed: u32) -> u64 {
    (FIRST_TRIAL_MS << failed.min(10)).min(LAST_TRIAL_MS)
}

/// Starts a ready batch on its base, and its first member's agent, in one line.
pub(super) fn start_batch(draft: &mut Draft<'_>, id: &BatchId) {
    let config = draft.state.config();
    let Some(base_commit) = draft.bases.get(config.base_branch()).cloned() else { return };
    let Some(batch) = draft.batch(id) else { return };
    let started = pinned(draft, &config, id.clone(), None, batch.mode, base_commit);
    draft.push(started);
    first_member(draft, id);
}

/// Starts a stand-alone issue as a batch of one.
pub(super) fn start_issue(draft: &mut Draft<'_>, id: &IssueId) {
    let config = draft.state.config();
    let Some(base_commit) = draft.bases.get(config.base_branch()).cloned() else { return };
    let Some(issue) = draft.issue(id) else { return };
    let batch = BatchId::implicit(id, issue.runs + 1);
    let issue = Some(id.clone());
    let started = pinned(draft, &config, batch.clone(), issue, Mode::Serial, base_commit);
    draft.push(started);
    first_member(draft, &batch);
}

/// What the batch is judged by, whatever the configuration says later.
fn pinned(
    draft: &Draft<'_>,
    config: &Config,
    batch: BatchId,
    issue: Option<IssueId>,
    mode: Mode,
    base_commit: CommitId,
) -> BatchStarted {
    let repository = draft.state.environment.as_ref().and_then(|e| e.repository.clone());
    BatchStarted {
        branch: format!("sched/{batch}/integration"),
        batch,
        issue,
        base: config.base_branch().to_owned(),
        base_commit,
        mode,
        worktree_root: config.worktree_root(repository.as_deref().unwrap_or("")),
        gates: config.gate_specs(),
        suite: config.suite_spec(),
        landing: config.landing(),
        dissolve: config.dissolve_spec(),
        ship: config.ship_mode(),
    }
}

fn first_member(draft: &mut Draft<'_>, id: &BatchId) {
    let Some(batch) = draft.batch(id) else { return };
    let Some(first) = needs::next_member(&draft.state, &batch) else { return };
    draft.push(MemberAssigned {
        batch: id.clone(),
        member: first.issue.clone(),
        n: first.n,
        branch: batch.branch_of(first),
        worktree: batch.tree_of(first),
    });
    plan::agent(draft, id, &first.issue);
}

/// The integration branch was to be made.
pub(super) fn integration(draft: &mut Draft<'_>, id: &BatchId, result: &BranchResult) {
    let Some(batch) = draft.batch(id) else { return };
    let due = batch.status == BatchStatus::Executing && batch.integration.is_none();
    let Some(base) = batch.base_commit.clone().filter(|_| due) else { return };
    match result {
        BranchResult::Exists(commit) if *commit != base => {
            let detail = format!("{} is at {commit} already", batch.integration_branch());
            member::hold_back(draft, &batch, "branch-exists");
            member::block(draft, id, "branch-exists", None, None, Some(detail));
        }
        BranchResult::Made | BranchResult::Exists(_) => {
            draft.push(IntegrationCreated { batch: id.clone(), commit: base });
        }
    }
}

/// Compare-and-append: the command may run only if the journal still says `planned`.
pub(super) fn starting(draft: &mut Draft<'_>, started: &DispatchStarted) -> Result<(), Refusal> {
    match draft.dispatch(&started.dispatch) {
        None => Err(Refusal::refused(format!("dispatch {} is over", started.dispatch))),
        Some(dispatch) if dispatch.is_started() => {
            Err(Refusal::refused(format!("dispatch {} is started already", started.dispatch)))
        }
        Some(_) => {
            draft.push(started.clone());
            if draft.state.health.spawn.is_some() {
                draft.push(SpawnRecovered {});
            }
            Ok(())
        }
    }
}

/// A dispatch that nobody started in time ends; what needs one plans another.
pub(super) fn not_started(draft: &mut Draft<'_>, id: DispatchId, tried: bool) {
    let Some(dispatch) = draft.dispatch(&id).filter(|d| !d.is_started()) else { return };
    draft.push(DispatchExpired { dispatch: id, tried });
    if dispatch.plan.slot.is_some() {
        draft.release_slot(&dispatch.unit); // a gate's member keeps the slot of its agent
    }
    if tried {
        note_spawn_failure(draft);
    }
}

/// Says that starting fails, once there have been enough failures in a row.
pub(super) fn note_spawn_failure(draft: &mut Draft<'_>) {
    let count = draft.state.health.never_ran;
    let trial_after_ms = match &draft.state.health.spawn {
        Some(spawn) => (spawn.trial_after_ms * 2).min(LAST_TRIAL_MS),
        None if count >= SPAWN_FAILURES => trial_after_ms(0),
        None => return,
    };
    draft.push(SpawnFailing { count, trial_after_ms });
}

/// Ends a planned dispatch that is not to start, and gives its permit back.
pub(super) fn supersede(draft: &mut Draft<'_>, id: DispatchId, reason: &str) {
    let Some(dispatch) = draft.dispatch(&id).filter(|d| !d.is_started()) else { return };
    draft.push(DispatchSuperseded { dispatch: id, reason: reason.to_owned() });
    if dispatch.plan.slot.is_some() {
        draft.release_slot(&dispatch.unit);
    }
}

/// Supersedes what is planned and not started for a unit that is to go nowhere now.
pub(super) fn hold_back_unit(draft: &mut Draft<'_>, unit: &Unit) {
    let batch = draft.state.batch_of(unit).cloned();
    let of = |d: &&Arc<Dispatch>| batch.as_ref().map_or(d.unit == *unit, |b| b.owns(&d.unit));
    let planned = draft.state.dispatches.values().filter(|d| !d.is_started()).filter(of);
    let planned: Vec<DispatchId> = planned.map(|d| d.id).collect();
    planned.into_iter().for_each(|id| supersede(draft, id, "repaired"));
}

/// The base branch is missing: what was to start on it is blocked.
pub(super) fn base_missing(draft: &mut Draft<'_>, branch: &str) {
    let reason = format!("base-missing:{branch}");
    if branch != draft.state.config().base_branch() {
        return;
    }
    for need in super::needs(&draft.state, draft.now) {
        match need.kind {
            super::NeedKind::StartBatch(batch) => {
                member::block(draft, &batch, &reason, None, None, None);
            }
            super::NeedKind::StartIssue(issue) => {
                draft.push(IssueBlocked { issue, reason: reason.clone(), detail: None });
            }
            _ => {}
        }
    }
}

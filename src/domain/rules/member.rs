//! How members land and leave, and the batch's next move: always in one line.

use super::draft::Draft;
use super::{dissolve, needs, start};
use crate::domain::event::{
    BatchBlocked, BatchDissolved, BatchDone, BatchMerged, BatchResumed, BatchValidated,
    BatchValidating, EvictionDuplicate, EvictionKind, Evidence, IssueBlocked, IssueDone,
    IssueFailed, IssueStopped, IssueUnblocked, Landed, LandingPlanned, MemberAdvanced,
    MemberEvicted, MemberLanded, MemberReprompted, MemberVerified, ShipMode, SuiteResult, Verb,
};
use crate::domain::fact::LandResult;
use crate::domain::ids::{BatchId, CommitId, DispatchId, IssueId};
use crate::domain::state::{
    Batch, BatchStatus, Dispatch, IssueStatus, Judging, LandingPlan, State,
};
use uuid::Uuid;

/// The last gate passed: verified, slot released, landing planned.
pub(super) fn verified(draft: &mut Draft<'_>, id: &BatchId, issue: &IssueId, judging: &Judging) {
    let Some(batch) = draft.batch(id) else { return };
    let (tip, flaky) = (judging.tip.clone(), judging.flaky.clone());
    draft.push(MemberVerified { batch: id.clone(), member: issue.clone(), tip, flaky });
    draft.release_slot(&batch.member_unit(issue));
    if judging.no_op {
        let commit = judging.base.clone();
        return landed(draft, id, issue, commit, Landed::NoOp);
    }
    let Some(parent) = batch.integration.clone() else { return };
    plan_landing(draft, &batch, issue, judging.tip.clone(), parent);
}

fn plan_landing(
    draft: &mut Draft<'_>,
    batch: &Batch,
    issue: &IssueId,
    tip: CommitId,
    parent: CommitId,
) {
    let dispatch = batch.member(issue).and_then(|m| m.agent).unwrap_or(DispatchId(Uuid::nil()));
    draft.push(LandingPlanned {
        batch: batch.id.clone(),
        member: issue.clone(),
        tip,
        parent,
        time: draft.wall(),
        dispatch,
    });
}

/// A landing was tried.
pub(super) fn landing(draft: &mut Draft<'_>, id: &BatchId, issue: &IssueId, result: &LandResult) {
    let Some(batch) = draft.batch(id).filter(|b| b.status == BatchStatus::Executing) else {
        return;
    };
    let Some(plan) = batch.member(issue).and_then(|m| m.landing.clone()) else { return };
    let LandingPlan { tip, parent, .. } = plan;
    match result {
        LandResult::Landed(commit) => landed(draft, id, issue, commit.clone(), Landed::Landed),
        LandResult::AlreadyLanded => landed(draft, id, issue, parent, Landed::AlreadyLanded),
        LandResult::Conflict(paths) => conflicts(draft, id, issue, paths),
        LandResult::Moved(commit) if *commit != parent => {
            plan_landing(draft, &batch, issue, tip, commit.clone());
        }
        LandResult::Moved(_) => {}
    }
}

/// A member's work cannot go onto the integration tip.
pub(super) fn conflicts(draft: &mut Draft<'_>, id: &BatchId, issue: &IssueId, paths: &[String]) {
    let conflicts = paths.iter().take(50).cloned().collect();
    leave_with(draft, id, issue, "landing-conflict", false, |evidence| {
        evidence.conflicts = conflicts;
    });
}

/// A member's work is on the integration branch; the batch moves on.
pub(super) fn landed(
    draft: &mut Draft<'_>,
    id: &BatchId,
    issue: &IssueId,
    commit: CommitId,
    outcome: Landed,
) {
    draft.push(MemberLanded { batch: id.clone(), member: issue.clone(), commit, outcome });
    next_move(draft, id, false);
}

/// A member leaves, with its slot, those who depended on it, and the batch's next move.
pub(super) fn leave(
    draft: &mut Draft<'_>,
    batch: &BatchId,
    issue: &IssueId,
    reason: &str,
    handed_back: bool,
) {
    leave_with(draft, batch, issue, reason, handed_back, |_| {});
}

fn leave_with(
    draft: &mut Draft<'_>,
    id: &BatchId,
    issue: &IssueId,
    reason: &str,
    handed_back: bool,
    more: impl FnOnce(&mut Evidence),
) {
    let Some(batch) = draft.batch(id) else { return };
    let Some(member) = batch.member(issue) else { return };
    let kind = if handed_back { EvictionKind::HandedBack } else { EvictionKind::Evicted };
    let unit = batch.member_unit(issue);
    let (batch_id, member_id, reason) = (id.clone(), issue.clone(), reason.to_owned());
    if member.outcome.is_some() {
        draft.push(EvictionDuplicate { batch: batch_id, member: member_id, reason, kind });
        return draft.release_slot(&unit);
    }
    let mut evidence = member.evidence.clone();
    more(&mut evidence);
    let branch = draft.state.issue(issue).and_then(|i| i.branch.clone());
    draft.release_slot(&unit);
    draft.push(MemberEvicted {
        batch: batch_id,
        member: member_id,
        reason: reason.clone(),
        kind,
        branch,
        evidence,
    });
    dependents_leave(draft, id, issue);
    if batch.issue.is_some() {
        return implicit_ends(draft, id, issue, &reason, kind);
    }
    let current_left = batch.current.as_ref() == Some(issue) || batch.current.is_none();
    if current_left {
        next_move(draft, id, !handed_back);
    }
}

/// A member leaves by the operator's word while its batch ends: no move is due.
pub(super) fn leaves_by_operator(draft: &mut Draft<'_>, id: &BatchId, issue: &IssueId, verb: Verb) {
    let Some(member) = draft.member(id, issue) else { return };
    draft.push(MemberEvicted {
        batch: id.clone(),
        member: issue.clone(),
        reason: if verb == Verb::Stop { "stopped" } else { "abandoned" }.into(),
        kind: EvictionKind::HandedBack,
        branch: draft.state.issue(issue).and_then(|i| i.branch.clone()),
        evidence: member.evidence,
    });
}

/// Members that depend on one that left cannot be worked: they are handed back with it.
fn dependents_leave(draft: &mut Draft<'_>, id: &BatchId, left: &IssueId) {
    let mut gone = vec![left.clone()];
    while let Some(dep) = gone.pop() {
        let Some(batch) = draft.batch(id) else { return };
        let open = batch.members.iter().filter(|m| m.outcome.is_none());
        let waiting: Vec<IssueId> = open
            .filter(|m| draft.state.issue(&m.issue).is_some_and(|i| i.deps.contains(&dep)))
            .map(|m| m.issue.clone())
            .collect();
        for member in waiting {
            let branch = draft.state.issue(&member).and_then(|i| i.branch.clone());
            draft.release_slot(&batch.member_unit(&member));
            draft.push(MemberEvicted {
                batch: id.clone(),
                member: member.clone(),
                reason: format!("dep-left:{dep}"),
                kind: EvictionKind::HandedBack,
                branch,
                evidence: Evidence::default(),
            });
            gone.push(member);
        }
    }
}

/// The end of a batch of one is its issue's, in the same line.
fn implicit_ends(
    draft: &mut Draft<'_>,
    id: &BatchId,
    issue: &IssueId,
    reason: &str,
    kind: EvictionKind,
) {
    resume_first(draft, id);
    let Some(batch) = draft.batch(id) else { return };
    let decision = dissolve::decision(&batch, "nothing-landed");
    draft.push(BatchDissolved(decision));
    match kind {
        EvictionKind::Evicted => fail_issue(draft, issue, reason),
        // its end by the operator's word stands in the same line
        EvictionKind::HandedBack
            if draft.state.issue(issue).is_some_and(|i| i.stopping.is_some()) => {}
        EvictionKind::HandedBack => {
            block_issue(draft, issue, "needs-human", Some(reason.to_owned()));
        }
    }
}

/// A batch that was blocked goes on before it moves.
fn resume_first(draft: &mut Draft<'_>, id: &BatchId) {
    if let Some(block) = draft.state.batch(id).and_then(|b| b.block.clone()) {
        draft.push(BatchResumed { batch: id.clone(), reason: block.reason });
    }
}

/// What the batch does after a member was resolved; only an eviction asks the threshold.
pub(super) fn next_move(draft: &mut Draft<'_>, id: &BatchId, evicted: bool) {
    let Some(batch) = draft.batch(id) else { return };
    let waits = matches!(batch.status, BatchStatus::Dissolving | BatchStatus::Rebasing);
    if batch.is_over() || waits {
        return; // a rebase makes the move when it ends
    }
    let about = batch.block.as_ref().map(|b| b.member.clone());
    if about.is_some_and(|member| member.is_none() || member != batch.current) {
        return; // blocked over something else: `resume` makes the move
    }
    resume_first(draft, id);
    let next = needs::next_member(&draft.state, &batch).map(|m| m.issue.clone());
    let landed = batch.landed().count();
    let tripped = evicted && dissolve::is_tripped(&batch);
    match next {
        None if landed == 0 => {
            let decision = dissolve::decision(&batch, "nothing-landed");
            draft.push(BatchDissolved(decision));
        }
        None => {
            if tripped {
                dissolve::suppress(draft, &batch);
            }
            validate(draft, &batch);
        }
        Some(_) if tripped && landed == 0 => dissolve::dissolve(draft, &batch, "threshold"),
        Some(to) => {
            if tripped {
                dissolve::suppress(draft, &batch);
            }
            let begun = batch.status != BatchStatus::Ready && batch.status != BatchStatus::Forming;
            if begun && batch.current.as_ref() != Some(&to) {
                draft.push(MemberAdvanced { batch: id.clone(), from: batch.current, to });
            }
        }
    }
}

/// All members are resolved: the suite, or straight on to shipping.
fn validate(draft: &mut Draft<'_>, batch: &Batch) {
    let Some(commit) = batch.integration.clone() else { return };
    let suite = batch.pinned.as_ref().is_some_and(|p| p.suite.is_some());
    if suite {
        draft.push(BatchValidating { batch: batch.id.clone(), commit });
    } else {
        validated(draft, &batch.id, commit, SuiteResult::None);
    }
}

/// The whole is good; with mode `none` it has shipped with that.
pub(super) fn validated(draft: &mut Draft<'_>, id: &BatchId, commit: CommitId, suite: SuiteResult) {
    draft.push(BatchValidated { batch: id.clone(), commit: commit.clone(), suite });
    let mode = draft.state.batch(id).and_then(|b| b.pinned.as_ref().map(|p| p.ship));
    if mode == Some(ShipMode::None) {
        merged(draft, id, commit);
    }
}

/// The batch has shipped: its trees go, then it is done.
pub(super) fn merged(draft: &mut Draft<'_>, id: &BatchId, commit: CommitId) {
    draft.push(BatchMerged { batch: id.clone(), commit });
    let Some(batch) = draft.batch(id) else { return };
    let shipped: Vec<IssueId> = batch.landed().map(|m| m.issue.clone()).collect();
    shipped.iter().for_each(|issue| lift_dependents(draft, issue));
    finish(draft, id);
}

/// A shipped batch without trees is done, and so are its issues.
pub(super) fn finish(draft: &mut Draft<'_>, id: &BatchId) {
    let Some(batch) = draft.batch(id) else { return };
    if batch.status != BatchStatus::Merged || !batch.trees.is_empty() {
        return;
    }
    draft.push(BatchDone { batch: id.clone() });
    for member in batch.landed() {
        draft.push(IssueDone { issue: member.issue.clone(), dispatch: member.agent });
    }
}

/// A milestone outside the procedure: evict when the run shipped by itself, otherwise re-prompt
/// once in place, then evict.
pub(super) fn wrong_procedure(
    draft: &mut Draft<'_>,
    id: &BatchId,
    issue: &IssueId,
    dispatch: &Dispatch,
) {
    let Some(member) = draft.member(id, issue) else { return };
    if dispatch.said.shipped {
        return leave(draft, id, issue, "wrong-procedure-shipped", false);
    }
    if member.reprompted.is_some() {
        return leave(draft, id, issue, "wrong-procedure", false);
    }
    let milestone = dispatch.said.wrong.clone().unwrap_or_default();
    draft.push(MemberReprompted { batch: id.clone(), member: issue.clone(), milestone });
    draft.release_slot(&dispatch.unit);
}

/// A batch cannot go on by itself. A batch that is over or blocked stays as it is.
pub(super) fn block(
    draft: &mut Draft<'_>,
    id: &BatchId,
    reason: &str,
    member: Option<IssueId>,
    dispatch: Option<DispatchId>,
    detail: Option<String>,
) {
    let can = |b: &Batch| b.status.may_become(BatchStatus::Blocked);
    if !draft.state.batch(id).is_some_and(can) {
        return;
    }
    if let Some(batch) = draft.batch(id) {
        let kind = reason.split(':').next().unwrap_or(reason);
        hold_back(draft, &batch, kind);
    }
    let (batch, reason) = (id.clone(), reason.to_owned());
    draft.push(BatchBlocked { batch, reason, member, dispatch, detail });
}

/// Supersedes what a batch that is about to be blocked has planned and not started.
pub(super) fn hold_back(draft: &mut Draft<'_>, batch: &Batch, reason: &str) {
    let planned: Vec<DispatchId> =
        draft.state.dispatches_in(batch).filter(|d| !d.is_started()).map(|d| d.id).collect();
    planned.into_iter().for_each(|dispatch| start::supersede(draft, dispatch, reason));
}

/// An issue cannot go on by itself.
pub(super) fn block_issue(
    draft: &mut Draft<'_>,
    id: &IssueId,
    reason: &str,
    detail: Option<String>,
) {
    let can = |s: IssueStatus| s.may_become(IssueStatus::Blocked);
    if draft.state.issue(id).is_some_and(|i| can(i.status)) {
        draft.push(IssueBlocked { issue: id.clone(), reason: reason.to_owned(), detail });
    }
}

/// An issue has failed; what depends on it is blocked in the same line.
pub(super) fn fail_issue(draft: &mut Draft<'_>, id: &IssueId, reason: &str) {
    draft.push(IssueFailed { issue: id.clone(), reason: reason.to_owned() });
    block_dependents(draft, id);
}

/// An issue was stopped or abandoned by an operator.
pub(super) fn end_by_operator(draft: &mut Draft<'_>, id: &IssueId, verb: Verb, reason: &str) {
    if draft.state.issue(id).is_none_or(|i| i.status.is_terminal()) {
        return;
    }
    if verb == Verb::Abandon {
        return fail_issue(draft, id, reason);
    }
    draft.push(IssueStopped { issue: id.clone(), reason: reason.to_owned() });
    block_dependents(draft, id);
}

/// Blocks whatever can never start because of an issue that failed, transitively.
pub(super) fn block_dependents(draft: &mut Draft<'_>, failed: &IssueId) {
    block_waiting(draft, failed, &format!("dep-failed:{failed}"));
}

/// Blocks whatever waits for a unit that can never start, transitively, for one reason.
pub(super) fn block_waiting(draft: &mut Draft<'_>, root: &IssueId, reason: &str) {
    let mut roots = vec![root.clone()];
    while let Some(root) = roots.pop() {
        for dependent in waiting_on(&draft.state, &root) {
            draft.push(IssueBlocked {
                issue: dependent.clone(),
                reason: reason.to_owned(),
                detail: None,
            });
            roots.push(dependent);
        }
    }
}

fn waiting_on(state: &State, dep: &IssueId) -> Vec<IssueId> {
    let open = state.issues.values().filter(|i| i.status == IssueStatus::Queued);
    open.filter(|i| i.deps.contains(dep)).map(|i| i.id.clone()).collect()
}

/// What an issue had blocked is lifted when the cause is gone.
pub(super) fn lift_dependents(draft: &mut Draft<'_>, id: &IssueId) {
    let reason = format!("dep-failed:{id}");
    let blocked: Vec<IssueId> = draft
        .state
        .issues
        .values()
        .filter(|i| i.block.as_ref().is_some_and(|b| b.reason == reason))
        .map(|i| i.id.clone())
        .collect();
    for issue in &blocked {
        draft.push(IssueUnblocked { issue: issue.clone(), reason: reason.clone() });
    }
    blocked.iter().for_each(|issue| block_if_dep_failed(draft, issue));
}

/// Blocks a queued issue, and what waits for it, when one of its dependencies has failed.
pub(super) fn block_if_dep_failed(draft: &mut Draft<'_>, id: &IssueId) {
    let Some(issue) = draft.issue(id).filter(|i| i.status == IssueStatus::Queued) else { return };
    let reason = issue.deps.iter().find_map(|dep| {
        let known = draft.state.issue(dep)?;
        let above = known.block.as_ref().map(|b| b.reason.clone());
        match known.status.fails_dependents() {
            true => Some(format!("dep-failed:{dep}")),
            false => above.filter(|reason| reason.starts_with("dep-failed:")),
        }
    });
    if let Some(reason) = reason {
        block_issue(draft, id, &reason, None);
        block_waiting(draft, id, &reason);
    }
}

/// Whether a batch is blocked.
pub(super) fn is_blocked(draft: &Draft<'_>, id: &BatchId) -> bool {
    draft.state.batch(id).is_some_and(|b| b.status == BatchStatus::Blocked)
}

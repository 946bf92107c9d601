//! `resume --batch` and `resume --issue`: what each reason of a block needs to go on.

use super::draft::Draft;
use super::operator::find_unit;
use super::{fill, member, stop};
use crate::domain::command::Target;
use crate::domain::event::{
    BatchRebasing, BatchResumed, IssueUnblocked, OperatorActed, RecheckPlanned, Verb,
};
use crate::domain::ids::{BatchId, CommitId, IssueId};
use crate::domain::refusal::Refusal;
use crate::domain::state::{Batch, BatchBlock, BatchStatus, IssueStatus, Outcome};

pub(super) fn resume_unit(
    draft: &mut Draft<'_>,
    target: &Target,
    reason: Option<String>,
    base: Option<&CommitId>,
) -> Result<(), Refusal> {
    let unit = find_unit(draft, target)?;
    let batch = draft.state.batch_of(&unit).cloned();
    let issue = unit.issue_id().and_then(|id| draft.issue(id));
    if let Some(issue) = issue.filter(|i| i.status == IssueStatus::Blocked) {
        let asked = OperatorActed { verb: Verb::Resume, unit, reason };
        return resume_issue(draft, &issue.id, asked);
    }
    let blocked = batch.and_then(|b| b.block.clone().map(|block| (b, block)));
    let Some((batch, block)) = blocked else {
        let name = target_name(target);
        return Err(Refusal::refused(format!("{name} is not blocked"))
            .remedy("see what it does:  sched status"));
    };
    let asked = OperatorActed { verb: Verb::Resume, unit, reason };
    resume_batch(draft, &batch, &block, base, asked)
}

fn target_name(target: &Target) -> String {
    match target {
        Target::Issue(id) => format!("issue {id}"),
        Target::Batch(id) => format!("batch {id}"),
    }
}

fn resume_issue(draft: &mut Draft<'_>, id: &IssueId, asked: OperatorActed) -> Result<(), Refusal> {
    let Some(block) = draft.issue(id).and_then(|i| i.block) else { return Ok(()) };
    if let Some(dep) = block.reason.strip_prefix("dep-failed:") {
        let message = format!("issue {id} is blocked on issue {dep}, which has failed");
        return Err(Refusal::refused(message)
            .detail("it goes on by itself when that is done or queued again")
            .remedy(format!("sched enqueue --issues {dep}")));
    }
    if block.reason == "agent-unkillable" && issue_lives(draft, id) {
        return Err(Refusal::refused(format!("the agent of issue {id} still lives"))
            .remedy("end its process by hand, then resume again"));
    }
    draft.push(asked);
    draft.push(IssueUnblocked { issue: id.clone(), reason: block.reason });
    member::block_if_dep_failed(draft, id);
    Ok(())
}

fn issue_lives(draft: &Draft<'_>, id: &IssueId) -> bool {
    draft.issue(id).is_some_and(|i| stop::work_of(&draft.state, &i.unit()).next().is_some())
}

fn resume_batch(
    draft: &mut Draft<'_>,
    batch: &Batch,
    block: &BatchBlock,
    base: Option<&CommitId>,
    asked: OperatorActed,
) -> Result<(), Refusal> {
    let id = &batch.id;
    let kind = block.reason.split(':').next().unwrap_or_default();
    match kind {
        "gate-inconclusive" => recheck(draft, batch, block, asked),
        "agent-unkillable" => {
            let alive = draft.state.dispatches_in(batch).any(|d| d.stop.is_some());
            if alive {
                return Err(Refusal::refused(format!("the agent of {} still lives", batch.unit()))
                    .remedy("end its process by hand, then resume again"));
            }
            draft.push(asked);
            back(draft, id, block);
            Ok(())
        }
        "gate-baseline-red" | "suite-unattributed" => {
            draft.push(asked);
            back(draft, id, block);
            if let Some(base) = base {
                rebase(draft, id, base);
            }
            Ok(())
        }
        "suite-unreadable"
        | "base-checkout-dirty"
        | "reconcile-error"
        | "adopted"
        | "repaired"
        | "base-moving"
        | "branch-exists"
        | "worktree-failed"
        | "base-missing"
        | "rebase-conflict"
        | "landing-push-failed" => {
            draft.push(asked);
            back(draft, id, block);
            Ok(())
        }
        _ => Err(Refusal::refused(format!("{} is blocked on {}", batch.unit(), block.reason))
            .detail("resume has no answer to that")
            .remedy(format!("see:  sched why {}", batch.unit()))),
    }
}

fn back(draft: &mut Draft<'_>, id: &BatchId, block: &BatchBlock) {
    draft.push(BatchResumed { batch: id.clone(), reason: block.reason.clone() });
    stop::conclude_batch(draft, id);
    catch_up(draft, id);
}

/// The move that a batch missed while it was blocked or rebased, if it did.
pub(super) fn catch_up(draft: &mut Draft<'_>, id: &BatchId) {
    let Some(batch) = draft.batch(id) else { return };
    let moves =
        matches!(batch.status, BatchStatus::Forming | BatchStatus::Ready | BatchStatus::Executing);
    let resolved = batch.members.iter().all(|m| m.outcome.is_some());
    let current = batch.current().and_then(|m| m.outcome);
    if moves && !batch.members.is_empty() && (resolved || current.is_some()) {
        member::next_move(draft, id, current == Some(Outcome::Evicted));
    }
}

/// What was judged on a base that has moved since is judged again on that.
fn rebase(draft: &mut Draft<'_>, id: &BatchId, base: &CommitId) {
    let Some(batch) = draft.batch(id) else { return };
    let from = batch.base_commit.clone().filter(|from| from != base);
    if let Some(from) = from.filter(|_| batch.status.may_become(BatchStatus::Rebasing)) {
        draft.push(BatchRebasing { batch: batch.id, from, onto: base.clone(), attempt: 0 });
    }
}

/// The blocked gate is asked once more; its answer decides. The batch stays blocked meanwhile.
fn recheck(
    draft: &mut Draft<'_>,
    batch: &Batch,
    block: &BatchBlock,
    asked: OperatorActed,
) -> Result<(), Refusal> {
    if block.recheck {
        return Err(Refusal::refused(format!("a recheck of {} is under way", batch.unit()))
            .remedy("watch it:  sched status"));
    }
    let judging = block.member.as_ref().and_then(|m| batch.member(m)?.judging.clone());
    let found = block.member.clone().zip(judging);
    let Some((member, judging)) = found else {
        return Err(Refusal::refused(format!("{} has no gate to ask again", batch.unit())));
    };
    let Some(gate) = judging.current().cloned() else {
        return Err(Refusal::refused(format!("{} has no gate to ask again", batch.unit())));
    };
    draft.push(asked);
    draft.push(RecheckPlanned { batch: batch.id.clone(), member, gate, tip: judging.tip });
    fill::fill(draft);
    debug_assert!(member::is_blocked(draft, &batch.id));
    Ok(())
}

//! Shipping: batches of one base, one at a time.

use super::draft::Draft;
use super::{ended, member, resume, start};
use crate::domain::event::{
    BatchRebased, BatchRebasing, BatchShipping, BatchValidating, Merge, RebasedMember, ShipMode,
    SuiteResult,
};
use crate::domain::fact::{RebaseResult, Seen, ShipResult};
use crate::domain::ids::{BatchId, CommitId};
use crate::domain::state::{Batch, BatchStatus, State};

/// How often a batch is rebased on a base that somebody outside moves.
const REBASES: u32 = 3;

/// The batches that wait to ship onto a base, in order: priority, then age, then id.
pub(in crate::domain) fn lane<'a>(state: &'a State, base: &str) -> Vec<&'a Batch> {
    let mut waiting: Vec<&Batch> = state
        .batches
        .values()
        .map(AsRef::as_ref)
        .filter(|b| {
            let pinned = b.pinned.as_ref();
            let here = pinned.is_some_and(|p| p.base == base && p.ship == ShipMode::Merge);
            here && b.status == BatchStatus::Shipping && b.shipping.is_none()
        })
        .collect();
    waiting.sort_by_key(|b| (!b.lane, -b.priority, b.ready.at, b.id.clone()));
    waiting
}

/// The batch that may ship onto a base now, if the lane is free for it.
pub(in crate::domain) fn front<'a>(state: &'a State, base: &str) -> Option<&'a Batch> {
    let first = lane(state, base).into_iter().next()?;
    let held = state
        .batches
        .values()
        .any(|b| b.lane && b.id != first.id && b.pinned.as_ref().is_some_and(|p| p.base == base));
    (!held).then_some(first)
}

/// Where a base branch is: batches start on it, and the front of its lane ships.
pub(super) fn base_seen(draft: &mut Draft<'_>, branch: &str, seen: &Seen<CommitId>) {
    match seen {
        Seen::Value(commit) => {
            draft.bases.insert(branch.to_owned(), commit.clone());
            super::conditions::reachable(draft, branch);
            if let Some(batch) = front(&draft.state, branch).cloned() {
                begin(draft, &batch, commit);
            }
        }
        Seen::Absent => {
            start::base_missing(draft, branch);
            if let Some(batch) = front(&draft.state, branch).map(|b| b.id.clone()) {
                let reason = format!("base-missing:{branch}");
                member::block(draft, &batch, &reason, None, None, None);
            }
        }
        Seen::Unreachable(why) => super::conditions::unreachable(draft, branch, why),
    }
}

/// Names `old` and `new`, or rebases when somebody outside moved the base.
fn begin(draft: &mut Draft<'_>, batch: &Batch, base: &CommitId) {
    let Some(new) = batch.integration.clone() else { return };
    let Some(pinned) = &batch.pinned else { return };
    let stands_on_it = batch.base_commit.as_ref() == Some(base) || *base == new;
    if stands_on_it {
        let (id, name) = (batch.id.clone(), pinned.base.clone());
        let old = batch.base_commit.clone().unwrap_or_else(|| base.clone());
        return draft.push(BatchShipping { batch: id, base: name, old, new });
    }
    rebase(draft, batch, base);
}

fn rebase(draft: &mut Draft<'_>, batch: &Batch, onto: &CommitId) {
    let Some(from) = batch.base_commit.clone() else { return };
    if batch.rebases >= REBASES {
        let detail = format!("somebody moved the base branch {REBASES} times while it shipped");
        return member::block(draft, &batch.id, "base-moving", None, None, Some(detail));
    }
    let (id, onto, attempt) = (batch.id.clone(), onto.clone(), batch.rebases + 1);
    draft.push(BatchRebasing { batch: id, from, onto, attempt });
}

/// A rebase was tried: what was rebased is validated again, or judged again where its members
/// are still at work.
pub(super) fn rebased(draft: &mut Draft<'_>, id: &BatchId, result: &RebaseResult) {
    let Some(batch) = draft.batch(id).filter(|b| b.status == BatchStatus::Rebasing) else {
        return;
    };
    let Some(rebasing) = batch.rebasing.clone() else { return };
    match result {
        RebaseResult::Rebased { tip, landed, judged } => {
            let moved = |(member, commit): &(_, _)| RebasedMember {
                member: Clone::clone(member),
                commit: Clone::clone(commit),
            };
            let members = landed.iter().map(moved).collect();
            let (batch_id, tip) = (id.clone(), tip.clone());
            draft.push(BatchRebased {
                batch: batch_id.clone(),
                base_commit: rebasing.onto,
                tip: tip.clone(),
                members,
            });
            if rebasing.executing {
                judge_again(draft, id, judged.as_ref());
            } else if batch.pinned.as_ref().is_some_and(|p| p.suite.is_some()) {
                draft.push(BatchValidating { batch: batch_id, commit: tip });
            } else {
                member::validated(draft, id, tip, SuiteResult::None);
            }
        }
        RebaseResult::Conflict(issue, paths) => {
            let detail = format!("issue {issue} conflicts in {}", paths.join(", "));
            let about = Some(issue.clone());
            member::block(draft, id, "rebase-conflict", about, None, Some(detail));
        }
        RebaseResult::Moved(commit) => {
            let detail = format!("the integration branch was moved to {commit} by somebody else");
            member::block(draft, id, "reconcile-error", None, None, Some(detail));
        }
    }
}

/// The member whose gate was red on the old base is judged on the new one, unless it left
/// meanwhile.
fn judge_again(draft: &mut Draft<'_>, id: &BatchId, judged: Option<&Merge>) {
    resume::catch_up(draft, id);
    let Some(batch) = draft.batch(id) else { return };
    if let Some(((member, _), work)) = batch.judged().zip(judged) {
        ended::judge(draft, id, &member.issue, work.clone(), false);
    }
}

/// The move of the base branch was tried.
pub(super) fn shipped(draft: &mut Draft<'_>, id: &BatchId, result: &ShipResult) {
    let Some(batch) = draft.batch(id).filter(|b| b.status == BatchStatus::Shipping) else {
        return;
    };
    let Some((_, new)) = batch.shipping.clone() else { return };
    match result {
        ShipResult::Shipped => member::merged(draft, id, new),
        ShipResult::BaseMoved(commit) => rebase(draft, &batch, commit),
        ShipResult::Dirty(path) => {
            let reason = format!("base-checkout-dirty:{path}");
            member::block(draft, id, &reason, None, None, None);
        }
    }
}

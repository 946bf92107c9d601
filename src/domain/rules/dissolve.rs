//! When too many members were evicted, and what becomes of the rest.

use super::draft::Draft;
use super::{member, start, stop};
use crate::domain::event::{
    BatchDissolved, BatchDissolving, DissolveDecision, DissolveSpec, DissolveSuppressed,
    MemberRequeued, StopReason, Strategy,
};
use crate::domain::ids::BatchId;
use crate::domain::state::{Batch, Outcome};

/// More evictions than this dissolve a batch of `members`:
/// `T = min(max(ceil(N × fraction), min_evictions), N − 1)`.
pub fn threshold(members: u32, spec: &DissolveSpec) -> u32 {
    // a product such as 100 × 0.07 lies a hair over the whole number that is meant
    let share = (f64::from(members) * spec.fraction - 1e-9).ceil();
    let share = if share.is_finite() && share > 0.0 { share.min(f64::from(members)) } else { 0.0 };
    let share = share as u32; // at most `members`, at least 0
    share.max(spec.min_evictions).min(members.saturating_sub(1))
}

fn size(batch: &Batch) -> u32 {
    u32::try_from(batch.members.len()).unwrap_or(u32::MAX)
}

fn spec(batch: &Batch) -> DissolveSpec {
    let default = DissolveSpec { fraction: 1.0 / 3.0, min_evictions: 1, strategy: Strategy::Full };
    batch.pinned.as_ref().map_or(default, |p| p.dissolve.clone())
}

/// The threshold of a batch; a batch of one has none.
pub(super) fn threshold_of(batch: &Batch) -> u32 {
    threshold(size(batch), &spec(batch))
}

/// Whether strictly more members were evicted than the threshold allows.
pub(super) fn is_tripped(batch: &Batch) -> bool {
    batch.issue.is_none() && batch.counted_evictions() > threshold_of(batch)
}

/// The decision with its arithmetic.
pub(super) fn decision(batch: &Batch, reason: &str) -> DissolveDecision {
    DissolveDecision {
        batch: batch.id.clone(),
        reason: reason.to_owned(),
        strategy: spec(batch).strategy,
        members: size(batch),
        evictions: batch.counted_evictions(),
        threshold: threshold_of(batch),
        landed: u32::try_from(batch.landed().count()).unwrap_or(u32::MAX),
    }
}

/// Tripped, but members have landed: their work is not dissolved over.
pub(super) fn suppress(draft: &mut Draft<'_>, batch: &Batch) {
    let decision = decision(batch, "threshold");
    draft.push(DissolveSuppressed(decision));
}

/// Ends a batch: at once when nothing of it runs, otherwise as soon as that is gone.
pub(super) fn dissolve(draft: &mut Draft<'_>, batch: &Batch, reason: &str) {
    let decision = decision(batch, reason);
    let planned: Vec<_> =
        draft.state.dispatches_in(batch).filter(|d| !d.is_started()).map(|d| d.id).collect();
    planned.into_iter().for_each(|id| start::supersede(draft, id, "dissolve"));
    let running: Vec<_> = draft.state.dispatches_in(batch).map(|d| d.id).collect();
    if running.is_empty() {
        return dissolved(draft, decision);
    }
    draft.push(BatchDissolving(decision));
    running.into_iter().for_each(|id| stop::request(draft, id, StopReason::Dissolve));
}

/// The batch is over; each member that is not resolved (or landed and not shipped) goes back to
/// the queue, alone. Members that left before stay parked.
pub(super) fn dissolved(draft: &mut Draft<'_>, decision: DissolveDecision) {
    let id: BatchId = decision.batch.clone();
    let Some(batch) = draft.batch(&id) else { return };
    for member in &batch.members {
        draft.release_slot(&batch.member_unit(&member.issue));
    }
    let stopping: Vec<_> = batch.members.iter().filter(|m| m.outcome.is_none()).collect();
    let stopping = stopping.into_iter().filter_map(|m| Some((m.clone(), m.stopping.clone()?)));
    let stopping: Vec<_> = stopping.collect();
    for (member, word) in &stopping {
        member::leaves_by_operator(draft, &id, &member.issue, word.verb);
    }
    draft.push(BatchDissolved(decision));
    for (member, word) in &stopping {
        member::end_by_operator(draft, &member.issue, word.verb, &word.reason);
    }
    for member in &batch.members {
        if stopping.iter().any(|(stopped, _)| stopped.issue == member.issue) {
            continue;
        }
        if !matches!(member.outcome, None | Some(Outcome::Landed)) {
            continue;
        }
        let branch = draft.state.issue(&member.issue).and_then(|i| i.branch.clone());
        let (batch, member) = (id.clone(), member.issue.clone());
        draft.push(MemberRequeued { batch, member, into: None, branch });
    }
}

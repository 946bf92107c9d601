//! Moves that were missed: a journal written by an engine that needed several lines for one
//! transition, or cut between them, or a landing that git has and the journal has not.

use super::draft::Draft;
use super::{dissolve, member};
use crate::domain::event::{EvictionKind, Landed, MemberAdvanceRecovered, RecoveredKind};
use crate::domain::fact::FoundLanding;
use crate::domain::ids::{BatchId, IssueId};
use crate::domain::state::{Batch, BatchStatus, Outcome};
use crate::domain::time::Timestamp;

/// Batches whose current member is resolved although they never moved past it. Checked before
/// capacity: it needs no slot.
pub(super) fn missed_moves(draft: &mut Draft<'_>) {
    let stuck: Vec<BatchId> = draft
        .state
        .batches
        .values()
        .filter(|b| b.status == BatchStatus::Executing && b.dissolving.is_none())
        .filter(|b| b.current().is_some_and(|m| m.outcome.is_some()))
        .map(|b| b.id.clone())
        .collect();
    for id in stuck {
        let Some(batch) = draft.batch(&id) else { continue };
        let Some(current) = batch.current().cloned() else { continue };
        let unit = batch.member_unit(&current.issue);
        if draft.state.dispatches_of(&unit).next().is_some() {
            continue; // its process is not gone yet; its exit moves the batch
        }
        say(draft, &batch, &current.issue, current.outcome);
        draft.release_slot(&unit);
        let evicted = current.outcome == Some(Outcome::Evicted);
        member::next_move(draft, &id, evicted);
    }
}

fn say(draft: &mut Draft<'_>, batch: &Batch, issue: &IssueId, outcome: Option<Outcome>) {
    let eviction = batch.evictions.iter().find(|e| e.member == *issue);
    let kind = match (outcome, eviction.map(|e| e.kind)) {
        (Some(Outcome::Landed), _) | (_, None) => RecoveredKind::Landed,
        (_, Some(EvictionKind::Evicted)) => RecoveredKind::Evicted,
        (_, Some(EvictionKind::HandedBack)) => RecoveredKind::HandedBack,
    };
    let left = eviction.filter(|_| kind != RecoveredKind::Landed);
    let reason = left.map(|e| e.reason.clone());
    push(draft, batch, issue, kind, reason, left.map(|e| e.at));
}

fn push(
    draft: &mut Draft<'_>,
    batch: &Batch,
    issue: &IssueId,
    kind: RecoveredKind,
    reason: Option<String>,
    evicted_at: Option<Timestamp>,
) {
    let decision = dissolve::decision(batch, "threshold");
    draft.push(MemberAdvanceRecovered {
        batch: batch.id.clone(),
        member: issue.clone(),
        reason,
        kind,
        evicted_at,
        members: decision.members,
        evictions: decision.evictions,
        threshold: decision.threshold,
    });
}

/// Landings that git has and the journal has not: each is recorded, and the batch moves on. They
/// are recorded in their order, so that the branch is never said to be where it was before.
pub(super) fn found(draft: &mut Draft<'_>, id: &BatchId, landings: &[FoundLanding]) {
    let Some(batch) = draft.batch(id) else { return };
    let is_open = |issue| batch.member(issue).is_some_and(|m| m.outcome.is_none());
    let news: Vec<_> = landings.iter().filter(|landing| is_open(&landing.member)).collect();
    for (index, landing) in news.iter().enumerate() {
        let Some(batch) = draft.batch(id).filter(|b| b.status == BatchStatus::Executing) else {
            return;
        };
        let Some(open) = batch.member(&landing.member).filter(|m| m.outcome.is_none()) else {
            continue;
        };
        let unit = batch.member_unit(&open.issue);
        let planned = open.landing.is_some();
        let tells_itself = planned && index + 1 == news.len();
        if tells_itself || draft.state.dispatches_of(&unit).any(|d| d.is_started()) {
            continue; // its own landing or its end tells
        }
        let unstarted: Vec<_> = draft.state.dispatches_of(&unit).map(|d| d.id).collect();
        unstarted.into_iter().for_each(|d| super::start::supersede(draft, d, "landed"));
        if !planned {
            push(draft, &batch, &landing.member, RecoveredKind::Landed, None, None);
        }
        draft.release_slot(&unit);
        let commit = landing.commit.clone();
        member::landed(draft, id, &landing.member, commit, Landed::Landed);
    }
}

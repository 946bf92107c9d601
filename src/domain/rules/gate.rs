//! Gates: pass, fail with evidence, or inconclusive; nobody is blamed for the machinery.

use super::draft::Draft;
use super::ended::{AGAIN, TREE_TRIES, push_exit};
use super::{member, stop, verdict};
use crate::domain::event::{BatchResumed, Exit, GateSpec, Landed, Verdict};
use crate::domain::ids::{BatchId, CommitId, GateId, IssueId};
use crate::domain::state::{Batch, Dispatch, Judging};

/// A gate answered.
pub(super) fn ended(draft: &mut Draft<'_>, dispatch: &Dispatch, exit: &Exit) {
    let batch = draft.state.batch_of(&dispatch.unit).map(|b| b.id.clone());
    let gate = dispatch.plan.gate.clone();
    let Some((batch, gate)) = batch.zip(gate) else { return };
    let spec = spec_of(draft, &batch, &gate);
    let verdict = match &spec {
        Some(spec) => verdict::gate(dispatch, spec, exit),
        None => Verdict::Inconclusive,
    };
    push_exit(draft, dispatch, verdict, exit);
    answered(draft, &batch, dispatch, &gate, verdict);
}

/// What follows from a gate's answer, however it was found out.
pub(super) fn answered(
    draft: &mut Draft<'_>,
    batch: &BatchId,
    dispatch: &Dispatch,
    gate: &GateId,
    verdict: Verdict,
) {
    let Some(issue) = dispatch.unit.issue_id().cloned() else { return };
    if stop::pending(draft, batch, &issue) {
        return stop::conclude(draft, batch, &issue);
    }
    let Some(judging) = draft.member(batch, &issue).and_then(|m| m.judging) else { return };
    match verdict {
        Verdict::Passed if dispatch.plan.baseline => blame(draft, batch, &issue, gate),
        Verdict::Passed => {
            resumed(draft, batch, dispatch);
            go_on(draft, batch, &issue);
        }
        Verdict::Failed if dispatch.plan.baseline => baseline_red(draft, batch, dispatch, gate),
        Verdict::Failed => failed(draft, batch, dispatch, gate, &judging),
        Verdict::Lost | Verdict::HostLost | Verdict::KilledOutside | Verdict::NeverRan
            if judging.losses <= AGAIN => {}
        Verdict::WorktreeFailed => no_tree(draft, batch, dispatch, &issue),
        _ => inconclusive(draft, batch, dispatch, gate),
    }
}

/// A tree that could not be made is tried again; then the member leaves, or, for a check tree,
/// the batch waits for somebody.
fn no_tree(draft: &mut Draft<'_>, batch: &BatchId, dispatch: &Dispatch, issue: &IssueId) {
    let Some(member) = draft.member(batch, issue) else { return };
    if member.tally.worktree_failed <= TREE_TRIES {
        return;
    }
    if !dispatch.plan.baseline {
        resumed(draft, batch, dispatch);
        let reason = "member-worktree-prep-failed:gate";
        return member::leave(draft, batch, issue, reason, false);
    }
    draft.release_slot(&dispatch.unit);
    let about = Some(issue.clone());
    member::block(draft, batch, "worktree-failed:check-tree", about, Some(dispatch.id), None);
}

fn spec_of(draft: &Draft<'_>, batch: &BatchId, gate: &GateId) -> Option<GateSpec> {
    let pinned = draft.state.batch(batch)?.pinned.as_ref()?;
    pinned.gates.iter().find(|g| g.id == *gate).cloned()
}

/// A recheck that decides lets the batch go on.
fn resumed(draft: &mut Draft<'_>, batch: &BatchId, dispatch: &Dispatch) {
    let block = draft.state.batch(batch).and_then(|b| b.block.clone());
    if let Some(block) = block.filter(|_| dispatch.plan.recheck) {
        draft.push(BatchResumed { batch: batch.clone(), reason: block.reason });
    }
}

fn failed(
    draft: &mut Draft<'_>,
    batch: &BatchId,
    dispatch: &Dispatch,
    gate: &GateId,
    judging: &Judging,
) {
    let Some(issue) = dispatch.unit.issue_id().cloned() else { return };
    let retries = spec_of(draft, batch, gate).map_or(0, |spec| spec.retries);
    if judging.failures <= retries && !dispatch.plan.recheck {
        return; // asked once more on the same commit before anybody is blamed
    }
    resumed(draft, batch, dispatch);
    let Some(found) = draft.batch(batch) else { return };
    match baseline(&found, gate, &judging.base) {
        Some(true) => blame(draft, batch, &issue, gate),
        Some(false) => baseline_red(draft, batch, dispatch, gate),
        None if dispatch.plan.recheck => blame(draft, batch, &issue, gate),
        None => {} // the integration tip is asked before anybody is blamed
    }
}

/// What is known of a gate on an integration tip: asked before, or the tip is the landing of a
/// member that passed it on that very tree.
fn baseline(batch: &Batch, gate: &GateId, commit: &CommitId) -> Option<bool> {
    let asked = batch.baselines.iter().rev().find(|b| b.gate == *gate && b.commit == *commit);
    let landed = batch
        .landed()
        .any(|m| m.landed.as_ref().is_some_and(|(c, how)| c == commit && *how == Landed::Landed));
    asked.map(|b| b.green).or(landed.then_some(true))
}

fn blame(draft: &mut Draft<'_>, batch: &BatchId, issue: &IssueId, gate: &GateId) {
    member::leave(draft, batch, issue, &format!("gate-failed:{gate}"), false);
}

fn baseline_red(draft: &mut Draft<'_>, batch: &BatchId, dispatch: &Dispatch, gate: &GateId) {
    let reason = format!("gate-baseline-red:{gate}");
    let detail = "the integration tip itself fails the gate; one that is mended in the \
                  configuration counts for batches that start later"
        .to_owned();
    draft.release_slot(&dispatch.unit);
    let about = dispatch.unit.issue_id().cloned();
    member::block(draft, batch, &reason, about, Some(dispatch.id), Some(detail));
}

fn inconclusive(draft: &mut Draft<'_>, batch: &BatchId, dispatch: &Dispatch, gate: &GateId) {
    if dispatch.plan.recheck {
        return; // blocked as before
    }
    draft.release_slot(&dispatch.unit);
    let about = dispatch.unit.issue_id().cloned();
    let reason = format!("gate-inconclusive:{gate}");
    member::block(draft, batch, &reason, about, Some(dispatch.id), None);
}

/// Goes on with a judgement: the next gate is a need of its own; after the last one the member
/// is verified, and its landing is planned in the same line.
pub(super) fn go_on(draft: &mut Draft<'_>, batch: &BatchId, issue: &IssueId) {
    let Some(judging) = draft.member(batch, issue).and_then(|m| m.judging) else { return };
    if judging.rescue || judging.current().is_some() {
        return;
    }
    member::verified(draft, batch, issue, &judging);
}

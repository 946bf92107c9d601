//! A command ended: its exit is committed with everything that follows from it.

use super::draft::Draft;
use super::{conditions, gate, member, operator, start, stop, suite, verdict};
use crate::domain::config::Profile;
use crate::domain::event::{
    DispatchExited, DispatchUnhealthy, Exit, GatesPlanned, IssueDone, IssueUnblocked, Merge,
    ProfileSuspended, Role, StopReason, Tree, TreeKept, TreeRemoved, Verdict, WorkRescued,
};
use crate::domain::ids::{BatchId, DispatchId, IssueId, Unit};
use crate::domain::state::{Dispatch, IssueStatus, LOSSES_AGAIN};

/// How often a dispatch that ended through nobody's fault is planned again, in a row.
pub(super) const AGAIN: u32 = LOSSES_AGAIN;
/// After so many bad ends in a row of different units the scheduler pauses itself.
const BAD_ENDS: usize = 2;
/// How often trees that could not be made or removed are tried.
pub(super) const TREE_TRIES: u32 = 3;

/// Commits an exit with its consequences. An end that the journal knows already changes nothing.
pub(super) fn ended(draft: &mut Draft<'_>, id: DispatchId, exit: &Exit) {
    let Some(dispatch) = draft.dispatch(&id).filter(|d| d.is_started()) else { return };
    match dispatch.plan.role {
        Role::Agent => agent_ended(draft, &dispatch, exit),
        Role::Gate => gate::ended(draft, &dispatch, exit),
        Role::Suite => suite::ended(draft, &dispatch, exit),
        _ => reclaim_ended(draft, &dispatch, exit),
    }
}

/// The line's first event.
pub(super) fn push_exit(draft: &mut Draft<'_>, dispatch: &Dispatch, verdict: Verdict, exit: &Exit) {
    let exited =
        DispatchExited { dispatch: dispatch.id, verdict, judged: None, exit: exit.clone() };
    draft.push(exited);
    for tree in &exit.reclaimed {
        if let Some(reference) = tree.rescue.clone() {
            let (unit, path) = (tree.unit.clone(), tree.path.clone());
            draft.push(WorkRescued { unit, reference, path });
        }
    }
    if verdict == Verdict::NeverRan {
        start::note_spawn_failure(draft);
    }
}

fn profile_of(draft: &Draft<'_>, dispatch: &Dispatch) -> Profile {
    let config = draft.state.config();
    let name = dispatch.plan.profile.as_deref().unwrap_or("agent");
    config.profile(name).or(config.profile("agent")).cloned().unwrap_or_default()
}

fn agent_ended(draft: &mut Draft<'_>, dispatch: &Dispatch, exit: &Exit) {
    let in_tree = dispatch.plan.tree != Tree::None;
    let profile = profile_of(draft, dispatch);
    let verdict = verdict::agent(dispatch, &profile, exit);
    if verdict == Verdict::Done && !in_tree {
        unblock_done(draft, dispatch);
    }
    push_exit(draft, dispatch, verdict, exit);
    note_host(draft, dispatch, verdict, exit);
    after_agent(draft, dispatch, verdict, Some(exit));
}

/// Work that is done is done, although its issue was blocked meanwhile (a cut journal, a process
/// that seemed unkillable).
fn unblock_done(draft: &mut Draft<'_>, dispatch: &Dispatch) {
    let Some(issue) = dispatch.unit.issue_id().and_then(|id| draft.issue(id)) else { return };
    if let Some(block) = issue.block {
        draft.push(IssueUnblocked { issue: issue.id, reason: block.reason });
    }
}

/// What follows from an agent's end, however it was found out.
pub(super) fn after_agent(
    draft: &mut Draft<'_>,
    dispatch: &Dispatch,
    verdict: Verdict,
    exit: Option<&Exit>,
) {
    conditions::readable(draft, &dispatch.unit);
    match draft.state.batch_of(&dispatch.unit).map(|b| b.id.clone()) {
        Some(batch) => member_ended(draft, &batch, dispatch, verdict, exit),
        None => issue_ended(draft, dispatch, verdict, exit),
    }
    note_unhealthy(draft);
}

/// A profile that cannot be executed is suspended at once: a wrong PATH must not fail a queue.
fn note_host(draft: &mut Draft<'_>, dispatch: &Dispatch, verdict: Verdict, exit: &Exit) {
    let Some(profile) = dispatch.plan.profile.clone() else { return };
    if verdict != Verdict::HostFault || draft.state.health.profiles.contains_key(&profile) {
        return;
    }
    let program = dispatch.plan.command.first().cloned().unwrap_or_default();
    let reason = exit.exec_failed.clone().unwrap_or_default();
    draft.push(ProfileSuspended { profile: profile.clone(), program, reason });
    let planned = draft.state.dispatches.values().filter(|d| !d.is_started());
    let planned = planned.filter(|d| d.plan.profile.as_ref() == Some(&profile));
    let planned: Vec<DispatchId> = planned.map(|d| d.id).collect();
    planned.into_iter().for_each(|id| start::supersede(draft, id, "profile-suspended"));
}

fn note_unhealthy(draft: &mut Draft<'_>) {
    let health = &draft.state.health;
    if health.bad_ends.len() < BAD_ENDS || health.pause.is_some() {
        return;
    }
    let (units, verdicts) = health.bad_ends.iter().cloned().unzip();
    draft.push(DispatchUnhealthy { verdicts, units });
    operator::supersede_unstarted(draft, "dispatch-unhealthy");
}

fn member_ended(
    draft: &mut Draft<'_>,
    batch: &BatchId,
    dispatch: &Dispatch,
    verdict: Verdict,
    exit: Option<&Exit>,
) {
    let Some(issue) = dispatch.unit.issue_id().cloned() else { return };
    let Some(member) = draft.member(batch, &issue) else { return };
    if stop::pending(draft, batch, &issue) {
        return stop::conclude(draft, batch, &issue);
    }
    if member.outcome.is_some() {
        return draft.release_slot(&dispatch.unit); // resolved before: nothing is judged twice
    }
    let tally = &member.tally;
    let again = match verdict {
        Verdict::Done => return looks_done(draft, batch, dispatch, exit),
        Verdict::NeverRan | Verdict::HostFault | Verdict::HostLost => true,
        Verdict::KilledOutside => tally.killed_outside <= AGAIN,
        Verdict::Lost => tally.lost <= AGAIN,
        Verdict::Empty => tally.empty <= 1,
        Verdict::WorktreeFailed => {
            tally.worktree_failed <= TREE_TRIES && !exit.is_some_and(|e| e.worktree_own)
        }
        _ => false,
    };
    if again {
        return draft.release_slot(&dispatch.unit);
    }
    if dispatch.said.wrong.is_some() && !matches!(verdict, Verdict::WorktreeFailed) {
        return member::wrong_procedure(draft, batch, &issue, dispatch);
    }
    let (reason, handed_back) = leaving(dispatch, verdict, exit);
    member::leave(draft, batch, &issue, &reason, handed_back);
}

/// Why a member leaves after this end of its agent, and whether by its own verdict.
fn leaving(dispatch: &Dispatch, verdict: Verdict, exit: Option<&Exit>) -> (String, bool) {
    match verdict {
        Verdict::NeedsHuman => ("needs-human".into(), true),
        Verdict::HandedBack => {
            let code = exit.and_then(|e| e.code).unwrap_or_default();
            let by_code = || format!("exit-code-{code}");
            (dispatch.said.handed_back.clone().unwrap_or_else(by_code), true)
        }
        Verdict::Stopped => {
            let reason = dispatch.stop.as_ref().map_or(StopReason::Operator, |s| s.reason);
            (reason.name().into(), false)
        }
        Verdict::WorktreeFailed => {
            let reason = exit.and_then(|e| e.worktree_failed.clone()).unwrap_or_default();
            (format!("member-worktree-prep-failed:{reason}"), false)
        }
        Verdict::Lost => (Verdict::UnverifiedExit.name().into(), false),
        Verdict::UnverifiedExit | Verdict::Empty
            if exit.and_then(|e| e.ground.as_ref()).is_some_and(|g| !g.tree) =>
        {
            ("worktree-lost".into(), false)
        }
        other => (other.name().into(), false),
    }
}

/// The member's tip is pinned and goes to the gates; unsaved work leaves the tree first.
fn looks_done(draft: &mut Draft<'_>, batch: &BatchId, dispatch: &Dispatch, exit: Option<&Exit>) {
    let Some(issue) = dispatch.unit.issue_id().cloned() else { return };
    let ground = exit.and_then(|e| e.ground.clone());
    let tip = ground.as_ref().and_then(|g| g.tip.clone());
    let Some((tip, ground)) = tip.zip(ground) else { return };
    let rescue = ground.dirty || !ground.on_branch;
    judge(draft, batch, &issue, ground.merged.unwrap_or(Merge::Commit(tip)), rescue);
}

/// What was gated is what lands: the gates see the work on the integration tip, and work that
/// conflicts with it leaves.
pub(super) fn judge(
    draft: &mut Draft<'_>,
    batch: &BatchId,
    issue: &IssueId,
    work: Merge,
    rescue: bool,
) {
    let tip = match work {
        Merge::Commit(tip) => tip,
        Merge::Conflict(paths) => return member::conflicts(draft, batch, issue, &paths),
    };
    let gates = draft.state.batch(batch).and_then(|b| b.pinned.as_ref());
    let gates = gates.map_or_else(Vec::new, |p| p.gates.iter().map(|g| g.id.clone()).collect());
    let (id, member) = (batch.clone(), issue.clone());
    draft.push(GatesPlanned { batch: id, member, tip, gates, rescue });
    gate::go_on(draft, batch, issue);
}

fn issue_ended(draft: &mut Draft<'_>, dispatch: &Dispatch, verdict: Verdict, exit: Option<&Exit>) {
    let Unit::Issue(id) = &dispatch.unit else { return };
    draft.release_slot(&dispatch.unit);
    let Some(issue) = draft.issue(id) else { return };
    if let Some(stopping) = &issue.stopping {
        return operator::end_issue(draft, id, stopping);
    }
    let tally = &issue.tally;
    match verdict {
        Verdict::Done => {
            draft.push(IssueDone { issue: id.clone(), dispatch: Some(dispatch.id) });
            member::lift_dependents(draft, id);
        }
        Verdict::NeverRan | Verdict::HostFault | Verdict::HostLost => {}
        Verdict::KilledOutside if tally.killed_outside <= AGAIN => {}
        Verdict::Lost if tally.lost <= AGAIN => {}
        Verdict::Empty if tally.empty <= 1 => {}
        Verdict::NeedsHuman | Verdict::HandedBack => {
            let (reason, _) = leaving(dispatch, verdict, exit);
            member::block_issue(draft, id, "needs-human", Some(reason));
        }
        _ => {
            let (reason, _) = leaving(dispatch, verdict, exit);
            debug_assert!(issue.status != IssueStatus::Done);
            member::fail_issue(draft, id, &reason);
        }
    }
}

fn reclaim_ended(draft: &mut Draft<'_>, dispatch: &Dispatch, exit: &Exit) {
    let verdict = verdict::builtin(dispatch, exit);
    push_exit(draft, dispatch, verdict, exit);
    let rescue =
        matches!(dispatch.plan.reclaim, Some(crate::domain::event::Reclaim::Rescue { .. }));
    for tree in &exit.reclaimed {
        if tree.done && !rescue {
            draft.push(TreeRemoved { unit: tree.unit.clone(), path: tree.path.clone() });
        }
    }
    let owner = draft.state.batches.values().find(|b| match &dispatch.plan.reclaim {
        Some(crate::domain::event::Reclaim::Remove { trees, .. }) => {
            trees.iter().any(|t| b.trees.contains_key(&t.path)) && b.owns(&dispatch.unit)
        }
        _ => false,
    });
    let owner = owner.map(|b| b.id.clone());
    let batch = owner.or_else(|| draft.state.batch_of(&dispatch.unit).map(|b| b.id.clone()));
    let Some(batch) = batch else { return };
    if rescue {
        return rescued(draft, &batch, dispatch, verdict);
    }
    give_up_trees(draft, &batch, exit);
    member::finish(draft, &batch);
    stop::conclude_unit(draft, &dispatch.unit);
}

fn rescued(draft: &mut Draft<'_>, batch: &BatchId, dispatch: &Dispatch, verdict: Verdict) {
    let Some(issue) = dispatch.unit.issue_id().cloned() else { return };
    if stop::pending(draft, batch, &issue) {
        return stop::conclude(draft, batch, &issue);
    }
    let failures = draft.state.batch(batch).map_or(0, |b| b.reclaim_failures);
    if verdict == Verdict::Done {
        gate::go_on(draft, batch, &issue);
    } else if failures >= TREE_TRIES {
        draft.release_slot(&dispatch.unit);
        let detail = "unsaved work could not be rescued out of the tree";
        let (about, by) = (Some(issue), Some(dispatch.id));
        member::block(draft, batch, "reconcile-error", about, by, Some(detail.into()));
    }
}

/// A tree that cannot be removed never holds a batch up for ever.
fn give_up_trees(draft: &mut Draft<'_>, id: &BatchId, exit: &Exit) {
    let Some(batch) = draft.batch(id) else { return };
    if batch.reclaim_failures < TREE_TRIES {
        return;
    }
    for (path, record) in &batch.trees {
        let said = exit.reclaimed.iter().find(|r| r.path == *path).and_then(|r| r.error.clone());
        let reason = said.unwrap_or_else(|| "its removal did not end well".into());
        draft.push(TreeKept { unit: record.unit.clone(), path: path.clone(), reason });
    }
}

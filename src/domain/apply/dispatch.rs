//! Events about dispatches, slots and trees.

use super::{IllegalEvent, batch_mut, dispatch_mut, illegal, issue_mut};
use crate::domain::event::{
    DispatchPlanned, DispatchStarted, Event, Evidence, Exit, MilestonePosted, Reclaim, Role,
    StopRequested, Tree, Verdict,
};
use crate::domain::ids::{BatchId, DispatchId, Unit};
use crate::domain::state::{
    Baseline, Batch, Dispatch, IssueStatus, Said, SlotUse, State, Stop, TreeRecord,
};
use crate::domain::time::Stamp;
use std::sync::Arc;

pub(super) fn apply(state: &mut State, event: &Event) -> Result<(), IllegalEvent> {
    match event {
        Event::DispatchPlanned(e) => plan(state, event, e),
        Event::DispatchStarted(e) => start(state, event, e),
        Event::DispatchExited(e) => end(state, event, &e.dispatch, e.verdict, Some(&e.exit)),
        Event::DispatchLost(e) => {
            end(state, event, &e.dispatch, e.verdict, None)?;
            Ok(())
        }
        Event::DispatchExpired(e) => {
            if e.tried {
                state.health.never_ran += 1;
            }
            unstarted(state, event, &e.dispatch)
        }
        Event::DispatchSuperseded(e) => unstarted(state, event, &e.dispatch),
        Event::SupervisionLost(e) => {
            dispatch_mut(state, event, &e.dispatch)?.supervision_lost = true;
            Ok(())
        }
        Event::StopRequested(e) => stop(state, event, e),
        Event::StopReasonRaised(e) => match &mut dispatch_mut(state, event, &e.dispatch)?.stop {
            Some(stop) => {
                stop.reason = e.reason;
                Ok(())
            }
            None => Err(illegal(event, e.dispatch, "no stop is under way", "a requested stop")),
        },
        Event::KillEscalated(e) => {
            let stamp = state.head.stamp.clone();
            match &mut dispatch_mut(state, event, &e.dispatch)?.stop {
                Some(stop) if stop.escalated.is_none() => {
                    stop.escalated = Some(stamp);
                    Ok(())
                }
                _ => Err(illegal(event, e.dispatch, "no stop to escalate", "a requested stop")),
            }
        }
        Event::KillIneffective(e) => {
            let dispatch = dispatch_mut(state, event, &e.dispatch)?;
            let slot = dispatch.plan.slot;
            match &mut dispatch.stop {
                Some(stop) if stop.escalated.is_some() => stop.ineffective = true,
                _ => return Err(illegal(event, e.dispatch, "no kill", "an escalated stop")),
            }
            if let Some(held) = slot.and_then(|slot| state.slots.get_mut(&slot)) {
                held.drained = true;
            }
            Ok(())
        }
        Event::SlotReleased(e) => match state.slots.get(&e.slot) {
            Some(held) if held.unit == e.unit => {
                state.slots.remove(&e.slot);
                Ok(())
            }
            Some(held) => Err(illegal(event, format!("slot {}", e.slot), &held.unit, &e.unit)),
            None => Err(illegal(event, format!("slot {}", e.slot), "it is free", &e.unit)),
        },
        Event::MilestonePosted(e) => milestone(state, event, e),
        Event::TreeRemoved(e) => forget_tree(state, event, &e.unit, &e.path),
        Event::TreeKept(e) => forget_tree(state, event, &e.unit, &e.path),
        _ => Ok(()),
    }
}

/// The batch that a unit belongs to, implicit ones too.
pub(super) fn batch_of(state: &State, unit: &Unit) -> Option<BatchId> {
    match unit {
        Unit::Issue(issue) => state.issue(issue)?.batch.clone(),
        Unit::Batch(batch) | Unit::Member(batch, _) => Some(batch.clone()),
    }
}

/// The batch that a dispatch works for. An issue that was queued again has the same unit name in
/// each of its implicit batches, so trees tell whose removal it is.
fn batch_of_dispatch(state: &State, dispatch: &Dispatch) -> Option<BatchId> {
    let Some(Reclaim::Remove { trees, .. }) = &dispatch.plan.reclaim else {
        return batch_of(state, &dispatch.unit);
    };
    let owns = |b: &&Arc<Batch>| trees.iter().any(|t| b.trees.contains_key(&t.path));
    state.batches.values().find(owns).map(|b| b.id.clone())
}

fn plan(state: &mut State, event: &Event, e: &DispatchPlanned) -> Result<(), IllegalEvent> {
    let subject = format!("dispatch {}", e.dispatch);
    if state.dispatches.contains_key(&e.dispatch) {
        return Err(illegal(event, subject, "it is open", "a new dispatch"));
    }
    if e.role.takes_slot() != e.slot.is_some() {
        return Err(illegal(event, subject, format!("slot {:?}", e.slot), "a slot for its role"));
    }
    let stamp = state.head.stamp.clone();
    if let Some(slot) = e.slot {
        if let Some(held) = state.slots.get(&slot) {
            return Err(illegal(event, format!("slot {slot}"), &held.unit, "a free slot"));
        }
        let held = SlotUse {
            unit: e.unit.clone(),
            since: stamp.clone(),
            dispatch: e.dispatch,
            drained: false,
        };
        state.slots.insert(slot, held);
    }
    if e.role == Role::Agent {
        plan_agent(state, event, e)?;
    }
    let dispatch = Dispatch {
        id: e.dispatch,
        unit: e.unit.clone(),
        plan: e.clone(),
        planned: stamp,
        started: None,
        started_at: None,
        supervision_lost: false,
        stop: None,
        milestone: None,
        phase: None,
        milestone_at: None,
        milestones: 0,
        said_done: false,
        never_ran_before: 0,
        said: Said::default(),
    };
    state.dispatches.insert(e.dispatch, Arc::new(dispatch));
    Ok(())
}

fn plan_agent(state: &mut State, event: &Event, e: &DispatchPlanned) -> Result<(), IllegalEvent> {
    let issue = match &e.unit {
        Unit::Issue(issue) | Unit::Member(_, issue) => issue.clone(),
        Unit::Batch(batch) => {
            return Err(illegal(event, format!("batch {batch}"), "a batch", "an issue"));
        }
    };
    if e.tree == Tree::None {
        super::move_issue(state, event, &issue, IssueStatus::Dispatched)?;
        issue_mut(state, event, &issue)?.dispatch = Some(e.dispatch);
        return Ok(());
    }
    super::move_issue(state, event, &issue, IssueStatus::Working)?;
    if let Some(batch) = batch_of(state, &e.unit) {
        let member = super::member_mut(state, event, &batch, &issue)?;
        if member.outcome.is_some() {
            let subject = format!("issue {issue}");
            return Err(illegal(event, subject, "a resolved member", "an unresolved one"));
        }
        member.agent = Some(e.dispatch);
        member.judging = None;
        member.landing = None;
    }
    Ok(())
}

fn start(state: &mut State, event: &Event, e: &DispatchStarted) -> Result<(), IllegalEvent> {
    let stamp = state.head.stamp.clone();
    let dispatch = dispatch_mut(state, event, &e.dispatch)?;
    if dispatch.started.is_some() {
        return Err(illegal(event, format!("dispatch {}", e.dispatch), "started", "planned"));
    }
    dispatch.started = Some(e.clone());
    dispatch.started_at = Some(stamp);
    let (unit, tree) = (dispatch.unit.clone(), dispatch.plan.tree.clone());
    let never_ran = std::mem::take(&mut state.health.never_ran);
    dispatch_mut(state, event, &e.dispatch)?.never_ran_before = never_ran;
    let (path, branch) = match tree {
        Tree::Member { path, branch, .. } => (path, Some(branch)),
        Tree::Check { path, .. } => (path, None),
        Tree::None => return Ok(()),
    };
    if let Some(batch) = batch_of(state, &unit) {
        let record = TreeRecord { unit: unit.clone(), branch: branch.clone() };
        batch_mut(state, event, &batch)?.trees.insert(path, record);
    }
    let (Unit::Issue(issue) | Unit::Member(_, issue)) = &unit else { return Ok(()) };
    if branch.is_some() {
        issue_mut(state, event, issue)?.branch = branch;
    }
    Ok(())
}

fn stop(state: &mut State, event: &Event, e: &StopRequested) -> Result<(), IllegalEvent> {
    let requested = state.head.stamp.clone();
    let dispatch = dispatch_mut(state, event, &e.dispatch)?;
    if dispatch.stop.is_some() || dispatch.started.is_none() {
        let found = if dispatch.stop.is_some() { "stopping" } else { "not started" };
        return Err(illegal(event, format!("dispatch {}", e.dispatch), found, "at work"));
    }
    dispatch.stop = Some(Stop {
        reason: e.reason,
        requested,
        bound_ms: e.bound_ms,
        escalated: None,
        ineffective: false,
    });
    Ok(())
}

/// A dispatch that never started ends: its agent's issue waits again.
fn unstarted(state: &mut State, event: &Event, id: &DispatchId) -> Result<(), IllegalEvent> {
    let dispatch = dispatch_mut(state, event, id)?.clone();
    if dispatch.started.is_some() {
        return Err(illegal(event, format!("dispatch {id}"), "started", "planned"));
    }
    state.dispatches.remove(id);
    agent_is_gone(state, event, &dispatch, false)
}

fn end(
    state: &mut State,
    event: &Event,
    id: &DispatchId,
    verdict: Verdict,
    exit: Option<&Exit>,
) -> Result<(), IllegalEvent> {
    let dispatch = dispatch_mut(state, event, id)?.clone();
    if dispatch.started.is_none() {
        return Err(illegal(event, format!("dispatch {id}"), "not started", "started"));
    }
    state.dispatches.remove(id);
    let stamp = state.head.stamp.clone();
    let evidence = evidence(&dispatch, verdict, exit, event);
    let batch_id = batch_of_dispatch(state, &dispatch);
    if verdict == Verdict::NeverRan {
        state.health.never_ran = state.health.never_ran.max(dispatch.never_ran_before) + 1;
    }
    if let Some(profile) = dispatch.plan.profile.as_ref().filter(|_| verdict != Verdict::HostFault)
    {
        state.health.faults.remove(profile);
    }
    let counted = !exit.is_some_and(|e| e.supervisor);
    let bound = dispatch.stop.as_ref().is_some_and(|stop| stop.reason.is_bound());
    match (dispatch.plan.role, batch_id) {
        (Role::Agent, Some(batch)) => {
            let (Unit::Issue(issue) | Unit::Member(_, issue)) = &dispatch.unit else {
                return Ok(());
            };
            let member = super::member_mut(state, event, &batch, issue)?;
            if counted {
                member.tally.note(verdict, bound, &stamp);
            }
            member.evidence = evidence;
        }
        (Role::Agent, None) => {
            let Unit::Issue(issue) = &dispatch.unit else { return Ok(()) };
            let issue = issue_mut(state, event, issue)?;
            if counted {
                issue.tally.note(verdict, bound, &stamp);
            }
            issue.evidence = evidence;
            issue.dispatch = None;
        }
        (Role::Gate, Some(batch)) if counted => {
            judged(state, event, &batch, &dispatch, verdict, evidence)?;
        }
        (Role::Suite, Some(batch)) if counted => {
            note_suite(batch_mut(state, event, &batch)?, verdict, &stamp);
        }
        (Role::Reclaim, Some(batch)) => {
            note_reclaim(batch_mut(state, event, &batch)?, &dispatch, verdict, exit, &stamp);
        }
        _ => {}
    }
    if dispatch.plan.role == Role::Agent {
        note_bad_end(state, &dispatch, verdict);
        agent_is_gone(state, event, &dispatch, verdict == Verdict::Done)?;
    }
    Ok(())
}

fn note_suite(batch: &mut Batch, verdict: Verdict, stamp: &Stamp) {
    let again = matches!(
        verdict,
        Verdict::Lost | Verdict::HostLost | Verdict::KilledOutside | Verdict::NeverRan
    );
    batch.suite_losses = if again { batch.suite_losses + 1 } else { 0 };
    batch.reclaim.note(verdict, false, stamp);
}

fn note_reclaim(
    batch: &mut Batch,
    dispatch: &Dispatch,
    verdict: Verdict,
    exit: Option<&Exit>,
    stamp: &Stamp,
) {
    batch.reclaim.note(verdict, false, stamp);
    let clean = exit.is_some_and(|e| e.code == Some(0) && e.reclaimed.iter().all(|r| r.done));
    batch.reclaim_failures = if clean { 0 } else { batch.reclaim_failures + 1 };
    if exit.is_some() && !clean && matches!(dispatch.plan.reclaim, Some(Reclaim::Remove { .. })) {
        batch.reclaim.back_off(batch.reclaim_failures);
    }
    let rescued = verdict == Verdict::Done
        && clean
        && matches!(dispatch.plan.reclaim, Some(Reclaim::Rescue { .. }));
    for member in batch.members.iter_mut().filter(|_| rescued) {
        if let Some(judging) = &mut member.judging {
            judging.rescue = false;
        }
    }
}

/// Two bad ends in a row of different units say that something else is wrong.
fn note_bad_end(state: &mut State, dispatch: &Dispatch, verdict: Verdict) {
    match verdict {
        Verdict::Empty | Verdict::HostFault => {
            let other = state.health.bad_ends.last().is_none_or(|(unit, _)| *unit != dispatch.unit);
            if other {
                state.health.bad_ends.push((dispatch.unit.clone(), verdict.name().to_owned()));
            }
        }
        Verdict::Stopped => {}
        _ => state.health.bad_ends.clear(),
    }
}

/// The issue of an agent that is gone waits again, unless its work is now under judgement.
fn agent_is_gone(
    state: &mut State,
    event: &Event,
    dispatch: &Dispatch,
    done: bool,
) -> Result<(), IllegalEvent> {
    if dispatch.plan.role != Role::Agent || done {
        return Ok(());
    }
    let (Unit::Issue(id) | Unit::Member(_, id)) = &dispatch.unit else { return Ok(()) };
    let issue = issue_mut(state, event, id)?;
    issue.dispatch = None;
    match issue.status {
        IssueStatus::Dispatched => issue.status = IssueStatus::Queued,
        IssueStatus::Working => issue.status = IssueStatus::Waiting,
        _ => {}
    }
    Ok(())
}

fn judged(
    state: &mut State,
    event: &Event,
    batch: &BatchId,
    dispatch: &Dispatch,
    verdict: Verdict,
    evidence: Evidence,
) -> Result<(), IllegalEvent> {
    let Some(gate) = dispatch.plan.gate.clone() else { return Ok(()) };
    let commit = match &dispatch.plan.tree {
        Tree::Member { commit, .. } | Tree::Check { commit, .. } => commit.clone(),
        Tree::None => return Ok(()),
    };
    let stamp = state.head.stamp.clone();
    let batch = batch_mut(state, event, batch)?;
    if dispatch.plan.baseline && matches!(verdict, Verdict::Passed | Verdict::Failed) {
        let green = verdict == Verdict::Passed;
        batch.baselines.push(Baseline { gate: gate.clone(), commit, green });
    }
    let lost = matches!(
        verdict,
        Verdict::Lost | Verdict::HostLost | Verdict::KilledOutside | Verdict::NeverRan
    );
    let (Unit::Issue(issue) | Unit::Member(_, issue)) = &dispatch.unit else { return Ok(()) };
    let found = batch.members.iter_mut().find(|m| m.issue == *issue);
    let judging = found.and_then(|m| m.judging.as_mut());
    if let Some(judging) = judging {
        judging.losses = if lost { judging.losses + 1 } else { 0 };
    }
    let again = lost && batch.member(issue).and_then(|m| m.judging.as_ref()).is_some_and(again);
    if let Some(block) = batch.block.as_mut().filter(|_| dispatch.plan.recheck && !again) {
        block.recheck = false;
    }
    let Some(member) = batch.members.iter_mut().find(|m| m.issue == *issue) else { return Ok(()) };
    member.tally.note_tree(verdict, &stamp);
    let Some(judging) = member.judging.as_mut() else { return Ok(()) };
    if dispatch.plan.baseline {
        return Ok(());
    }
    match verdict {
        Verdict::Passed => {
            if judging.failures > 0 {
                judging.flaky.push(gate);
            }
            judging.passed += 1;
            judging.failures = 0;
        }
        Verdict::Failed => {
            judging.failures += 1;
            member.evidence = evidence;
        }
        _ => {}
    }
    Ok(())
}

/// Whether a gate that was lost is asked again: the third loss in a row is an answer.
fn again(judging: &crate::domain::state::Judging) -> bool {
    judging.losses <= crate::domain::state::LOSSES_AGAIN
}

fn evidence(dispatch: &Dispatch, verdict: Verdict, exit: Option<&Exit>, event: &Event) -> Evidence {
    let how = match (exit.and_then(|e| e.code), exit.and_then(|e| e.signal)) {
        (Some(code), _) => format!("{}, exit code {code}", verdict.name()),
        (_, Some(signal)) => format!("{}, signal {signal}", verdict.name()),
        _ => verdict.name().to_owned(),
    };
    let tail = match (exit, event) {
        (Some(exit), _) => exit.output_tail.clone(),
        (None, Event::DispatchLost(lost)) => lost.output_tail.clone(),
        _ => String::new(),
    };
    Evidence {
        dispatch: Some(dispatch.id),
        milestone: dispatch.milestone.clone(),
        exit: Some(how),
        output: Some(tail).filter(|text| !text.is_empty()),
        stray_pr: dispatch.said.pr.clone(),
        ..Evidence::default()
    }
}

fn milestone(state: &mut State, event: &Event, e: &MilestonePosted) -> Result<(), IllegalEvent> {
    let stamp = state.head.stamp.clone();
    let config = state.config();
    let dispatch = dispatch_mut(state, event, &e.dispatch)?;
    dispatch.milestone = Some(format!("{} {}", e.phase, e.status));
    dispatch.phase = Some(e.phase.clone());
    dispatch.milestone_at = Some(stamp);
    dispatch.milestones += 1;
    let said = &mut dispatch.said;
    let terminal = e.phase == "review" && e.status == "done";
    dispatch.said_done |= terminal;
    if e.status == "blocked" || (e.phase == "review" && e.status == "partial") {
        said.handed_back = Some(format!("{} {}", e.phase, e.status));
    }
    said.needs_human |= e.keys.get("needs").is_some_and(|v| v == "human");
    said.no_op |= e.phase == "no-op" || e.status == "no-op";
    said.shipped |= matches!(e.phase.as_str(), "ship" | "report") || e.keys.contains_key("pr");
    if let Some(pr) = e.keys.get("pr") {
        said.pr = Some(pr.clone());
    }
    let allowed = e.phase == "no-op" || config.allows_member_phase(&e.phase);
    if dispatch.plan.role == Role::Agent && dispatch.plan.tree != Tree::None && !allowed {
        said.wrong.get_or_insert(format!("{} {}", e.phase, e.status));
    }
    Ok(())
}

fn forget_tree(
    state: &mut State,
    event: &Event,
    unit: &Unit,
    path: &str,
) -> Result<(), IllegalEvent> {
    let owner = state.batches.values().find(|b| b.owns(unit) && b.trees.contains_key(path));
    if let Some(id) = owner.map(|b| b.id.clone()) {
        batch_mut(state, event, &id)?.trees.remove(path);
    }
    Ok(())
}

//! Events about the members of a batch.

use super::{IllegalEvent, batch_mut, illegal, issue_mut, member_mut, move_issue};
use crate::domain::event::{
    Event, EvictionKind, GatesPlanned, LandingPlanned, MemberEvicted, MemberLanded, MemberRequeued,
};
use crate::domain::ids::{BatchId, IssueId};
use crate::domain::state::{
    Eviction, IssueStatus, Judging, LandingPlan, Member, Outcome, State, Tally,
};
use crate::domain::time::Timestamp;

pub(super) fn apply(state: &mut State, event: &Event, at: Timestamp) -> Result<(), IllegalEvent> {
    match event {
        Event::MemberAssigned(e) => make_current(state, event, &e.batch, &e.member),
        Event::MemberAdvanced(e) => make_current(state, event, &e.batch, &e.to),
        Event::GatesPlanned(e) => gates(state, event, e),
        Event::MemberVerified(e) => {
            unresolved(state, event, &e.batch, &e.member)?;
            move_issue(state, event, &e.member, IssueStatus::Verified)
        }
        Event::LandingPlanned(e) => landing(state, event, e),
        Event::MemberLanded(e) => landed(state, event, e),
        Event::MemberEvicted(e) => evicted(state, event, e, at),
        Event::MemberRequeued(e) => requeued(state, event, e),
        Event::MemberReprompted(e) => {
            unresolved(state, event, &e.batch, &e.member)?.reprompted = Some(e.milestone.clone());
            Ok(())
        }
        _ => Ok(()), // a duplicate changes nothing; a recovery is said by its other events
    }
}

fn unresolved<'a>(
    state: &'a mut State,
    event: &Event,
    batch: &BatchId,
    issue: &IssueId,
) -> Result<&'a mut Member, IllegalEvent> {
    let member = member_mut(state, event, batch, issue)?;
    match member.outcome {
        None => Ok(member),
        Some(outcome) => {
            let found = format!("resolved as {outcome:?} in batch {batch}");
            Err(illegal(event, format!("issue {issue}"), found, "an unresolved member"))
        }
    }
}

fn make_current(
    state: &mut State,
    event: &Event,
    batch: &BatchId,
    to: &IssueId,
) -> Result<(), IllegalEvent> {
    unresolved(state, event, batch, to)?;
    batch_mut(state, event, batch)?.current = Some(to.clone());
    Ok(())
}

fn gates(state: &mut State, event: &Event, e: &GatesPlanned) -> Result<(), IllegalEvent> {
    let batch = batch_mut(state, event, &e.batch)?;
    let base = batch.integration.clone().or(batch.base_commit.clone());
    let Some(base) = base else {
        return Err(illegal(event, format!("batch {}", e.batch), "not started", "a base"));
    };
    let member = unresolved(state, event, &e.batch, &e.member)?;
    member.judging = Some(Judging {
        no_op: e.tip == base,
        tip: e.tip.clone(),
        base,
        gates: e.gates.clone(),
        passed: 0,
        failures: 0,
        losses: 0,
        flaky: Vec::new(),
        rescue: e.rescue,
    });
    Ok(())
}

fn landing(state: &mut State, event: &Event, e: &LandingPlanned) -> Result<(), IllegalEvent> {
    let planned_by = (state.head.seq, state.head.hash.clone());
    unresolved(state, event, &e.batch, &e.member)?.landing = Some(LandingPlan {
        tip: e.tip.clone(),
        parent: e.parent.clone(),
        time: e.time,
        dispatch: e.dispatch,
        planned_by,
    });
    Ok(())
}

fn landed(state: &mut State, event: &Event, e: &MemberLanded) -> Result<(), IllegalEvent> {
    let member = unresolved(state, event, &e.batch, &e.member)?;
    member.outcome = Some(Outcome::Landed);
    member.landed = Some((e.commit.clone(), e.outcome));
    member.landing = None;
    member.judging = None;
    batch_mut(state, event, &e.batch)?.integration = Some(e.commit.clone());
    let issue = issue_mut(state, event, &e.member)?;
    let from = issue.status;
    let can = matches!(from, IssueStatus::Verified | IssueStatus::Waiting | IssueStatus::Working);
    if !can {
        let subject = format!("issue {}", e.member);
        return Err(illegal(event, subject, from.name(), "verified, or found in git"));
    }
    issue.status = IssueStatus::Landed;
    Ok(())
}

fn evicted(
    state: &mut State,
    event: &Event,
    e: &MemberEvicted,
    at: Timestamp,
) -> Result<(), IllegalEvent> {
    let (outcome, status) = match e.kind {
        EvictionKind::Evicted => (Outcome::Evicted, IssueStatus::Evicted),
        EvictionKind::HandedBack => (Outcome::HandedBack, IssueStatus::HandedBack),
    };
    unresolved(state, event, &e.batch, &e.member)?;
    from_queue(state, event, &e.member)?;
    move_issue(state, event, &e.member, status)?;
    let member = member_mut(state, event, &e.batch, &e.member)?;
    member.outcome = Some(outcome);
    member.judging = None;
    member.landing = None;
    member.stopping = None;
    let batch = batch_mut(state, event, &e.batch)?;
    batch.evictions.push(Eviction {
        member: e.member.clone(),
        kind: e.kind,
        reason: e.reason.clone(),
        at,
        branch: e.branch.clone(),
    });
    let issue = issue_mut(state, event, &e.member)?;
    issue.reason = Some(e.reason.clone());
    issue.branch = e.branch.clone().or(issue.branch.take());
    issue.evidence = e.evidence.clone();
    Ok(())
}

/// A member that leaves before its batch started, or while it was blocked, takes the short way.
fn from_queue(state: &mut State, event: &Event, id: &IssueId) -> Result<(), IllegalEvent> {
    let issue = issue_mut(state, event, id)?;
    if matches!(issue.status, IssueStatus::Queued | IssueStatus::Blocked) {
        issue.status = IssueStatus::Waiting;
        issue.block = None;
    }
    Ok(())
}

fn requeued(state: &mut State, event: &Event, e: &MemberRequeued) -> Result<(), IllegalEvent> {
    let member = member_mut(state, event, &e.batch, &e.member)?;
    if matches!(member.outcome, Some(Outcome::Evicted | Outcome::HandedBack | Outcome::Requeued)) {
        let subject = format!("issue {}", e.member);
        return Err(illegal(event, subject, "it left the batch", "an unresolved or landed member"));
    }
    member.outcome = Some(Outcome::Requeued);
    member.judging = None;
    member.landing = None;
    let issue = issue_mut(state, event, &e.member)?;
    if !matches!(issue.status, IssueStatus::Queued | IssueStatus::Blocked) {
        move_issue(state, event, &e.member, IssueStatus::Queued)?;
    }
    let stamp = state.head.stamp.clone();
    let issue = issue_mut(state, event, &e.member)?;
    issue.batch = e.into.clone();
    issue.branch = e.branch.clone().or(issue.branch.take());
    issue.tally = Tally { since: stamp, ..Tally::default() };
    if let Some(into) = &e.into {
        let batch = batch_mut(state, event, into)?;
        let n = u32::try_from(batch.members.len()).unwrap_or(u32::MAX).saturating_add(1);
        batch.members.push(super::queue::new_member(e.member.clone(), n));
    }
    Ok(())
}

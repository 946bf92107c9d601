//! Events about a batch as a whole, up to its validation.

use super::{IllegalEvent, batch_mut, illegal, issue_mut, member_mut, move_batch, move_issue};
use crate::domain::event::{BatchBlocked, BatchFormed, BatchStarted, Event, UnitStopping};
use crate::domain::ids::{BatchId, IssueId, Unit};
use crate::domain::state::{BatchBlock, BatchStatus, IssueStatus, State, Stopping};
use std::sync::Arc;

pub(super) fn apply(state: &mut State, event: &Event) -> Result<(), IllegalEvent> {
    match event {
        Event::BatchStarted(e) => start(state, event, e),
        Event::IntegrationCreated(e) => {
            let batch = batch_mut(state, event, &e.batch)?;
            if batch.integration.is_some() {
                let subject = format!("batch {}", e.batch);
                return Err(illegal(event, subject, "it has one", "no integration branch"));
            }
            batch.integration = Some(e.commit.clone());
            Ok(())
        }
        Event::BatchBlocked(e) => block(state, event, e),
        Event::BatchResumed(e) => resume(state, event, &e.batch),
        Event::RecheckPlanned(e) => {
            match &mut batch_mut(state, event, &e.batch)?.block {
                Some(block) if !block.recheck => block.recheck = true,
                Some(_) => {
                    let subject = format!("batch {}", e.batch);
                    return Err(illegal(event, subject, "a recheck under way", "none"));
                }
                None => {
                    let subject = format!("batch {}", e.batch);
                    return Err(illegal(event, subject, "not blocked", "blocked"));
                }
            }
            if let Some(judging) = &mut member_mut(state, event, &e.batch, &e.member)?.judging {
                judging.failures = 0;
                judging.losses = 0;
            }
            Ok(())
        }
        Event::BatchDissolving(e) => {
            move_batch(state, event, &e.0.batch, BatchStatus::Dissolving)?;
            batch_mut(state, event, &e.0.batch)?.dissolving = Some(e.0.clone());
            Ok(())
        }
        Event::BatchDissolved(e) => {
            move_batch(state, event, &e.0.batch, BatchStatus::Dissolved)?;
            over(state, event, &e.0.batch)
        }
        Event::UnitStopping(e) => stopping(state, event, e),
        Event::BatchStopped(e) => {
            move_batch(state, event, &e.batch, BatchStatus::Stopped)?;
            over(state, event, &e.batch)
        }
        _ => Ok(()),
    }
}

fn start(state: &mut State, event: &Event, e: &BatchStarted) -> Result<(), IllegalEvent> {
    if let Some(issue) = &e.issue {
        form_implicit(state, event, e, issue)?;
    }
    move_batch(state, event, &e.batch, BatchStatus::Executing)?;
    let batch = batch_mut(state, event, &e.batch)?;
    batch.base_commit = Some(e.base_commit.clone());
    batch.mode = e.mode;
    batch.pinned = Some(e.clone());
    let open = batch.members.iter().filter(|m| m.outcome.is_none());
    let members: Vec<IssueId> = open.map(|m| m.issue.clone()).collect();
    for member in &members {
        move_issue(state, event, member, IssueStatus::Waiting)?;
    }
    Ok(())
}

fn form_implicit(
    state: &mut State,
    event: &Event,
    e: &BatchStarted,
    id: &IssueId,
) -> Result<(), IllegalEvent> {
    let issue = issue_mut(state, event, id)?;
    if issue.batch.is_some() {
        return Err(illegal(
            event,
            format!("issue {id}"),
            "it is in a batch",
            "a stand-alone issue",
        ));
    }
    issue.batch = Some(e.batch.clone());
    issue.runs += 1;
    let (priority, queued) = (issue.priority, issue.queued.clone());
    let formed = BatchFormed { batch: e.batch.clone(), mode: e.mode, priority };
    let mut batch = super::queue::new_batch(state, &formed);
    batch.issue = Some(id.clone());
    batch.status = BatchStatus::Ready;
    batch.ready = queued;
    batch.members.push(super::queue::new_member(id.clone(), 1));
    state.batches.insert(e.batch.clone(), Arc::new(batch));
    Ok(())
}

fn block(state: &mut State, event: &Event, e: &BatchBlocked) -> Result<(), IllegalEvent> {
    let since = state.head.stamp.clone();
    let from = batch_mut(state, event, &e.batch)?.status;
    move_batch(state, event, &e.batch, BatchStatus::Blocked)?;
    let batch = batch_mut(state, event, &e.batch)?;
    batch.lane = false;
    batch.shipping = None;
    batch.suite_losses = 0;
    batch.block = Some(BatchBlock {
        reason: e.reason.clone(),
        detail: e.detail.clone(),
        member: e.member.clone(),
        dispatch: e.dispatch,
        from,
        since,
        recheck: false,
    });
    Ok(())
}

fn resume(state: &mut State, event: &Event, id: &BatchId) -> Result<(), IllegalEvent> {
    let batch = batch_mut(state, event, id)?;
    let Some(block) = batch.block.take() else {
        return Err(illegal(event, format!("batch {id}"), batch.status.name(), "blocked"));
    };
    batch.status = block.from;
    if block.reason == "base-moving" {
        batch.rebases = 0;
    }
    if let Some(gate) = block.reason.strip_prefix("gate-baseline-red:") {
        // what made the integration tip red may be mended: both are asked anew
        batch.baselines.retain(|b| b.gate.as_str() != gate);
        let judged = block.member.and_then(|id| batch.members.iter_mut().find(|m| m.issue == id));
        if let Some(judging) = judged.and_then(|m| m.judging.as_mut()) {
            (judging.failures, judging.losses) = (0, 0);
        }
    }
    Ok(())
}

fn stopping(state: &mut State, event: &Event, e: &UnitStopping) -> Result<(), IllegalEvent> {
    let stopping = Some(Stopping { verb: e.verb, reason: e.reason.clone() });
    match &e.unit {
        Unit::Batch(batch) => batch_mut(state, event, batch)?.stopping = stopping,
        Unit::Member(batch, issue) => member_mut(state, event, batch, issue)?.stopping = stopping,
        Unit::Issue(issue) => {
            let found = issue_mut(state, event, issue)?;
            found.stopping = stopping.clone();
            let batch = found.batch.clone();
            if let Some(batch) = batch.filter(|id| state.batches.contains_key(id)) {
                member_mut(state, event, &batch, issue)?.stopping = stopping;
            }
        }
    }
    Ok(())
}

/// A batch is over: it holds nothing any more but its trees.
pub(super) fn over(state: &mut State, event: &Event, id: &BatchId) -> Result<(), IllegalEvent> {
    let batch = batch_mut(state, event, id)?;
    batch.lane = false;
    batch.shipping = None;
    batch.rebasing = None;
    batch.dissolving = None;
    batch.stopping = None;
    if batch.issue.is_none() {
        let unit = batch.unit();
        state.ended.push(unit);
    }
    Ok(())
}

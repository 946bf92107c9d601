//! Events about a batch from its validation to its end.

use super::batch::over;
use super::{IllegalEvent, batch_mut, illegal, move_batch, move_issue};
use crate::domain::event::{BatchRebased, Event};
use crate::domain::ids::{BatchId, IssueId};
use crate::domain::state::{BatchStatus, IssueStatus, Rebasing, State};

pub(super) fn apply(state: &mut State, event: &Event) -> Result<(), IllegalEvent> {
    match event {
        Event::BatchValidating(e) => {
            move_batch(state, event, &e.batch, BatchStatus::Validating)?;
            batch_mut(state, event, &e.batch)?.current = None;
            Ok(())
        }
        Event::BatchValidated(e) => {
            move_batch(state, event, &e.batch, BatchStatus::Shipping)?;
            let batch = batch_mut(state, event, &e.batch)?;
            batch.current = None;
            batch.validated = Some(e.commit.clone());
            Ok(())
        }
        Event::BatchShipping(e) => {
            let batch = batch_mut(state, event, &e.batch)?;
            if batch.status != BatchStatus::Shipping {
                let subject = format!("batch {}", e.batch);
                return Err(illegal(event, subject, batch.status.name(), "shipping"));
            }
            batch.shipping = Some((e.old.clone(), e.new.clone()));
            batch.lane = true;
            Ok(())
        }
        Event::BatchRebasing(e) => {
            let executing = batch_mut(state, event, &e.batch)?.status == BatchStatus::Executing;
            move_batch(state, event, &e.batch, BatchStatus::Rebasing)?;
            let batch = batch_mut(state, event, &e.batch)?;
            let (from, onto) = (e.from.clone(), e.onto.clone());
            batch.shipping = None;
            batch.rebasing = Some(Rebasing { from, onto, executing });
            batch.rebases = batch.rebases.max(e.attempt);
            batch.lane = !executing;
            Ok(())
        }
        Event::BatchRebased(e) => rebased(state, event, e),
        Event::BatchMerged(e) => merged(state, event, &e.batch),
        Event::BatchDone(e) => {
            move_batch(state, event, &e.batch, BatchStatus::Done)?;
            over(state, event, &e.batch)
        }
        _ => Ok(()),
    }
}

fn rebased(state: &mut State, event: &Event, e: &BatchRebased) -> Result<(), IllegalEvent> {
    let batch = batch_mut(state, event, &e.batch)?;
    let Some(rebasing) = batch.rebasing.take().filter(|_| batch.status == BatchStatus::Rebasing)
    else {
        let subject = format!("batch {}", e.batch);
        return Err(illegal(event, subject, batch.status.name(), "rebasing"));
    };
    if rebasing.executing {
        move_batch(state, event, &e.batch, BatchStatus::Executing)?;
    }
    let batch = batch_mut(state, event, &e.batch)?;
    batch.baselines.clear();
    batch.base_commit = Some(e.base_commit.clone());
    batch.integration = Some(e.tip.clone());
    batch.validated = None;
    for rebased in &e.members {
        let found = batch.members.iter_mut().find(|m| m.issue == rebased.member);
        if let Some((commit, _)) = found.and_then(|m| m.landed.as_mut()) {
            *commit = rebased.commit.clone();
        }
    }
    Ok(())
}

fn merged(state: &mut State, event: &Event, id: &BatchId) -> Result<(), IllegalEvent> {
    move_batch(state, event, id, BatchStatus::Merged)?;
    let batch = batch_mut(state, event, id)?;
    batch.lane = false;
    batch.shipping = None;
    let landed: Vec<IssueId> = batch.landed().map(|m| m.issue.clone()).collect();
    for issue in &landed {
        move_issue(state, event, issue, IssueStatus::Shipped)?;
    }
    Ok(())
}

//! event → state. No policy: an event says what happened, and what never may happen is refused
//! here with both halves named, so that a journal that breaks a rule does not fold.

mod batch;
mod dispatch;
mod member;
mod queue;
mod retire;
mod scheduler;
mod ship;

pub use retire::{KEPT_ENDED, retire};

use crate::domain::event::{Entry, Event};
use crate::domain::ids::{BatchId, DispatchId, IssueId};
use crate::domain::state::{Batch, BatchStatus, Dispatch, Head, Issue, IssueStatus, Member, State};
use crate::domain::time::Timestamp;
use std::sync::Arc;

/// An event that cannot have happened in this state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{event}` cannot happen to {subject}: {found}, expected {expected}")]
pub struct IllegalEvent {
    /// The event's name.
    pub event: &'static str,
    /// What it is about: kind and id.
    pub subject: String,
    /// What is.
    pub found: String,
    /// What would have to be.
    pub expected: String,
}

/// Folds one entry: the head first, so that events know their entry, then each event.
///
/// # Errors
/// [`IllegalEvent`] for the first event that cannot have happened; the state is then of no use.
pub fn fold(state: &mut State, entry: &Entry, hash: &str) -> Result<(), IllegalEvent> {
    state.head = Head { seq: entry.seq, hash: hash.to_owned(), stamp: entry.stamp() };
    entry.events.iter().try_for_each(|event| apply(state, event, entry.at))
}

/// Applies one event of the entry that `state.head` names.
///
/// # Errors
/// [`IllegalEvent`] when it cannot have happened; the state is then unchanged.
pub fn apply(state: &mut State, event: &Event, at: Timestamp) -> Result<(), IllegalEvent> {
    use Event as E;
    match event {
        E::JournalCreated(_)
        | E::JournalAdopted(_)
        | E::JournalRepaired(_)
        | E::TailQuarantined(_)
        | E::HeadUnreadable(_)
        | E::EnvironmentRecorded(_)
        | E::ConfigApplied(_)
        | E::ConditionRaised(_)
        | E::ConditionCleared(_)
        | E::TickGap(_)
        | E::ClockBehind(_)
        | E::SchedulerPaused(_)
        | E::SchedulerResumed(_)
        | E::DispatchUnhealthy(_)
        | E::SpawnFailing(_)
        | E::SpawnRecovered(_)
        | E::ProfileSuspended(_)
        | E::ProfileRestored(_)
        | E::OperatorActed(_) => scheduler::apply(state, event),
        E::IssueEnqueued(_)
        | E::BatchFormed(_)
        | E::BatchSealed(_)
        | E::IssueDone(_)
        | E::IssueFailed(_)
        | E::IssueStopped(_)
        | E::IssueBlocked(_)
        | E::IssueUnblocked(_)
        | E::IssueRequeued(_)
        | E::Reprioritized(_) => queue::apply(state, event),
        E::DispatchPlanned(_)
        | E::DispatchStarted(_)
        | E::DispatchExited(_)
        | E::DispatchLost(_)
        | E::DispatchExpired(_)
        | E::DispatchSuperseded(_)
        | E::SupervisionLost(_)
        | E::StopRequested(_)
        | E::MemberStopRequested(_)
        | E::StopReasonRaised(_)
        | E::KillEscalated(_)
        | E::KillIneffective(_)
        | E::SlotReleased(_)
        | E::MilestonePosted(_)
        | E::WorkRescued(_)
        | E::TreeRemoved(_)
        | E::TreeKept(_) => dispatch::apply(state, event),
        E::MemberAssigned(_)
        | E::GatesPlanned(_)
        | E::MemberVerified(_)
        | E::LandingPlanned(_)
        | E::MemberLanded(_)
        | E::MemberAdvanced(_)
        | E::MemberEvicted(_)
        | E::EvictionDuplicate(_)
        | E::MemberRequeued(_)
        | E::MemberReprompted(_)
        | E::MemberAdvanceRecovered(_) => member::apply(state, event, at),
        E::BatchStarted(_)
        | E::IntegrationCreated(_)
        | E::BatchBlocked(_)
        | E::BatchResumed(_)
        | E::RecheckPlanned(_)
        | E::DissolveSuppressed(_)
        | E::BatchDissolving(_)
        | E::BatchDissolved(_)
        | E::UnitStopping(_)
        | E::BatchStopped(_) => batch::apply(state, event),
        E::BatchValidating(_)
        | E::BatchValidated(_)
        | E::BatchShipping(_)
        | E::BatchRebasing(_)
        | E::BatchRebased(_)
        | E::BatchMerged(_)
        | E::BatchDone(_) => ship::apply(state, event),
    }
}

pub(super) fn illegal(
    event: &Event,
    subject: impl ToString,
    found: impl ToString,
    expected: impl ToString,
) -> IllegalEvent {
    IllegalEvent {
        event: event.name(),
        subject: subject.to_string(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}

fn issue_mut<'a>(
    state: &'a mut State,
    event: &Event,
    id: &IssueId,
) -> Result<&'a mut Issue, IllegalEvent> {
    match state.issues.get_mut(id) {
        Some(issue) => Ok(Arc::make_mut(issue)),
        None => Err(illegal(event, format!("issue {id}"), "it does not exist", "a queued issue")),
    }
}

fn batch_mut<'a>(
    state: &'a mut State,
    event: &Event,
    id: &BatchId,
) -> Result<&'a mut Batch, IllegalEvent> {
    match state.batches.get_mut(id) {
        Some(batch) => Ok(Arc::make_mut(batch)),
        None => Err(illegal(event, format!("batch {id}"), "it does not exist", "a formed batch")),
    }
}

fn member_mut<'a>(
    state: &'a mut State,
    event: &Event,
    batch: &BatchId,
    issue: &IssueId,
) -> Result<&'a mut Member, IllegalEvent> {
    let found = batch_mut(state, event, batch)?.members.iter_mut().find(|m| m.issue == *issue);
    found.ok_or_else(|| {
        let subject = format!("issue {issue}");
        illegal(event, subject, format!("no member of batch {batch}"), "a member")
    })
}

fn dispatch_mut<'a>(
    state: &'a mut State,
    event: &Event,
    id: &DispatchId,
) -> Result<&'a mut Dispatch, IllegalEvent> {
    match state.dispatches.get_mut(id) {
        Some(dispatch) => Ok(Arc::make_mut(dispatch)),
        None => Err(illegal(event, format!("dispatch {id}"), "it is not open", "an open dispatch")),
    }
}

/// Moves an issue along an edge, or refuses.
fn move_issue(
    state: &mut State,
    event: &Event,
    id: &IssueId,
    to: IssueStatus,
) -> Result<(), IllegalEvent> {
    let issue = issue_mut(state, event, id)?;
    if !issue.status.may_become(to) {
        let subject = format!("issue {id}");
        return Err(illegal(
            event,
            subject,
            issue.status.name(),
            format!("an edge to {}", to.name()),
        ));
    }
    issue.status = to;
    if to != IssueStatus::Blocked {
        issue.block = None;
    }
    Ok(())
}

/// Moves a batch along an edge, or refuses.
fn move_batch(
    state: &mut State,
    event: &Event,
    id: &BatchId,
    to: BatchStatus,
) -> Result<(), IllegalEvent> {
    let batch = batch_mut(state, event, id)?;
    if !batch.status.may_become(to) {
        let subject = format!("batch {id}");
        return Err(illegal(
            event,
            subject,
            batch.status.name(),
            format!("an edge to {}", to.name()),
        ));
    }
    batch.status = to;
    if to != BatchStatus::Blocked {
        batch.block = None;
    }
    Ok(())
}

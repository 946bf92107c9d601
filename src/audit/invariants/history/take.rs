//! Event by event: what is remembered of it.

use super::dispatch::Stop;
use super::{Batch, Dispatch, Held, History, Issue, Left, Member};
use crate::audit::invariants::moment::Moment;
use crate::audit::invariants::settings::Settings;
use crate::domain::event::{
    BatchFormed, DispatchPlanned, Entry, Event, IssueEnqueued, StopRequested, UnitStopping, Verdict,
};
use crate::domain::ids::{BatchId, DispatchId, IssueId, Unit};

pub(super) fn event(history: &mut History, entry: &Entry, event: &Event) {
    match event {
        Event::JournalCreated(e) => history.journal = Some(e.journal),
        Event::JournalAdopted(e) => history.journal = Some(e.journal),
        Event::ConfigApplied(e) => history.settings = Settings::read(&e.content),
        Event::JournalRepaired(e) => e.units.iter().for_each(|u| repaired(history, entry.seq, u)),
        Event::UnitStopping(e) => stopping(history, entry.seq, e),
        _ => {
            dispatch(history, entry, event);
            issue(history, entry.seq, event);
            member(history, entry.seq, event);
            batch(history, entry.seq, event);
        }
    }
}

/// Whatever the entries that were cut off named is blocked.
fn repaired(history: &mut History, seq: u64, unit: &Unit) {
    let block = || Some((seq, "repaired".to_owned()));
    let batches = match unit {
        Unit::Batch(id) | Unit::Member(id, _) => vec![id.clone()],
        Unit::Issue(id) => {
            let Some(issue) = history.issues.get_mut(id) else { return };
            if !issue.over && issue.block.is_none() {
                issue.block = block();
            }
            issue.runs.clone()
        }
    };
    for id in batches {
        let open = history.batches.get_mut(&id).filter(|b| b.over.is_none() && b.block.is_none());
        if let Some(batch) = open {
            batch.block = block();
        }
    }
}

fn stopping(history: &mut History, seq: u64, e: &UnitStopping) {
    match &e.unit {
        Unit::Batch(id) => {
            if let Some(batch) = history.batches.get_mut(id) {
                batch.stopping = Some(seq);
            }
        }
        Unit::Issue(id) => {
            if let Some(issue) = history.issues.get_mut(id) {
                issue.stopping = Some(seq);
            }
        }
        Unit::Member(batch, id) => {
            if let Some(member) = member_mut(history, batch, id) {
                member.stopping = Some(seq);
            }
        }
    }
}

fn dispatch(history: &mut History, entry: &Entry, event: &Event) {
    let seq = entry.seq;
    match event {
        Event::DispatchPlanned(e) => planned(history, seq, e),
        Event::DispatchStarted(e) => with(history, &e.dispatch, |d| d.start(e, seq)),
        Event::DispatchExited(e) => ended(history, seq, &e.dispatch, "exited", Some(e.verdict)),
        Event::DispatchLost(e) => ended(history, seq, &e.dispatch, "lost", Some(e.verdict)),
        Event::DispatchExpired(e) => ended(history, seq, &e.dispatch, "expired", None),
        Event::DispatchSuperseded(e) => {
            let Some(dispatch) = history.dispatches.get_mut(&e.dispatch) else { return };
            dispatch.superseded.get_or_insert(seq);
            history.touched.insert(dispatch.unit.clone());
        }
        Event::StopRequested(e) => with(history, &e.dispatch, |d| {
            d.stop.get_or_insert(stop(entry, e));
        }),
        Event::StopReasonRaised(e) => with(history, &e.dispatch, |d| {
            if let Some(stop) = &mut d.stop {
                stop.reason = e.reason;
            }
        }),
        Event::KillEscalated(e) => with(history, &e.dispatch, |d| {
            if let Some(stop) = &mut d.stop {
                stop.killed.get_or_insert(Moment::of(entry));
            }
        }),
        Event::KillIneffective(e) => with(history, &e.dispatch, |d| {
            if let Some(stop) = &mut d.stop {
                stop.ineffective.get_or_insert(seq);
            }
        }),
        Event::SlotReleased(e)
            if history.slots.get(&e.slot).is_some_and(|held| held.unit == e.unit) =>
        {
            history.slots.remove(&e.slot);
        }
        _ => {}
    }
}

fn stop(entry: &Entry, e: &StopRequested) -> Stop {
    Stop {
        requested: Moment::of(entry),
        bound_ms: e.bound_ms,
        reason: e.reason,
        killed: None,
        ineffective: None,
    }
}

fn with(history: &mut History, id: &DispatchId, act: impl FnOnce(&mut Dispatch)) {
    if let Some(dispatch) = history.dispatches.get_mut(id) {
        act(dispatch);
    }
}

fn planned(history: &mut History, seq: u64, e: &DispatchPlanned) {
    if let Some(slot) = e.slot {
        let held = Held { unit: e.unit.clone(), since: seq };
        history.slots.entry(slot).and_modify(|h| h.unit = e.unit.clone()).or_insert(held);
    }
    let known = history.dispatches.contains_key(&e.dispatch)
        || history.past_dispatches.contains_key(&e.dispatch);
    if !known {
        history.dispatches.insert(e.dispatch, Dispatch::planned(e, seq));
        history.by_unit.entry(e.unit.clone()).or_default().push(e.dispatch);
    }
}

fn ended(
    history: &mut History,
    seq: u64,
    id: &DispatchId,
    how: &'static str,
    verdict: Option<Verdict>,
) {
    let Some(dispatch) = history.dispatches.get_mut(id) else { return };
    dispatch.end(seq, how, verdict);
    history.touched.insert(dispatch.unit.clone());
}

fn issue(history: &mut History, seq: u64, event: &Event) {
    match event {
        Event::IssueEnqueued(e) => queued(history, seq, e),
        Event::IssueDone(e) => issue_over(history, &e.issue, true),
        Event::IssueFailed(e) => issue_over(history, &e.issue, false),
        Event::IssueStopped(e) => issue_over(history, &e.issue, false),
        Event::IssueBlocked(e) => {
            let issue = history.issues.entry(e.issue.clone()).or_default();
            issue.block = Some((seq, e.reason.clone()));
        }
        Event::IssueUnblocked(e) => {
            history.issues.entry(e.issue.clone()).or_default().block = None;
        }
        Event::IssueRequeued(e) => {
            let issue = history.issues.entry(e.issue.clone()).or_default();
            (issue.block, issue.stopping) = (None, None);
        }
        _ => {}
    }
}

fn queued(history: &mut History, seq: u64, e: &IssueEnqueued) {
    let before = history.issues.remove(&e.issue);
    history.issues.insert(e.issue.clone(), Issue::queued(e, seq, before));
    if let Some(batch) = &e.batch {
        let batch = history.batches.entry(batch.clone()).or_default();
        batch.join(&e.issue);
    }
}

fn issue_over(history: &mut History, id: &IssueId, done: bool) {
    let issue = history.issues.entry(id.clone()).or_default();
    issue.over = true;
    issue.satisfied = done;
    issue.block = None;
    history.touched.insert(Unit::Issue(id.clone()));
}

fn member_mut<'a>(
    history: &'a mut History,
    batch: &BatchId,
    issue: &IssueId,
) -> Option<&'a mut Member> {
    history.batches.get_mut(batch)?.members.get_mut(issue)
}

fn member(history: &mut History, seq: u64, event: &Event) {
    let (id, issue) = match event {
        Event::GatesPlanned(e) => (&e.batch, &e.member),
        Event::MemberVerified(e) => (&e.batch, &e.member),
        Event::LandingPlanned(e) => (&e.batch, &e.member),
        Event::MemberLanded(e) => (&e.batch, &e.member),
        Event::MemberEvicted(e) => (&e.batch, &e.member),
        Event::MemberRequeued(e) => (&e.batch, &e.member),
        _ => return,
    };
    let Some(batch) = history.batches.get_mut(id) else { return };
    match event {
        Event::MemberLanded(_) => return batch.resolve(issue, seq, Left::Landed),
        Event::MemberEvicted(e) => return batch.resolve(issue, seq, Left::by(e.kind)),
        Event::MemberRequeued(_) => return batch.resolve(issue, seq, Left::Requeued),
        _ => {}
    }
    let Some(member) = batch.members.get_mut(issue) else { return };
    match event {
        Event::GatesPlanned(e) => {
            member.judged = Some((e.tip.clone(), e.gates.clone()));
            member.verified = None;
            member.landing = None;
        }
        Event::MemberVerified(e) => member.verified = Some(e.tip.clone()),
        Event::LandingPlanned(e) => member.landing = Some(e.tip.clone()),
        _ => {}
    }
}

fn batch(history: &mut History, seq: u64, event: &Event) {
    match event {
        Event::BatchFormed(e) => return formed(history, e),
        Event::BatchStarted(e) => {
            history.batches.entry(e.batch.clone()).or_default().start(e);
            if let Some(issue) = &e.issue {
                history.issues.entry(issue.clone()).or_default().runs.push(e.batch.clone());
            }
            return;
        }
        _ => {}
    }
    let Some(id) = batch_of(event) else { return };
    let Some(batch) = history.batches.get_mut(id) else { return };
    match event {
        Event::BatchSealed(_) => batch.sealed = true,
        Event::MemberAssigned(e) => batch.current = Some(e.member.clone()),
        Event::MemberAdvanced(e) => batch.current = Some(e.to.clone()),
        Event::BatchBlocked(e) => batch.block = Some((seq, e.reason.clone())),
        Event::BatchResumed(_) => batch.block = None,
        Event::BatchValidating(_) => batch.whole = true,
        Event::BatchValidated(e) => {
            batch.whole = true;
            batch.validated = Some(e.commit.clone());
        }
        Event::BatchShipping(e) => batch.shipping = Some(e.new.clone()),
        Event::BatchRebasing(_) => {
            batch.rebasing = true;
            batch.shipping = None;
        }
        Event::BatchRebased(_) => batch.rebasing = false,
        Event::BatchDissolving(_) => batch.dissolving = true,
        Event::BatchMerged(_) => merged(history, seq, &id.clone()),
        Event::BatchDissolved(_) | Event::BatchStopped(_) | Event::BatchDone(_) => {
            batch.over = Some(seq);
            let unit = match &batch.issue {
                Some(issue) => Unit::Issue(issue.clone()),
                None => Unit::Batch(id.clone()),
            };
            history.touched.insert(unit);
        }
        _ => {}
    }
}

fn formed(history: &mut History, e: &BatchFormed) {
    history.past_batches.remove(&e.batch);
    history.batches.insert(e.batch.clone(), Batch::default());
}

/// The landed members of a batch that shipped satisfy whoever waits for them.
fn merged(history: &mut History, seq: u64, id: &BatchId) {
    let Some(batch) = history.batches.get_mut(id) else { return };
    batch.merged = Some(seq);
    let landed = |m: &Member| m.outcome.is_some_and(|(_, how)| how == Left::Landed);
    for (issue, _) in batch.members.iter().filter(|(_, member)| landed(member)) {
        if let Some(issue) = history.issues.get_mut(issue) {
            issue.satisfied = true;
        }
    }
}

fn batch_of(event: &Event) -> Option<&BatchId> {
    Some(match event {
        Event::BatchSealed(e) => &e.batch,
        Event::MemberAssigned(e) => &e.batch,
        Event::MemberAdvanced(e) => &e.batch,
        Event::BatchBlocked(e) => &e.batch,
        Event::BatchResumed(e) => &e.batch,
        Event::BatchValidating(e) => &e.batch,
        Event::BatchValidated(e) => &e.batch,
        Event::BatchShipping(e) => &e.batch,
        Event::BatchRebasing(e) => &e.batch,
        Event::BatchRebased(e) => &e.batch,
        Event::BatchDissolving(e) => &e.0.batch,
        Event::BatchDissolved(e) => &e.0.batch,
        Event::BatchStopped(e) => &e.batch,
        Event::BatchMerged(e) => &e.batch,
        Event::BatchDone(e) => &e.batch,
        _ => return None,
    })
}

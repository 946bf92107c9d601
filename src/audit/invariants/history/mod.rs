//! What the entries so far state, without a judgement.
//!
//! What belongs to a unit that is over, and to no open dispatch, leaves but for its ids.

mod batch;
mod dispatch;
mod issue;
mod take;

pub(super) use batch::{Batch, Left, Member, Pinned};
pub(super) use dispatch::{Dispatch, Known};
pub(super) use issue::Issue;

use super::moment::Moment;
use super::settings::Settings;
use crate::domain::event::{Entry, Event};
use crate::domain::ids::{BatchId, DispatchId, IssueId, JournalId, SlotId, Unit};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A slot that is held.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) unit: Unit,
    /// The entry from which on.
    pub(super) since: u64,
}

/// The memory of an audit.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// The last whole entry.
    pub(super) last: Option<Moment>,
    pub(super) journal: Option<JournalId>,
    pub(super) settings: Settings,
    pub(super) slots: BTreeMap<SlotId, Held>,
    batches: BTreeMap<BatchId, Batch>,
    issues: HashMap<IssueId, Issue>,
    dispatches: BTreeMap<DispatchId, Dispatch>,
    by_unit: BTreeMap<Unit, Vec<DispatchId>>,
    /// Dispatches and batches that were forgotten, and the entry that each ended with.
    past_dispatches: HashMap<DispatchId, u64>,
    past_batches: HashMap<BatchId, u64>,
    /// Units of which something ended in this line.
    touched: BTreeSet<Unit>,
}

impl History {
    /// What is known of a dispatch.
    pub(super) fn dispatch(&self, id: &DispatchId) -> Known<'_> {
        match (self.dispatches.get(id), self.past_dispatches.get(id)) {
            (Some(dispatch), _) => Known::Here(dispatch),
            (None, Some(seq)) => Known::Past(*seq),
            (None, None) => Known::Never,
        }
    }

    /// Dispatches of a unit, oldest first.
    pub(super) fn dispatches_of(&self, unit: &Unit) -> impl Iterator<Item = &Dispatch> {
        let ids = self.by_unit.get(unit).into_iter().flatten();
        ids.filter_map(|id| self.dispatches.get(id))
    }

    pub(super) fn batch(&self, id: &BatchId) -> Option<&Batch> {
        self.batches.get(id)
    }

    /// The entry with which a batch ended that is forgotten.
    pub(super) fn past_batch(&self, id: &BatchId) -> Option<u64> {
        self.past_batches.get(id).copied()
    }

    pub(super) fn issue(&self, id: &IssueId) -> Option<&Issue> {
        self.issues.get(id)
    }

    pub(super) fn member(&self, batch: &BatchId, issue: &IssueId) -> Option<&Member> {
        self.batches.get(batch)?.members.get(issue)
    }

    /// The unit that a member is: the issue itself in its batch of one.
    pub(super) fn member_unit(&self, batch: &BatchId, issue: &IssueId) -> Unit {
        match self.batches.get(batch).is_some_and(|b| b.issue.is_some()) {
            true => Unit::Issue(issue.clone()),
            false => Unit::Member(batch.clone(), issue.clone()),
        }
    }

    /// The batch that a dispatch of a unit works for, and the member.
    pub(super) fn membership(&self, unit: &Unit) -> Option<(BatchId, IssueId)> {
        match unit {
            Unit::Member(batch, issue) => Some((batch.clone(), issue.clone())),
            Unit::Issue(issue) => {
                let batch = self.issues.get(issue)?.runs.last()?;
                Some((batch.clone(), issue.clone()))
            }
            Unit::Batch(_) => None,
        }
    }

    /// Ends a line: what is over is forgotten.
    pub(super) fn end_line(&mut self, entry: &Entry) {
        self.last = Some(Moment::of(entry));
        for unit in std::mem::take(&mut self.touched) {
            self.forget(&unit, entry.seq);
        }
    }

    fn forget(&mut self, unit: &Unit, seq: u64) {
        let over = match unit {
            Unit::Issue(id) => self.issues.get(id).is_some_and(|issue| issue.over),
            Unit::Batch(id) | Unit::Member(id, _) => {
                self.batches.get(id).is_none_or(|batch| batch.over.is_some())
            }
        };
        if !over {
            return;
        }
        let units = self.together(unit);
        let open = |unit: &Unit| self.dispatches_of(unit).any(Dispatch::is_open);
        if units.iter().any(open) {
            return;
        }
        for id in units.iter().filter_map(|unit| self.by_unit.remove(unit)).flatten() {
            let ended = self.dispatches.remove(&id).map_or(seq, |d| d.last_entry());
            self.past_dispatches.insert(id, ended);
        }
        let batches = match unit {
            Unit::Issue(id) => self.issues.get_mut(id).map(Issue::shrink).unwrap_or_default(),
            Unit::Batch(id) | Unit::Member(id, _) => vec![id.clone()],
        };
        for id in batches {
            let over = self.batches.remove(&id).and_then(|batch| batch.over);
            self.past_batches.entry(id).or_insert(over.unwrap_or(seq));
        }
    }

    /// The units that are forgotten together: a batch and its members.
    fn together(&self, unit: &Unit) -> Vec<Unit> {
        let mut units = vec![unit.clone()];
        let (Unit::Batch(id) | Unit::Member(id, _)) = unit else { return units };
        units.push(Unit::Batch(id.clone()));
        let members = self.batches.get(id).into_iter().flat_map(|batch| batch.members.keys());
        units.extend(members.map(|issue| Unit::Member(id.clone(), issue.clone())));
        units
    }

    /// Adds what an event states.
    pub(super) fn take(&mut self, entry: &Entry, event: &Event) {
        take::event(self, entry, event);
    }
}

//! What a rule writes into: events, and the state that they make.

use crate::domain::apply::apply;
use crate::domain::event::{Event, SlotReleased};
use crate::domain::ids::{BatchId, CommitId, DispatchId, IssueId, Unit};
use crate::domain::state::{Batch, Dispatch, Issue, Member, State};
use crate::domain::time::{Now, Timestamp};
use std::collections::BTreeMap;
use uuid::Uuid;

/// A source of ids that comes from outside: the same seed gives the same ids.
#[derive(Debug, Clone)]
pub struct Ids {
    seed: u128,
    drawn: u64,
}

impl Ids {
    /// Starts from a fresh UUIDv7.
    pub fn new(seed: Uuid) -> Self {
        Self { seed: seed.as_u128(), drawn: 0 }
    }

    /// The next id: the seed's time and version, other low bits.
    pub fn dispatch(&mut self) -> DispatchId {
        self.drawn += 1;
        let low = (self.seed as u64 ^ self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 2;
        let high = self.seed >> 64 << 64;
        DispatchId(Uuid::from_u128(high | u128::from(0b10_u64 << 62 | low)))
    }
}

/// Events drafted so far, and the state with them.
pub struct Draft<'a> {
    /// The state with all drafted events.
    pub state: State,
    /// The present.
    pub now: &'a Now,
    /// Where ids come from.
    pub ids: &'a mut Ids,
    /// Base branches whose place is known in this decision.
    pub bases: BTreeMap<String, CommitId>,
    events: Vec<Event>,
}

impl<'a> Draft<'a> {
    /// Starts with nothing drafted.
    pub fn new(state: &State, now: &'a Now, ids: &'a mut Ids) -> Self {
        let mut state = state.clone();
        state.head.seq += 1;
        state.head.stamp = now.stamp();
        Self { state, now, ids, bases: BTreeMap::new(), events: Vec::new() }
    }

    /// Drafts an event. Panics when it is illegal: rules and `apply` would disagree.
    pub fn push(&mut self, event: impl Into<Event>) {
        let event = event.into();
        if let Err(illegal) = apply(&mut self.state, &event, self.now.wall) {
            panic!("BUG: a rule drafted an illegal event: {illegal}");
        }
        self.events.push(event);
    }

    /// What was drafted.
    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// How many events were drafted.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether anything was drafted.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// A copy of a batch as it is now.
    pub fn batch(&self, id: &BatchId) -> Option<Batch> {
        self.state.batch(id).cloned()
    }

    /// A copy of a member as it is now.
    pub fn member(&self, batch: &BatchId, issue: &IssueId) -> Option<Member> {
        self.state.batch(batch)?.member(issue).cloned()
    }

    /// A copy of an issue as it is now.
    pub fn issue(&self, id: &IssueId) -> Option<Issue> {
        self.state.issue(id).cloned()
    }

    /// A copy of an open dispatch as it is now.
    pub fn dispatch(&self, id: &DispatchId) -> Option<Dispatch> {
        self.state.dispatch(id).cloned()
    }

    /// Gives a unit's slot back, if it holds one.
    pub fn release_slot(&mut self, unit: &Unit) {
        if let Some(slot) = self.state.slot_of(unit) {
            self.push(SlotReleased { slot, unit: unit.clone() });
        }
    }

    /// The wall clock.
    pub fn wall(&self) -> Timestamp {
        self.now.wall
    }
}

impl Unit {
    /// The issue that a unit is about, if it is about one.
    pub fn issue_id(&self) -> Option<&IssueId> {
        match self {
            Unit::Issue(issue) | Unit::Member(_, issue) => Some(issue),
            Unit::Batch(_) => None,
        }
    }
}

impl State {
    /// The batch that a unit belongs to, implicit ones too.
    pub fn batch_of(&self, unit: &Unit) -> Option<&Batch> {
        match unit {
            Unit::Issue(issue) => self.batch(self.issue(issue)?.batch.as_ref()?),
            Unit::Batch(batch) | Unit::Member(batch, _) => self.batch(batch),
        }
    }
}

//! What the journal amounts to: the state, and its parts.
//!
//! State is only ever changed by [`crate::domain::apply()`]. Parts are shared (`Arc`), so that a
//! rule can try its events on a copy at the cost of a few pointers. Ended units stay while
//! something can come of them, or while they are among the last to end; then they leave for
//! [`State::settled`].

mod batch;
mod dispatch;
mod health;
mod issue;

pub use batch::*;
pub use dispatch::*;
pub use health::*;
pub use issue::*;

use crate::domain::config::Config;
use crate::domain::event::{EnvironmentRecorded, Place};
use crate::domain::ids::{BatchId, DispatchId, IssueId, JournalId, SlotId, Unit};
use crate::domain::time::Stamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The last entry that was folded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its sequence number; 0 before the first entry.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
    /// When it was committed.
    pub stamp: Stamp,
}

/// The journal's own identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalInfo {
    /// Its id; changes when a copy is adopted.
    pub journal: JournalId,
    /// Where it was created or adopted last.
    pub place: Place,
    /// Digest of the schema files it was begun with, while the version was open.
    pub draft: Option<String>,
}

/// The configuration in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// SHA-256 of its text.
    pub digest: String,
    /// What it says.
    pub config: Arc<Config>,
}

/// Who holds a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotUse {
    /// The unit.
    pub unit: Unit,
    /// Since when.
    pub since: Stamp,
    /// The slot-taking dispatch planned last for it.
    pub dispatch: DispatchId,
    /// Set when its process cannot be killed: the slot is not used again until it is gone.
    pub drained: bool,
}

/// What is remembered of an issue that left the working state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Its last generation.
    pub generation: u32,
    /// Its last run number.
    pub runs: u32,
    /// How it ended.
    pub outcome: IssueStatus,
}

/// Everything the journal says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The last entry.
    pub head: Head,
    /// The journal's identity.
    pub journal: Option<JournalInfo>,
    /// What `init` recorded.
    pub environment: Option<EnvironmentRecorded>,
    /// The configuration in force.
    pub applied: Option<Applied>,
    /// Pauses, suspensions, conditions.
    pub health: Health,
    /// Issues by id.
    pub issues: BTreeMap<IssueId, Arc<Issue>>,
    /// Batches by id, implicit ones too.
    pub batches: BTreeMap<BatchId, Arc<Batch>>,
    /// Open dispatches by id.
    pub dispatches: BTreeMap<DispatchId, Arc<Dispatch>>,
    /// Slots in use.
    pub slots: BTreeMap<SlotId, SlotUse>,
    /// Ended units, in the order in which they ended.
    pub ended: Vec<Unit>,
    /// Issues that left the working state. Lives in a table of the projection; in memory only
    /// where there is none.
    #[serde(skip)]
    pub settled: Arc<BTreeMap<IssueId, Settled>>,
}

impl State {
    /// The configuration in force; the built-in defaults before the first one was applied.
    pub fn config(&self) -> Arc<Config> {
        match &self.applied {
            Some(applied) => Arc::clone(&applied.config),
            None => Arc::default(),
        }
    }

    /// An issue that is in the working state.
    pub fn issue(&self, id: &IssueId) -> Option<&Issue> {
        self.issues.get(id).map(Arc::as_ref)
    }

    /// A batch that is in the working state.
    pub fn batch(&self, id: &BatchId) -> Option<&Batch> {
        self.batches.get(id).map(Arc::as_ref)
    }

    /// An open dispatch.
    pub fn dispatch(&self, id: &DispatchId) -> Option<&Dispatch> {
        self.dispatches.get(id).map(Arc::as_ref)
    }

    /// The slot that a unit holds.
    pub fn slot_of(&self, unit: &Unit) -> Option<SlotId> {
        self.slots.iter().find(|(_, held)| held.unit == *unit).map(|(slot, _)| *slot)
    }

    /// The open dispatches of one unit.
    pub fn dispatches_of<'a>(&'a self, unit: &'a Unit) -> impl Iterator<Item = &'a Dispatch> {
        self.dispatches.values().map(Arc::as_ref).filter(move |d| d.unit == *unit)
    }

    /// The open dispatches of a batch: its own and its members'.
    pub fn dispatches_in<'a>(&'a self, batch: &'a Batch) -> impl Iterator<Item = &'a Dispatch> {
        self.dispatches.values().map(Arc::as_ref).filter(move |d| batch.owns(&d.unit))
    }

    /// Whether nothing is live, owed, held, queued or unfinished.
    pub fn is_at_rest(&self) -> bool {
        self.dispatches.is_empty()
            && self.slots.is_empty()
            && self.batches.values().all(|b| b.is_over() && b.trees.is_empty())
            && self.issues.values().all(|i| i.status.is_terminal() || i.status.is_parked())
    }
}

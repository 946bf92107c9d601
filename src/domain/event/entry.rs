//! The entry: who wrote which events when. Its bytes and its hash belong to [`crate::journal`].

use super::Event;
use crate::domain::ids::{BootId, DispatchId};
use crate::domain::time::{Stamp, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Who commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Writer {
    /// A tick.
    Tick,
    /// A supervisor.
    Supervisor,
    /// A person, or a program in a person's name.
    Operator,
    /// An agent, inside its dispatch.
    Agent,
    /// An import.
    Import,
    /// A migration.
    Migrate,
}

/// The process that wrote an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct By {
    /// In which role it wrote.
    pub role: Writer,
    /// The machine's host name.
    pub host: String,
    /// The machine's boot id.
    pub boot: BootId,
    /// Milliseconds of CLOCK_MONOTONIC at the commit.
    pub up: u64,
    /// Its process id.
    pub pid: u32,
    /// Its start time, in clock ticks since boot (`/proc/<pid>/stat`, field 22).
    pub start: u64,
    /// The user's name, or the numeric id where there is none.
    pub user: String,
    /// The program's version.
    pub version: String,
    /// The dispatch it ran in, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatch: Option<DispatchId>,
}

/// One line of the journal without its chain fields (`prev`, `hash`). Field order is the format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Schema version of this entry.
    pub v: u32,
    /// 1, 2, 3 … without gaps.
    pub seq: u64,
    /// UTC in milliseconds, never before the previous entry's.
    pub at: Timestamp,
    /// What the wall clock said, only when it was behind `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<Timestamp>,
    /// UUIDv7: lets a writer whose answer was lost find its entry.
    #[schemars(with = "String")]
    pub id: Uuid,
    /// Who committed.
    pub by: By,
    /// What happened, in order; at least one.
    pub events: Vec<Event>,
}

impl Entry {
    /// When the entry was committed, on all clocks.
    pub fn stamp(&self) -> Stamp {
        Stamp { at: self.at, up: self.by.up, boot: self.by.boot.clone() }
    }
}

//! Events about the journal itself.

use crate::domain::ids::{JournalId, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a state directory is: a rename changes none of these, a copy changes at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// `/etc/machine-id`, or the host name where there is none.
    pub machine: String,
    /// Inode of the state directory.
    pub inode: u64,
    /// Birth time of the state directory in nanoseconds since 1970; 0 where it has none.
    pub birth: i64,
}

/// A point of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalPoint {
    /// Which journal.
    pub journal: JournalId,
    /// Its last entry's sequence number.
    pub seq: u64,
    /// Its last entry's hash.
    pub hash: String,
}

/// See [`super::Event::JournalCreated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalCreated {
    /// The journal's id.
    pub journal: JournalId,
    /// Where it was created.
    pub place: Place,
    /// Digest of the schema files, only while the version is not frozen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
}

/// See [`super::Event::JournalAdopted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalAdopted {
    /// The journal's new id.
    pub journal: JournalId,
    /// Where it goes on.
    pub place: Place,
    /// What it was until here.
    pub from: JournalPoint,
}

/// See [`super::Event::JournalRepaired`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalRepaired {
    /// The first sequence number that was cut off.
    pub from_seq: u64,
    /// Byte offset of the cut in the active file.
    pub offset: u64,
    /// How many bytes went to quarantine.
    pub bytes: u64,
    /// SHA-256 of those bytes, hex.
    pub sha256: String,
    /// The units that the cut entries named, as far as they could be read; they are blocked.
    pub units: Vec<Unit>,
}

/// See [`super::Event::TailQuarantined`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TailQuarantined {
    /// Byte offset of the cut.
    pub offset: u64,
    /// How many bytes went to quarantine.
    pub bytes: u64,
    /// SHA-256 of those bytes, hex.
    pub sha256: String,
}

/// See [`super::Event::HeadUnreadable`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeadUnreadable {
    /// How many valid entries the journal had when this was seen.
    pub entries: u64,
}

/// See [`super::Event::EnvironmentRecorded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentRecorded {
    /// `PATH` for every dispatch.
    pub path: String,
    /// The repository's main worktree, absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The configuration file.
    pub config: String,
}

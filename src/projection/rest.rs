//! The note that a tick leaves where nothing can happen until the journal, the configuration or
//! the disk changes: the next tick over it costs the same whatever has happened before. A cache
//! like the checkpoint: what the journal does not confirm is not believed.

use super::fold_version;
use crate::domain::event::Place;
use crate::domain::state::State;
use crate::journal::head::{Acknowledged, Head};
use crate::journal::{Journal, Position, disk};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

const FILE: &str = "rest.json";

/// What was true when a tick found nothing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    fold: String,
    /// Behind the last entry.
    pub position: Position,
    /// Where the journal is at home.
    pub place: Place,
    /// The configuration file.
    pub config: PathBuf,
    /// SHA-256 of the configuration in force.
    pub digest: String,
    /// Bytes that must be free on the disk.
    pub min_free: u64,
}

impl Rest {
    /// Of a state; `None` before a configuration was applied.
    pub fn of(state: &State, position: &Position) -> Option<Self> {
        Some(Self {
            fold: fold_version(),
            position: position.clone(),
            place: state.journal.as_ref()?.place.clone(),
            config: state.environment.as_ref()?.config.clone().into(),
            digest: state.applied.as_ref()?.digest.clone(),
            min_free: state.config().min_free(),
        })
    }

    /// Whether the journal and its `head` end where the note was left.
    pub fn is_confirmed_by(&self, journal: &Journal) -> bool {
        let Position { seq, offset: length, hash } = self.position.clone();
        self.fold == fold_version()
            && journal.length().is_ok_and(|now| now == length)
            && journal.head().is_ok_and(|head| head == Head::At(Acknowledged { seq, length, hash }))
            && journal.matches(&self.position).is_ok_and(|matches| matches)
    }

    pub(super) fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(dir.join(FILE)).ok()?).ok()
    }

    pub(super) fn write(&self, dir: &Path) {
        let new = dir.join(format!("{FILE}.new"));
        let write = || {
            let mut file = disk::open_or_create(&new).ok()?;
            file.set_len(0).ok()?;
            file.write_all(&serde_json::to_vec(self).ok()?).ok()?;
            std::fs::rename(&new, dir.join(FILE)).ok()
        };
        let _ = write();
    }
}

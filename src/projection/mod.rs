//! `projection.sqlite`: a cache. Nothing here is needed for correctness: when it does not match
//! the journal it is thrown away, and failing to update it is never an error.

mod rest;

pub use rest::Rest;

use crate::domain::ids::IssueId;
use crate::domain::state::{Settled, State};
use crate::journal::{Journal, Position, disk};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SQL: &str = include_str!("../../migrations/projection/1.sql");
const FILE: &str = "projection.sqlite";

/// Bumped whenever `apply` changes what an event amounts to.
const FOLD: &str = "7";

/// What is remembered beside the journal, to be quicker; nothing of it is needed.
pub trait Cache {
    /// The newest folded state that the journal confirms.
    fn load(&self, journal: &Journal) -> Option<(State, Position)>;
    /// Remembers a folded state, if it is newer; best effort.
    fn save(&self, state: &State, position: &Position);
    /// What is remembered of an issue that left the working state.
    fn settled(&self, issue: &IssueId) -> Option<Settled>;
    /// The note of the last tick that found nothing to do; nothing has confirmed it yet.
    fn rest(&self) -> Option<Rest>;
    /// Leaves that note in one step; best effort. Only who holds `tick.lock` does so.
    fn note_rest(&self, rest: &Rest);
}

/// The projection of one state directory.
pub struct Projection {
    dir: PathBuf,
    path: PathBuf,
}

fn fold_version() -> String {
    format!("{FOLD} {} {}", env!("CARGO_PKG_VERSION"), crate::domain::event::SCHEMA_DIGEST.trim())
}

impl Projection {
    /// Of this state directory; nothing is opened yet.
    pub fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), path: dir.join(FILE) }
    }

    fn open(&self, write: bool) -> Option<Connection> {
        let flags = if write {
            drop(disk::open_or_create(&self.path).ok()?); // SQLite would make it readable to all
            OpenFlags::SQLITE_OPEN_READ_WRITE
        } else {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        };
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).ok()?;
        connection.busy_timeout(Duration::from_millis(200)).ok()?;
        Some(connection)
    }

    fn try_save(&self, state: &State, position: &Position) -> Option<()> {
        let mut connection = self.open(true)?;
        connection.pragma_update(None, "synchronous", "OFF").ok()?;
        connection.pragma_update(None, "journal_mode", "MEMORY").ok()?;
        connection.execute_batch(SQL).ok()?;
        let transaction = connection.transaction().ok()?;
        let journal = state.journal.as_ref().map(|j| j.journal.to_string()).unwrap_or_default();
        let bytes = serde_json::to_vec(state).ok()?;
        let (seq, offset) =
            (i64::try_from(position.seq).ok()?, i64::try_from(position.offset).ok()?);
        transaction
            .execute(
                "INSERT INTO checkpoint VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (id) DO UPDATE SET journal = ?1, seq = ?2, hash = ?3, offset = ?4,
                 fold_version = ?5, state = ?6
                 WHERE journal <> ?1 OR fold_version <> ?5 OR seq < ?2 OR hash <> ?3",
                params![journal, seq, position.hash, offset, fold_version(), bytes],
            )
            .ok()?;
        for (issue, settled) in state.settled.iter() {
            transaction
                .execute(
                    "INSERT OR REPLACE INTO settled VALUES (?1, ?2, ?3, ?4)",
                    params![
                        issue.as_str(),
                        settled.generation,
                        settled.runs,
                        settled.outcome.name()
                    ],
                )
                .ok()?;
        }
        transaction.commit().ok()
    }
}

impl Cache for Projection {
    fn load(&self, journal: &Journal) -> Option<(State, Position)> {
        let connection = self.open(false)?;
        let mut query = connection
            .prepare("SELECT seq, hash, offset, state FROM checkpoint WHERE fold_version = ?1")
            .ok()?;
        let (position, bytes) = query
            .query_row(params![fold_version()], |row| {
                let seq: i64 = row.get(0)?;
                let offset: i64 = row.get(2)?;
                let position = Position {
                    seq: seq.unsigned_abs(),
                    offset: offset.unsigned_abs(),
                    hash: row.get(1)?,
                };
                Ok((position, row.get::<_, Vec<u8>>(3)?))
            })
            .ok()?;
        if !journal.matches(&position).ok()? {
            return None;
        }
        let state: State = serde_json::from_slice(&bytes).ok()?;
        (state.head.seq == position.seq && state.head.hash == position.hash)
            .then_some((state, position))
    }

    fn save(&self, state: &State, position: &Position) {
        if self.try_save(state, position).is_none() {
            // a damaged cache is worth nothing: the next save makes a new one
            let damaged = self.open(false).is_none_or(|connection| {
                connection.query_row("SELECT count(*) FROM checkpoint", [], |_| Ok(())).is_err()
            });
            if damaged {
                let _ = std::fs::remove_file(&self.path);
                let _ = self.try_save(state, position);
            }
        }
    }

    fn settled(&self, issue: &IssueId) -> Option<Settled> {
        let connection = self.open(false)?;
        let row = connection
            .query_row(
                "SELECT generation, runs, outcome FROM settled WHERE issue = ?1",
                params![issue.as_str()],
                |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)),
            )
            .optional()
            .ok()??;
        let outcome = serde_json::from_value(serde_json::Value::String(row.2)).ok()?;
        Some(Settled { generation: row.0, runs: row.1, outcome })
    }

    fn rest(&self) -> Option<Rest> {
        Rest::read(&self.dir)
    }

    fn note_rest(&self, rest: &Rest) {
        rest.write(&self.dir);
    }
}

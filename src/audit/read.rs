//! Reads a journal for [`super::invariants`]: everything up to where it cannot be read.

use super::invariants::{Audit, Finding};
use crate::domain::event::{Entry, VERSION};
use crate::journal::scan::{self, Rest, Stopped};
use crate::journal::{Journal, JournalError, Position, open_if_there};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What an audit found.
#[derive(Debug)]
pub struct Audited {
    /// How many entries were read.
    pub entries: u64,
    /// What was found in them.
    pub findings: Vec<Finding>,
    /// How many bytes follow the last of them that are of a write which never finished.
    pub rest: u64,
    /// Why the rest cannot be read.
    pub damage: Option<JournalError>,
}

impl Audited {
    /// The document of `--json`.
    pub fn document(&self) -> Value {
        serde_json::json!({ "schema": "sched.audit/v1", "findings": self.findings })
    }
}

/// Audits the journal of a state directory.
///
/// # Errors
/// [`JournalError`] when there is none, or it is no file that could be one.
pub fn state_dir(dir: &Path) -> Result<Audited, JournalError> {
    whole(&Journal::open(dir)?)
}

/// Audits files, one after the other as one journal.
///
/// # Errors
/// [`JournalError`] when one of them is no file that could be a journal.
pub fn files(paths: &[PathBuf]) -> Result<Audited, JournalError> {
    match paths {
        [path] => whole(&Journal::open_file(path)?),
        paths => parts(paths),
    }
}

fn whole(journal: &Journal) -> Result<Audited, JournalError> {
    let mut reader = Reader::default();
    let read = journal.show(&Position::start(), |entry, _, _| {
        reader.take(entry);
        Ok(())
    });
    match read {
        Ok(end) => {
            let rest = journal.length()?.saturating_sub(end.offset);
            Ok(Audited { rest, ..reader.end(None) })
        }
        Err(damage) => Ok(reader.end(Some(damage))),
    }
}

fn parts(paths: &[PathBuf]) -> Result<Audited, JournalError> {
    let mut reader = Reader::default();
    let mut position = Position::start();
    let mut rest = 0;
    for path in paths {
        let Some(file) = open_if_there(path)? else {
            Journal::open_file(path)?; // which says why not
            continue;
        };
        position.offset = 0;
        let end = scan::scan(&file, &position, |entry, _, _| {
            reader.take(entry);
            Ok::<(), std::convert::Infallible>(())
        });
        let end = end.map_err(|Stopped::Io(source)| JournalError::Io {
            action: "read",
            path: path.clone(),
            source,
        })?;
        position = end.position;
        rest = match end.rest {
            Rest::Torn { bytes } => bytes,
            _ => 0,
        };
        if let Some(damage) = damage(path, &position, end.rest) {
            return Ok(reader.end(Some(damage)));
        }
    }
    Ok(Audited { rest, ..reader.end(None) })
}

fn damage(path: &Path, position: &Position, rest: Rest) -> Option<JournalError> {
    let (path, seq, offset) = (path.to_owned(), position.seq + 1, position.offset);
    match rest {
        Rest::Nothing | Rest::NoNewline | Rest::Torn { .. } => None,
        Rest::Newer { version } => {
            Some(JournalError::TooNew { path, seq, version, known: VERSION })
        }
        Rest::Corrupt { expected, found } => {
            Some(JournalError::Corrupt { path, offset, seq, expected, found })
        }
    }
}

#[derive(Default)]
struct Reader {
    audit: Audit,
    entries: u64,
}

impl Reader {
    fn take(&mut self, entry: &Entry) {
        self.audit.entry(entry);
        self.entries += 1;
    }

    fn end(self, damage: Option<JournalError>) -> Audited {
        Audited { entries: self.entries, findings: self.audit.finish(), rest: 0, damage }
    }
}

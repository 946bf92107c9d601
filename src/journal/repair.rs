//! `journal repair --from-seq N`: gives up everything from one entry on, on an operator's word.
//! The bytes go to quarantine; nothing is deleted.

use super::append::keep;
use super::disk;
use super::error::JournalError;
use super::head::{self, Acknowledged, Head};
use super::lock::FileLock;
use super::open::{Journal, Position};
use super::scan::Rest;
use super::{HEAD, LOCK, place};
use crate::domain::event::VERSION;
use std::path::Path;
use std::time::Duration;

/// What a repair cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Where the journal ends now.
    pub position: Position,
    /// How many bytes went to quarantine.
    pub bytes: u64,
    /// Their SHA-256.
    pub sha256: String,
    /// The text that was cut, at most 8 MiB of it, to find out which units it named.
    pub text: String,
}

/// Cuts the journal before entry `from_seq`.
///
/// # Errors
/// [`JournalError`]: entries before `from_seq` must be valid, and something must be there to cut.
pub fn cut(dir: &Path, from_seq: u64, holder: &str) -> Result<Cut, JournalError> {
    place::check_writable(dir)?;
    let _lock = FileLock::take(&dir.join(LOCK), Duration::from_secs(10), holder)?;
    let journal = Journal::open(dir)?;
    let mut position = Position::start();
    let end = journal.scan(&Position::start(), |_, at, _| {
        if at.seq < from_seq {
            position = at.clone();
        }
        Ok(())
    })?;
    if let Rest::Newer { version } = end.rest {
        let (path, seq) = (journal.path().to_owned(), end.position.seq + 1);
        return Err(JournalError::TooNew { path, seq, version, known: VERSION });
    }
    if position.seq + 1 != from_seq {
        return Err(JournalError::Corrupt {
            path: journal.path().to_owned(),
            offset: position.offset,
            seq: position.seq + 1,
            expected: format!("valid entries up to {}", from_seq.saturating_sub(1)),
            found: format!("{} of them: repair from there", position.seq),
        });
    }
    let bytes = journal.length()?.saturating_sub(position.offset);
    if bytes == 0 && journal.head()? == Head::At(acknowledged(&position)) {
        return Err(JournalError::Corrupt {
            path: journal.path().to_owned(),
            offset: position.offset,
            seq: from_seq,
            expected: "something to cut".into(),
            found: "the sound end of the journal".into(),
        });
    }
    let cut = disk::read_range(journal.file(), position.offset, 8 << 20)
        .map_err(|e| journal.io("read", e))?;
    let sha256 = keep(&journal, position.offset)?;
    let path = journal.path().to_owned();
    let io = |action, source| JournalError::Io { action, path: path.clone(), source };
    let file = disk::open(journal.path(), true).map_err(|e| io("open", e))?;
    disk::DiskFile::truncate(&file, position.offset).map_err(|e| io("truncate", e))?;
    disk::DiskFile::sync(&file).map_err(|e| io("sync", e))?;
    let head = disk::open_or_create(&dir.join(HEAD)).map_err(|e| io("open the head of", e))?;
    head::reset(&head, &acknowledged(&position)).map_err(|e| io("set", e))?;
    let text = String::from_utf8_lossy(&cut).into_owned();
    Ok(Cut { position, bytes, sha256, text })
}

fn acknowledged(position: &Position) -> Acknowledged {
    let Position { seq, offset: length, hash } = position.clone();
    Acknowledged { seq, length, hash }
}

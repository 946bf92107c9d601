//! `journal repair --from-seq N`: gives up everything from one entry on, on an operator's word.
//!
//! What is given up goes to quarantine first; nothing is deleted. Then the entry that says so is
//! written in its place, so that no journal exists which was cut and does not say it.
//!
//! Crash story: before the entry is whole, the journal is as damaged as it was and the same
//! repair is done again, with what the quarantine has; after that, what is left behind the entry
//! is damage that a further repair gives up; before `head` is set, `head` still names what was
//! given up, and the next repair sets it.

use super::append::keep;
use super::disk::{self, DiskFile};
use super::error::JournalError;
use super::head::{self, Acknowledged, Head};
use super::line;
use super::lock::FileLock;
use super::open::{Journal, Position};
use super::scan::Rest;
use super::{HEAD, LOCK, QUARANTINE, place};
use crate::domain::event::{By, Entry, Event, VERSION};
use crate::domain::time::Timestamp;
use std::path::Path;
use std::time::Duration;
use uuid::Uuid;

/// How much of each quarantined text is searched for the units it named.
const SEARCHED: usize = 8 << 20;

/// A repair that has been begun: the lock is held, and what will be given up is in quarantine.
pub struct Repair {
    /// Behind the last entry that stays.
    pub position: Position,
    /// How many bytes are given up.
    pub bytes: u64,
    /// Their SHA-256.
    pub sha256: String,
    /// What was given up here, now and by repairs that did not end, to find out which units it
    /// named.
    pub text: String,
    /// Whether more was acknowledged than that text holds.
    pub missing: bool,
    journal: Journal,
    _lock: FileLock,
}

impl Repair {
    /// Takes the lock, hands over every entry that stays, and copies the rest to quarantine.
    ///
    /// # Errors
    /// [`JournalError`]: entries before `from_seq` must be valid, and something must be there to
    /// give up.
    pub fn begin(
        dir: &Path,
        from_seq: u64,
        holder: &str,
        mut each: impl FnMut(&Entry, &Position) -> Result<(), JournalError>,
    ) -> Result<Self, JournalError> {
        place::check_writable(dir)?;
        let lock = FileLock::take(&dir.join(LOCK), Duration::from_secs(10), holder)?;
        let journal = Journal::open(dir)?;
        let mut position = Position::start();
        let end = journal.scan(&Position::start(), |entry, at, _| {
            if at.seq >= from_seq {
                return Ok(());
            }
            position = at.clone();
            each(entry, at)
        })?;
        let path = journal.path().to_owned();
        if let Rest::Newer { version } = end.rest {
            let seq = end.position.seq + 1;
            return Err(JournalError::TooNew { path, seq, version, known: VERSION });
        }
        if position.seq + 1 != from_seq {
            let expected = format!("valid entries up to {}", from_seq.saturating_sub(1));
            let found = format!("{} of them: repair from there", position.seq);
            return Err(no_place(&journal, &position, position.seq + 1, expected, found));
        }
        let bytes = journal.length()?.saturating_sub(position.offset);
        if bytes == 0 && journal.head()? == Head::At(acknowledged(&position)) {
            let found = "the sound end of the journal".to_owned();
            return Err(no_place(&journal, &position, from_seq, "something to cut".into(), found));
        }
        let sha256 = keep(&journal, position.offset)?;
        let text = quarantined(dir, position.offset)?;
        let lines = text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        let missing = match journal.head()? {
            Head::At(acknowledged) => acknowledged.seq > position.seq + lines,
            Head::Unreadable => true,
            Head::Absent => false,
        };
        crate::crash::point("repair-kept");
        Ok(Self { position, bytes, sha256, text, missing, journal, _lock: lock })
    }

    /// Writes the entry that says what was given up in its place, cuts what is behind it, and
    /// sets `head`.
    ///
    /// # Errors
    /// [`JournalError`]: the journal is damaged still, and can be repaired again.
    pub fn finish(
        self,
        by: By,
        clock: Timestamp,
        not_before: Timestamp,
        id: Uuid,
        events: Vec<Event>,
    ) -> Result<(), JournalError> {
        let at = clock.max(not_before);
        let wall = (at != clock).then_some(clock);
        let seq = self.position.seq + 1;
        let entry = Entry { v: VERSION, seq, at, wall, id, by, events };
        let (line, hash) = line::encode(&entry, &self.position.hash).map_err(|over| {
            JournalError::TooLarge { what: over.what, bytes: over.bytes, limit: over.limit }
        })?;
        let path = self.journal.path().to_owned();
        let io = |action, source| JournalError::Io { action, path: path.clone(), source };
        let file = disk::open(&path, true).map_err(|e| io("open", e))?;
        let offset = self.position.offset + line.len() as u64;
        disk::write_all(&file, &line, self.position.offset).map_err(|e| io("write", e))?;
        crate::crash::point("repair-written");
        file.truncate(offset).map_err(|e| io("truncate", e))?;
        DiskFile::sync(&file).map_err(|e| io("sync", e))?;
        crate::crash::point("repair-cut");
        let head = self.journal.dir().join(HEAD);
        let head = disk::open_or_create(&head).map_err(|e| io("open the head of", e))?;
        let end = acknowledged(&Position { seq, offset, hash });
        head::reset(&head, &end).map_err(|e| io("set the head of", e))
    }
}

fn no_place(
    journal: &Journal,
    position: &Position,
    seq: u64,
    expected: String,
    found: String,
) -> JournalError {
    let (path, offset) = (journal.path().to_owned(), position.offset);
    JournalError::Corrupt { path, offset, seq, expected, found }
}

fn acknowledged(position: &Position) -> Acknowledged {
    let Position { seq, offset: length, hash } = position.clone();
    Acknowledged { seq, length, hash }
}

/// Everything that was ever put into quarantine from one place of the journal.
fn quarantined(dir: &Path, offset: u64) -> Result<String, JournalError> {
    let dir = dir.join(QUARANTINE);
    let failed = |source| JournalError::Io { action: "read", path: dir.clone(), source };
    let mut names: Vec<_> = std::fs::read_dir(&dir)
        .and_then(|entries| entries.map(|e| e.map(|e| e.file_name())).collect::<Result<_, _>>())
        .map_err(failed)?;
    names.sort();
    let mut text = String::new();
    let here = format!("{offset}-");
    for name in names.iter().filter(|name| name.to_string_lossy().starts_with(&here)) {
        let file = disk::open(&dir.join(name), false).map_err(failed)?;
        let bytes = disk::read_range(&file, 0, SEARCHED).map_err(failed)?;
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    Ok(text)
}

//! The commit protocol: lock, catch up, make sure of what is in doubt, append, sync, acknowledge.

use super::disk;
use super::error::JournalError;
use super::files::{Access, Directory, Files, Held};
use super::head::{self, Acknowledged, Head};
use super::line;
use super::open::{Journal, Position};
use super::scan::Rest;
use super::{ACTIVE, HEAD, LOCK, QUARANTINE};
use crate::crash;
use crate::domain::event::{By, Entry, Event, HeadUnreadable, TailQuarantined, VERSION};
use crate::domain::time::Timestamp;
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// An entry that is durable and acknowledged.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The position behind it.
    pub position: Position,
    /// What was written.
    pub entry: Entry,
}

/// A journal that this process may append to, until it is dropped.
pub struct Locked {
    journal: Journal,
    _lock: Box<dyn Held>,
    end: Option<Position>,
    notices: Vec<Event>,
    poisoned: bool,
}

impl Locked {
    pub(super) fn new(journal: Journal, lock: Box<dyn Held>) -> Self {
        Self { journal, _lock: lock, end: None, notices: Vec::new(), poisoned: false }
    }

    /// Reads what came after `from`, refuses what is damaged, and makes sure of the end: a tail
    /// that was never finished goes to quarantine, a missing newline is written, and entries in
    /// doubt are written again and synced. Nothing is built on, and nothing paid from, a tail
    /// that was only seen in the cache.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn catch_up(
        &mut self,
        from: &Position,
        each: impl FnMut(&Entry, &Position, &[u8]) -> Result<(), JournalError>,
    ) -> Result<Position, JournalError> {
        self.end = None;
        let (end, head) = self.journal.follow(from, each)?;
        let mut position = end.position;
        match end.rest {
            Rest::Torn { bytes } => self.quarantine(position.offset, bytes)?,
            Rest::NoNewline => {
                self.write(b"\n", position.offset)?;
                position.offset += 1;
                self.sync()?;
            }
            _ => {}
        }
        self.settle_doubt(&head, &position)?;
        self.end = Some(position.clone());
        Ok(position)
    }

    /// What has to be said in the next entry about what was found.
    pub fn notices(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.notices)
    }

    /// Appends one entry and makes it durable. `at` is never before `not_before`, the previous
    /// entry's; when the clock is behind, it repeats that and `wall` holds what the clock said.
    ///
    /// # Errors
    /// [`JournalError`]; then nothing was appended, or (poisoned) this process must stop.
    pub fn commit(
        &mut self,
        by: By,
        clock: Timestamp,
        not_before: Timestamp,
        id: Uuid,
        events: Vec<Event>,
    ) -> Result<Committed, JournalError> {
        let Some(end) = self.end.clone().filter(|_| !self.poisoned) else {
            panic!("BUG: a commit without catching up, or after a failed sync");
        };
        let at = clock.max(not_before);
        let wall = (at != clock).then_some(clock);
        let entry = Entry { v: VERSION, seq: end.seq + 1, at, wall, id, by, events };
        let (line, hash) = line::encode(&entry, &end.hash).map_err(|over| {
            JournalError::TooLarge { what: over.what, bytes: over.bytes, limit: over.limit }
        })?;
        self.append(&line, &end)?;
        let offset = end.offset + line.len() as u64;
        let position = Position { seq: entry.seq, offset, hash };
        self.acknowledge(&position);
        self.journal.file().reserve(offset);
        self.end = Some(position.clone());
        Ok(Committed { position, entry })
    }

    /// One write of the whole line, then a sync. An append that failed leaves nothing behind.
    fn append(&mut self, line: &[u8], end: &Position) -> Result<(), JournalError> {
        let (offset, seq) = (end.offset, end.seq + 1);
        crash::point_inside(line, seq, |part| {
            let _ = disk::write_all(self.journal.file(), part, offset);
        });
        if let Err(source) = disk::write_all(self.journal.file(), line, offset) {
            self.journal.file().truncate(offset).map_err(|e| self.poison(e))?;
            self.journal.file().sync().map_err(|e| self.poison(e))?;
            self.journal.file().reserve(offset); // cutting gave it up
            let path = self.journal.path().to_owned();
            return Err(JournalError::NotAppended { path, source });
        }
        crash::point_at("journal-written", seq);
        self.sync()?;
        crash::point_at("journal-synced", seq);
        Ok(())
    }

    /// `head` may lag, never lead: a failure to write it loses nothing.
    fn acknowledge(&self, position: &Position) {
        let Position { seq, offset: length, hash } = position.clone();
        if let Some(file) = self.journal.head_file() {
            let _ = head::write(file, &Acknowledged { seq, length, hash });
        }
        crash::point_at("journal-acknowledged", position.seq);
    }

    /// Entries behind what `head` says are in doubt: their writer was killed, or its sync failed
    /// and the cache shows bytes that the disk does not have. They count once they are written
    /// again and synced.
    fn settle_doubt(&mut self, head: &Head, end: &Position) -> Result<(), JournalError> {
        let from = match head {
            Head::At(acknowledged) if acknowledged.length >= end.offset => return Ok(()),
            Head::At(acknowledged) => acknowledged.length,
            Head::Absent if end.seq == 0 => return Ok(()),
            // the first entry's writer may have been killed before it acknowledged anything
            Head::Absent if end.seq == 1 => 0,
            Head::Absent | Head::Unreadable => {
                self.notices.push(HeadUnreadable { entries: end.seq }.into());
                0
            }
        };
        let mut offset = from;
        while offset < end.offset {
            let length = usize::try_from(end.offset - offset).unwrap_or(usize::MAX).min(1 << 20);
            let bytes = disk::read_range(self.journal.file(), offset, length)
                .map_err(|e| self.journal.io("read", e))?;
            if bytes.is_empty() {
                break;
            }
            self.write(&bytes, offset)?;
            offset += bytes.len() as u64;
        }
        self.sync()?;
        self.acknowledge(end);
        Ok(())
    }

    /// Copies a tail to quarantine, syncs, truncates, syncs.
    fn quarantine(&mut self, offset: u64, bytes: u64) -> Result<(), JournalError> {
        let sha256 = keep(&self.journal, offset)?;
        self.journal.file().truncate(offset).map_err(|e| self.poison(e))?;
        self.sync()?;
        self.notices.push(TailQuarantined { offset, bytes, sha256 }.into());
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), JournalError> {
        disk::write_all(self.journal.file(), bytes, offset).map_err(|source| {
            JournalError::NotAppended { path: self.journal.path().to_owned(), source }
        })
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        let done = self.journal.file().sync();
        done.map_err(|source| self.poison(source))
    }

    fn poison(&mut self, source: io::Error) -> JournalError {
        self.poisoned = true;
        JournalError::Poisoned { path: self.journal.path().to_owned(), source }
    }

    /// The journal that is locked.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Makes place for the first entry of a new journal: the file, its directory, its head. What
    /// is left of one that was killed while it wrote its first entry, which nobody acted on, goes
    /// to quarantine.
    ///
    /// # Errors
    /// [`JournalError::Exists`] when there is one already, or what makes writing impossible.
    pub fn create(dir: &Path, holder: &str) -> Result<Locked, JournalError> {
        Self::create_in(Arc::new(Directory::new(dir)), holder)
    }

    /// Like [`Locked::create`], whatever stands behind the state directory.
    ///
    /// # Errors
    /// As [`Locked::create`].
    pub fn create_in(files: Arc<dyn Files>, holder: &str) -> Result<Locked, JournalError> {
        files.check_writable()?;
        let lock = files.lock(LOCK, Duration::from_secs(10), holder)?;
        let path = files.dir().join(ACTIVE);
        let io = |action, source| JournalError::Io { action, path: path.clone(), source };
        let exists = || JournalError::Exists { dir: files.dir().to_owned() };
        drop(files.open(ACTIVE, Access::Read)?); // refuses what is no ordinary file
        if let Some(head) = files.open(HEAD, Access::Read)?
            && head.len().map_err(|e| io("look at the head of", e))? > 0
        {
            return Err(exists());
        }
        let file = files.open(ACTIVE, Access::Make)?;
        let head = files.open(HEAD, Access::Make)?;
        drop((file, head));
        files.sync_dir("").map_err(|e| io("sync the directory of", e))?;
        let journal = Journal::open_in(Arc::clone(&files))?;
        drop(lock);
        let mut locked = journal.lock(Duration::from_secs(10), holder)?;
        locked.catch_up(&Position::start(), |_, _, _| Err(exists()))?;
        Ok(locked)
    }
}

/// Copies everything from `offset` on into `quarantine/`, durably. Returns its SHA-256, which names
/// the copy: whoever was killed on the way, or found no room, leaves nothing but what the next one
/// needs.
pub(super) fn keep(journal: &Journal, offset: u64) -> Result<String, JournalError> {
    let files = journal.files();
    let failed = |action, name: &str, source| JournalError::Io {
        action,
        path: files.dir().join(name),
        source,
    };
    let length = journal.length()?;
    let mut digest = Sha256::new();
    each_block(journal, offset, length, |_, bytes| {
        digest.update(bytes);
        Ok(())
    })?;
    let sha256 = line::hex(&digest.finalize());
    let name = format!("{QUARANTINE}/{offset}-{}-{}", length - offset, &sha256[..16]);
    files.make_dir(QUARANTINE).map_err(|e| failed("make", QUARANTINE, e))?;
    let copy = files.open(&name, Access::Make)?;
    let copy = copy.ok_or_else(|| failed("make", &name, io::ErrorKind::NotFound.into()))?;
    each_block(journal, offset, length, |at, bytes| {
        disk::write_all(copy.as_ref(), bytes, at - offset).map_err(|e| failed("write", &name, e))
    })?;
    copy.sync().map_err(|e| failed("sync", &name, e))?;
    files.sync_dir(QUARANTINE).map_err(|e| failed("sync", QUARANTINE, e))?;
    files.sync_dir("").map_err(|source| JournalError::Io {
        action: "sync",
        path: files.dir().to_owned(),
        source,
    })?;
    Ok(sha256)
}

fn each_block(
    journal: &Journal,
    offset: u64,
    length: u64,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let mut at = offset;
    while at < length {
        let size = usize::try_from(length - at).unwrap_or(usize::MAX).min(1 << 20);
        let bytes =
            disk::read_range(journal.file(), at, size).map_err(|e| journal.io("read", e))?;
        if bytes.is_empty() {
            break;
        }
        each(at, &bytes)?;
        at += bytes.len() as u64;
    }
    Ok(())
}

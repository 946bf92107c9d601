//! A journal that is read. Reading never writes.

use super::append::Locked;
use super::disk::{self, DiskFile};
use super::error::JournalError;
use super::files::{Access, Directory, Files};
use super::head::{self, Head};
use super::line::GENESIS;
use super::scan::{self, End, Rest, Stopped};
use super::{ACTIVE, HEAD, LOCK, TICK_LOCK};
use crate::domain::event::{Entry, VERSION};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A place between two entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The entry before it; 0 at the beginning.
    pub seq: u64,
    /// Its byte offset in the active file.
    pub offset: u64,
    /// The hash of the entry before it.
    pub hash: String,
}

impl Position {
    /// Before the first entry.
    pub fn start() -> Self {
        Self { seq: 0, offset: 0, hash: GENESIS.to_owned() }
    }
}

/// An open journal.
pub struct Journal {
    files: Arc<dyn Files>,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    head: Option<Box<dyn DiskFile>>,
}

impl Journal {
    /// Opens the journal of a state directory for reading.
    ///
    /// # Errors
    /// [`JournalError`] when there is none, or it is not an ordinary file of ours.
    pub fn open(dir: &Path) -> Result<Self, JournalError> {
        Self::open_in(Arc::new(Directory::new(dir)))
    }

    /// Like [`Journal::open`], whatever stands behind the state directory.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_in(files: Arc<dyn Files>) -> Result<Self, JournalError> {
        let path = files.dir().join(ACTIVE);
        let Some(file) = files.open(ACTIVE, Access::Read)? else {
            return Err(Self::nothing(files.as_ref(), path));
        };
        let head = files.open(HEAD, Access::Read)?;
        Ok(Self { files, path, file, head })
    }

    /// Opens a journal file alone, without a state directory: there is no `head` to compare.
    ///
    /// # Errors
    /// [`JournalError`] when it cannot be opened.
    pub fn open_file(path: &Path) -> Result<Self, JournalError> {
        let file = disk::open(path, false).map_err(|e| unopened(path, e))?;
        ordinary(path, &file)?;
        let dir = path.parent().unwrap_or_else(|| Path::new("."));
        let files = Arc::new(Directory::new(dir));
        Ok(Self { files, path: path.to_owned(), file: Box::new(file), head: None })
    }

    /// The file is not there: never was, or acknowledged history is missing.
    fn nothing(files: &dyn Files, path: PathBuf) -> JournalError {
        let head = match files.open(HEAD, Access::Read) {
            Ok(head) => head,
            Err(error) => return error,
        };
        match head::read(head.as_deref()) {
            Err(source) => {
                JournalError::Io { action: "read", path: files.dir().join(HEAD), source }
            }
            Ok(Head::At(acknowledged)) => JournalError::Truncated {
                path,
                offset: 0,
                seq: 0,
                found: "no file".into(),
                acknowledged: acknowledged.seq,
                expected: acknowledged.hash,
            },
            Ok(Head::Unreadable) => missing_all(path, "no file"),
            Ok(Head::Absent) => JournalError::Missing { dir: files.dir().to_owned() },
        }
    }

    /// The state directory.
    pub fn dir(&self) -> &Path {
        self.files.dir()
    }

    /// What stands behind the state directory.
    pub fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    /// The active file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The active file's length now: cheap, to find out whether it has grown.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn length(&self) -> Result<u64, JournalError> {
        self.file.len().map_err(|source| self.io("look at", source))
    }

    /// What has been acknowledged.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn head(&self) -> Result<Head, JournalError> {
        head::read(self.head.as_deref()).map_err(|source| self.io("read the head of", source))
    }

    /// Whether the line that ends at a position is the one with that hash.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn matches(&self, position: &Position) -> Result<bool, JournalError> {
        line_hash(self.file.as_ref(), position)
            .map(|hash| hash.as_deref() == Some(position.hash.as_str()))
            .map_err(|source| self.io("read", source))
    }

    /// Reads every entry after a position. What cannot be read stops it: a torn tail silently,
    /// damage with an error, after everything before it was handed over.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn read(
        &self,
        from: &Position,
        each: impl FnMut(&Entry, &Position, &[u8]) -> Result<(), JournalError>,
    ) -> Result<Position, JournalError> {
        self.follow(from, each).map(|(end, _)| end.position)
    }

    /// Like [`Journal::read`], for who only shows what is there: what had been acknowledged is
    /// compared at the end, so that everything before the damage is handed over first.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn show(
        &self,
        from: &Position,
        each: impl FnMut(&Entry, &Position, &[u8]) -> Result<(), JournalError>,
    ) -> Result<Position, JournalError> {
        let head = self.head()?;
        let acknowledged = self.check_acknowledged(&head);
        let read = self.follow_from(from, &head, each);
        acknowledged.and(read).map(|end| end.position)
    }

    /// Reads every entry after a position, and refuses every end that is damage. `from` itself
    /// must still be there: who read an entry in doubt may find another one in its place.
    pub(super) fn follow(
        &self,
        from: &Position,
        each: impl FnMut(&Entry, &Position, &[u8]) -> Result<(), JournalError>,
    ) -> Result<(End, Head), JournalError> {
        let head = self.head()?;
        self.check_acknowledged(&head)?;
        let end = self.follow_from(from, &head, each)?;
        Ok((end, head))
    }

    fn follow_from(
        &self,
        from: &Position,
        head: &Head,
        mut each: impl FnMut(&Entry, &Position, &[u8]) -> Result<(), JournalError>,
    ) -> Result<End, JournalError> {
        if !self.matches(from)? {
            let end = self.scan(&Position::start(), |_, _, _| Ok(()))?;
            self.check_end(&end, head)?;
            return Err(self.rewritten(from)?);
        }
        let end = self.scan(from, |entry, at, line| {
            if let Head::At(known) = head
                && known.seq == at.seq
                && known.hash != at.hash
            {
                return Err(JournalError::Rewritten {
                    path: self.path.clone(),
                    offset: at.offset,
                    seq: at.seq,
                    expected: known.hash.clone(),
                    found: at.hash.clone(),
                });
            }
            each(entry, at, line)
        })?;
        self.check_end(&end, head)?;
        Ok(end)
    }

    pub(super) fn scan(
        &self,
        from: &Position,
        each: impl FnMut(&Entry, &Position, &[u8]) -> Result<(), JournalError>,
    ) -> Result<End, JournalError> {
        scan::scan(self.file.as_ref(), from, each).map_err(|stopped| match stopped {
            Stopped::Io(source) => self.io("read", source),
            Stopped::Refused(error) => error,
        })
    }

    /// The acknowledged entry must still be the one that ends there.
    pub(super) fn check_acknowledged(&self, head: &Head) -> Result<(), JournalError> {
        let Head::At(acknowledged) = head else { return Ok(()) };
        let position = Position {
            seq: acknowledged.seq,
            offset: acknowledged.length,
            hash: acknowledged.hash.clone(),
        };
        let length = self.length()?;
        if length < acknowledged.length || self.matches(&position)? {
            return Ok(()); // shorter: said at the end, with what is there
        }
        // a newer program may end its lines in another way: that is no damage
        let end = self.scan(&Position::start(), |_, _, _| Ok(()))?;
        if matches!(end.rest, Rest::Newer { .. }) {
            return self.check_end(&end, head);
        }
        Err(self.rewritten(&position)?)
    }

    fn rewritten(&self, known: &Position) -> Result<JournalError, JournalError> {
        let found = line_hash(self.file.as_ref(), known)
            .map_err(|source| self.io("read", source))?
            .unwrap_or_else(|| "no entry that ends there".into());
        Ok(JournalError::Rewritten {
            path: self.path.clone(),
            offset: known.offset,
            seq: known.seq,
            expected: known.hash.clone(),
            found,
        })
    }

    /// Refuses every end that is damage.
    pub(super) fn check_end(&self, end: &End, head: &Head) -> Result<(), JournalError> {
        let path = self.path.clone();
        let Position { seq, offset, hash } = end.position.clone();
        let empty = seq == 0 && matches!(end.rest, Rest::Nothing | Rest::Torn { .. });
        if empty && *head == Head::Unreadable {
            return Err(missing_all(path, &hash)); // `head` was written, so there was an entry
        }
        if let Head::At(acknowledged) = head
            && seq < acknowledged.seq
            && !matches!(end.rest, Rest::Corrupt { .. } | Rest::Newer { .. })
        {
            let expected = acknowledged.hash.clone();
            let acknowledged = acknowledged.seq;
            return Err(JournalError::Truncated {
                path,
                offset,
                seq,
                found: hash,
                acknowledged,
                expected,
            });
        }
        match &end.rest {
            Rest::Nothing | Rest::NoNewline | Rest::Torn { .. } => Ok(()),
            Rest::Newer { version } => {
                let (version, known) = (*version, VERSION);
                Err(JournalError::TooNew { path, seq: seq + 1, version, known })
            }
            Rest::Corrupt { expected, found } => Err(JournalError::Corrupt {
                path,
                offset,
                seq: seq + 1,
                expected: expected.clone(),
                found: found.clone(),
            }),
        }
    }

    /// Takes the lock and opens the files for writing.
    ///
    /// # Errors
    /// [`JournalError::Locked`] after `wait`, or what makes writing impossible here.
    pub fn lock(&self, wait: Duration, holder: &str) -> Result<Locked, JournalError> {
        self.files.check_writable()?;
        let lock = self.files.lock(LOCK, wait, holder)?;
        let Some(file) = self.files.open(ACTIVE, Access::Write)? else {
            let source = io::ErrorKind::NotFound.into();
            return Err(self.io("open", source));
        };
        let head = self.files.open(HEAD, Access::Make)?;
        let files = Arc::clone(&self.files);
        Ok(Locked::new(Journal { files, path: self.path.clone(), file, head }, lock))
    }

    /// Whether a writer could open what it needs; takes no lock and changes nothing.
    ///
    /// # Errors
    /// What a writer would be refused with.
    pub fn check_writable(&self) -> Result<(), JournalError> {
        self.files.check_writable()?;
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::access(self.dir(), access).map_err(|error| JournalError::Io {
            action: "write in",
            path: self.dir().to_owned(),
            source: error.into(),
        })?;
        self.files.open(ACTIVE, Access::Write)?;
        for name in [HEAD, LOCK, TICK_LOCK] {
            let path = self.dir().join(name);
            if open_if_there(&path)?.is_some() {
                disk::open(&path, true).map_err(|error| unopened(&path, error))?;
            }
        }
        Ok(())
    }

    pub(super) fn file(&self) -> &dyn DiskFile {
        self.file.as_ref()
    }

    pub(super) fn head_file(&self) -> Option<&dyn DiskFile> {
        self.head.as_deref()
    }

    pub(super) fn io(&self, action: &'static str, source: io::Error) -> JournalError {
        JournalError::Io { action, path: self.path.clone(), source }
    }
}

/// The hash that the line ending at a position claims.
fn line_hash(file: &dyn DiskFile, position: &Position) -> io::Result<Option<String>> {
    const TAIL: usize = 67; // 64 digits, `"}` and the newline
    if position.seq == 0 {
        return Ok(Some(GENESIS.to_owned()));
    }
    let Some(start) = position.offset.checked_sub(TAIL as u64) else { return Ok(None) };
    let bytes = disk::read_range(file, start, TAIL)?;
    if bytes.len() == TAIL && !bytes.ends_with(b"\"}\n") {
        // the last line may lack its newline: then it is one byte shorter
        let bytes = disk::read_range(file, start + 1, TAIL - 1)?;
        let whole = bytes.ends_with(b"\"}");
        return Ok(whole.then(|| String::from_utf8_lossy(&bytes[..64]).into_owned()));
    }
    let whole = bytes.len() == TAIL;
    Ok(whole.then(|| String::from_utf8_lossy(&bytes[..64]).into_owned()))
}

/// Nothing is left, although something had been acknowledged: only what is unknown.
fn missing_all(path: PathBuf, found: &str) -> JournalError {
    JournalError::Truncated {
        path,
        offset: 0,
        seq: 0,
        found: found.to_owned(),
        acknowledged: 1,
        expected: "and more: `head` is unreadable".into(),
    }
}

/// Opens an ordinary file of ours for reading; `None` when there is none.
///
/// # Errors
/// [`JournalError::NotOurs`], or [`JournalError::Io`].
pub fn open_if_there(path: &Path) -> Result<Option<File>, JournalError> {
    match disk::open(path, false) {
        Ok(file) => ordinary(path, &file).map(|()| Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(unopened(path, source)),
    }
}

pub(super) fn open_to_write(path: &Path) -> Result<Option<File>, JournalError> {
    // its attributes are the reason why it cannot be opened for writing, so they come first
    let Some(file) = open_if_there(path)? else { return Ok(None) };
    not_append_only(path, &file)?;
    let file = disk::open(path, true).map_err(|e| unopened(path, e))?;
    ordinary(path, &file)?;
    Ok(Some(file))
}

pub(super) fn unopened(path: &Path, source: io::Error) -> JournalError {
    let link = rustix::io::Errno::LOOP.raw_os_error();
    if source.raw_os_error() == Some(link) {
        let found = "a symbolic link".to_owned();
        return JournalError::NotOurs { path: path.to_owned(), found, expected: "a regular file" };
    }
    if source.kind() == io::ErrorKind::IsADirectory {
        let found = "a directory".to_owned();
        return JournalError::NotOurs { path: path.to_owned(), found, expected: "a regular file" };
    }
    JournalError::Io { action: "open", path: path.to_owned(), source }
}

pub(super) fn ordinary(path: &Path, file: &File) -> Result<(), JournalError> {
    let meta = file.metadata().map_err(|source| JournalError::Io {
        action: "look at",
        path: path.to_owned(),
        source,
    })?;
    if !meta.is_file() {
        let found = kind_of(meta.file_type()).to_owned();
        return Err(JournalError::NotOurs {
            path: path.to_owned(),
            found,
            expected: "a regular file",
        });
    }
    let us = rustix::process::geteuid();
    if !us.is_root() && meta.uid() != us.as_raw() {
        let found = format!("owned by user {}", meta.uid());
        return Err(JournalError::NotOurs { path: path.to_owned(), found, expected: "our own" });
    }
    Ok(())
}

fn kind_of(kind: std::fs::FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn not_append_only(path: &Path, file: &File) -> Result<(), JournalError> {
    use rustix::fs::IFlags;
    let flags = rustix::fs::ioctl_getflags(file).unwrap_or(IFlags::empty());
    if flags.intersects(IFlags::APPEND | IFlags::IMMUTABLE) {
        let found = "append-only or immutable (chattr)".to_owned();
        return Err(JournalError::NotOurs { path: path.to_owned(), found, expected: "writable" });
    }
    Ok(())
}

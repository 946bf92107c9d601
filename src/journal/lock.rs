//! Advisory locks. The text in a lock file names its holder, for messages only; the file is
//! never unlinked.

use super::disk;
use super::error::JournalError;
use super::files::Held;
use super::open::{ordinary, unopened};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a lock that is held is tried again.
const AGAIN: Duration = Duration::from_millis(2);

/// How many bytes name the holder.
const SIGNATURE: usize = 96;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes a lock exclusively, waiting for at most `wait`.
    ///
    /// # Errors
    /// [`JournalError::Locked`] naming the holder, or [`JournalError::Io`].
    pub fn take(path: &Path, wait: Duration, holder: &str) -> Result<Self, JournalError> {
        let io = |action| move |source| JournalError::Io { action, path: path.to_owned(), source };
        let begun = Instant::now();
        loop {
            let file = disk::open_or_create(path).map_err(|e| unopened(path, e))?;
            ordinary(path, &file)?;
            if try_lock(&file).map_err(io("lock"))? {
                let here = file.metadata().map_err(io("look at"))?.ino();
                let there = std::fs::metadata(path).map(|meta| meta.ino()).ok();
                if there == Some(here) {
                    let lock = Self { file };
                    lock.sign(holder);
                    return Ok(lock);
                }
                continue; // somebody replaced the file: the path means another one now
            }
            if begun.elapsed() >= wait {
                let holder = Self::held_by(path).unwrap_or_else(|| "another process".into());
                return Err(JournalError::Locked { path: path.to_owned(), holder });
            }
            std::thread::sleep(AGAIN);
        }
    }

    /// What a lock file says of its holder, whether it is held or not.
    pub fn holder(path: &Path) -> Option<String> {
        said(&disk::open(path, false).ok()?)
    }

    /// Who holds a lock: what its file says, unless the kernel knows of somebody else, who took
    /// it without a word. A child of who took it may hold it too, under that one's name.
    pub fn held_by(path: &Path) -> Option<String> {
        let file = disk::open(path, false).ok()?;
        let said = said(&file);
        let Some(pid) = locked_by(&file) else { return said };
        let named = format!("(pid {pid}");
        let is_named = |text: &String| {
            let after = text.split_once(&named).map(|(_, after)| after);
            after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_digit()))
        };
        said.filter(is_named).or_else(|| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let name: String = name.chars().filter(|c| !c.is_control()).collect();
            let name = if name.is_empty() { "another process" } else { &name };
            Some(format!("{name} (pid {pid})"))
        })
    }

    fn sign(&self, holder: &str) {
        // for messages only: a lock whose text cannot be written is held all the same
        let mut line = [b' '; SIGNATURE];
        let text = holder.as_bytes();
        let length = holder.floor_char_boundary(SIGNATURE - 1);
        line[..length].copy_from_slice(&text[..length]);
        line[SIGNATURE - 1] = b'\n';
        let _ = self.file.write_all_at(&line, 0);
    }
}

fn said(file: &File) -> Option<String> {
    let bytes = disk::read_range(file, 0, SIGNATURE).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The process that took the lock on a file, by `/proc/locks` (proc(5)); a process of another
/// namespace has no number here.
fn locked_by(file: &File) -> Option<u32> {
    let meta = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let locked = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words[..] else { return None };
        (place == locked).then(|| pid.parse().ok().filter(|pid| *pid != 0))?
    })
}

/// Whether it was obtained; that it is held by somebody else is no error.
fn try_lock(file: &File) -> io::Result<bool> {
    loop {
        return match fs4::FileExt::try_lock(file) {
            Ok(()) => Ok(true),
            Err(fs4::TryLockError::WouldBlock) => Ok(false),
            Err(fs4::TryLockError::Error(e)) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(fs4::TryLockError::Error(error)) => Err(error),
        };
    }
}

impl Held for FileLock {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }
}

impl AsFd for FileLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

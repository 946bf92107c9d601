//! Advisory locks. The text in a lock file names its holder, for messages only; the file is
//! never unlinked.

use super::disk;
use super::error::JournalError;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a lock that is held is tried again.
const AGAIN: Duration = Duration::from_millis(2);

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
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
            let file = disk::open_or_create(path).map_err(io("open"))?;
            if fs4::FileExt::try_lock(&file).is_ok() {
                let here = file.metadata().map_err(io("look at"))?.ino();
                let there = std::fs::metadata(path).map(|meta| meta.ino()).ok();
                if there == Some(here) {
                    let lock = Self { file, path: path.to_owned() };
                    lock.sign(holder);
                    return Ok(lock);
                }
                continue; // somebody replaced the file: the path means another one now
            }
            if begun.elapsed() >= wait {
                let holder = Self::holder(path).unwrap_or_else(|| "another process".into());
                return Err(JournalError::Locked { path: path.to_owned(), holder });
            }
            std::thread::sleep(AGAIN);
        }
    }

    /// What a lock file says of its holder, whether it is held or not.
    pub fn holder(path: &Path) -> Option<String> {
        let text = std::fs::read_to_string(path).ok()?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    fn sign(&self, holder: &str) {
        // for messages only: a lock whose text cannot be written is held all the same
        let mut line = [b' '; 96];
        let text = holder.as_bytes();
        let length = text.len().min(line.len() - 1);
        line[..length].copy_from_slice(&text[..length]);
        line[95] = b'\n';
        let _ = self.file.write_all_at(&line, 0);
    }

    /// Which file it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for FileLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

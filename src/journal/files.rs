//! The port behind the files and locks of a state directory, so that a test can stand in for the
//! whole of it; and the real one.

use super::disk::{self, DiskFile};
use super::error::JournalError;
use super::lock::FileLock;
use super::open::{open_if_there, open_to_write, ordinary, unopened};
use super::place;
use crate::domain::event::Place;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To be read, when it is there.
    Read,
    /// To be read and written, when it is there.
    Write,
    /// To be read and written, made when it is absent.
    Make,
}

/// A lock that is held until it is dropped.
pub trait Held: Send {
    /// What a child that is to hold it too inherits; `None` where there are no children.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// The files and locks of one state directory.
pub trait Files: Send + Sync {
    /// Where it is.
    fn dir(&self) -> &Path;

    /// Opens one of its files, by its path in the directory; `None` when it is absent.
    ///
    /// # Errors
    /// [`JournalError`] when it is no ordinary file of ours, or the system refuses.
    fn open(&self, name: &str, access: Access) -> Result<Option<Box<dyn DiskFile>>, JournalError>;

    /// Makes one of its directories when it is absent.
    ///
    /// # Errors
    /// Whatever the system says.
    fn make_dir(&self, name: &str) -> io::Result<()>;

    /// Makes the entries of one of its directories durable; of itself by the empty name.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync_dir(&self, name: &str) -> io::Result<()>;

    /// Takes a lock exclusively, waiting for at most `wait`.
    ///
    /// # Errors
    /// [`JournalError::Locked`] naming the holder, or [`JournalError::Io`].
    fn lock(&self, name: &str, wait: Duration, holder: &str)
    -> Result<Box<dyn Held>, JournalError>;

    /// What identifies the place of the directory.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    fn place(&self) -> Result<Place, JournalError>;

    /// Refuses a place where a journal must not be written.
    ///
    /// # Errors
    /// [`JournalError::Network`], or [`JournalError::Io`].
    fn check_writable(&self) -> Result<(), JournalError>;
}

/// A directory of the machine.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// At this path.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }
}

impl Files for Directory {
    fn dir(&self) -> &Path {
        &self.path
    }

    fn open(&self, name: &str, access: Access) -> Result<Option<Box<dyn DiskFile>>, JournalError> {
        let path = self.path.join(name);
        let file = match access {
            Access::Read => open_if_there(&path)?,
            Access::Write => open_to_write(&path)?,
            Access::Make => {
                let file = disk::open_or_create(&path).map_err(|e| unopened(&path, e))?;
                ordinary(&path, &file)?;
                Some(file)
            }
        };
        Ok(file.map(|file| Box::new(file) as Box<dyn DiskFile>))
    }

    fn make_dir(&self, name: &str) -> io::Result<()> {
        place::make_dir(&self.path.join(name))
    }

    fn sync_dir(&self, name: &str) -> io::Result<()> {
        disk::sync_dir(&self.path.join(name))
    }

    fn lock(
        &self,
        name: &str,
        wait: Duration,
        holder: &str,
    ) -> Result<Box<dyn Held>, JournalError> {
        Ok(Box::new(FileLock::take(&self.path.join(name), wait, holder)?))
    }

    fn place(&self) -> Result<Place, JournalError> {
        place::place(&self.path)
    }

    fn check_writable(&self) -> Result<(), JournalError> {
        place::check_writable(&self.path)
    }
}

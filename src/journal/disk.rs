//! The port behind every byte of the journal, so that a test can stand in for the disk.

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// One open file.
pub trait DiskFile: Send {
    /// Its length.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn len(&self) -> io::Result<u64>;

    /// Whether it is empty.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Reads at a place; 0 at the end.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at a place; may write less.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Makes the data durable.
    ///
    /// # Errors
    /// Whatever the disk says; then what the disk has is unknown.
    fn sync(&self) -> io::Result<()>;

    /// Cuts the file.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Keeps space behind the end, without changing the length; best effort.
    fn reserve(&self, length: u64);

    /// The inode, to find out whether a path still means this file.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn inode(&self) -> io::Result<u64>;
}

/// Reads exactly one range, or as much of it as there is.
///
/// # Errors
/// Whatever the disk says.
pub fn read_range(file: &dyn DiskFile, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; length];
    let mut read = 0;
    while read < length {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(read);
    Ok(buffer)
}

/// Writes all of some bytes.
///
/// # Errors
/// Whatever the disk says; a part may have been written.
pub fn write_all(file: &dyn DiskFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut written = 0;
    while written < bytes.len() {
        match file.write_at(&bytes[written..], offset + written as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => written += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How much is kept preallocated behind the end.
pub const RESERVE: u64 = 64 << 10;

impl DiskFile for File {
    fn len(&self) -> io::Result<u64> {
        self.metadata().map(|meta| meta.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn reserve(&self, length: u64) {
        let allocated = self.metadata().map_or(u64::MAX, |meta| meta.blocks() * 512);
        if allocated >= length + RESERVE / 2 {
            return;
        }
        // on a disk that is nearly full, as much as there is: a failed append has just given
        // back less than all of it, and nobody else shall have that
        let sizes = [RESERVE, RESERVE / 2, RESERVE / 4, RESERVE / 8];
        let keep = |size| fallocate(self, FallocateFlags::KEEP_SIZE, length, size);
        // a file system without it keeps working, only not on a full disk
        let _ = sizes.into_iter().find(|size| keep(*size) != Err(Errno::NOSPC));
    }

    fn inode(&self) -> io::Result<u64> {
        self.metadata().map(|meta| meta.ino())
    }
}

/// Opens an existing file; never blocks on a FIFO, never follows a link.
///
/// # Errors
/// Whatever the system says.
pub fn open(path: &Path, write: bool) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).write(write).custom_flags(flags.bits() as i32).open(path)
}

/// Opens a file for writing, making it with mode 0600 when it is absent.
///
/// # Errors
/// Whatever the system says.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits() as i32)
        .open(path)
}

/// Makes a directory's entries durable.
///
/// # Errors
/// Whatever the system says.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

//! A disk that fails.

use crate::support::{Bench, WAIT, commit};
use sched::domain::event::Place;
use sched::journal::disk::{self, DiskFile};
use sched::journal::{
    ACTIVE, Access, Category, Directory, Files, Held, Journal, JournalError, Locked, Position,
};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// What goes wrong, and what was asked for.
#[derive(Default)]
struct Faults {
    /// So many bytes still fit; `u64::MAX - 1` and more never run out.
    room: AtomicU64,
    sync_fails: AtomicBool,
    truncate_fails: AtomicBool,
    rewritten: AtomicU64,
    synced: AtomicU64,
}

struct Faulty(File, Arc<Faults>);

impl DiskFile for Faulty {
    fn len(&self) -> io::Result<u64> {
        DiskFile::len(&self.0)
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(&self.0, buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let room = self.1.room.load(SeqCst);
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let n = bytes.len().min(usize::try_from(room).unwrap());
        self.1.room.fetch_sub(n as u64, SeqCst);
        self.1.rewritten.fetch_add(n as u64, SeqCst);
        FileExt::write_at(&self.0, &bytes[..n], offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.1.synced.fetch_add(1, SeqCst);
        if self.1.sync_fails.load(SeqCst) { Err(io::Error::other("EIO")) } else { Ok(()) }
    }
    fn truncate(&self, length: u64) -> io::Result<()> {
        if self.1.truncate_fails.load(SeqCst) {
            return Err(io::Error::other("EIO"));
        }
        DiskFile::truncate(&self.0, length)
    }
    fn reserve(&self, _: u64) {}
    fn inode(&self) -> io::Result<u64> {
        DiskFile::inode(&self.0)
    }
}

/// A directory whose journal is such a file.
struct FaultyFiles(Directory, Arc<Faults>);

impl Files for FaultyFiles {
    fn dir(&self) -> &Path {
        self.0.dir()
    }
    fn open(&self, name: &str, access: Access) -> Result<Option<Box<dyn DiskFile>>, JournalError> {
        let faulty = || disk::open(&self.dir().join(name), true).unwrap();
        match name {
            ACTIVE => Ok(Some(Box::new(Faulty(faulty(), self.1.clone())))),
            _ => self.0.open(name, access),
        }
    }
    fn make_dir(&self, name: &str) -> io::Result<()> {
        self.0.make_dir(name)
    }
    fn sync_dir(&self, name: &str) -> io::Result<()> {
        self.0.sync_dir(name)
    }
    fn lock(
        &self,
        name: &str,
        wait: Duration,
        holder: &str,
    ) -> Result<Box<dyn Held>, JournalError> {
        self.0.lock(name, wait, holder)
    }
    fn place(&self) -> Result<Place, JournalError> {
        self.0.place()
    }
    fn check_writable(&self) -> Result<(), JournalError> {
        self.0.check_writable()
    }
}

fn faulty(bench: &Bench) -> (Locked, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    faults.room.store(u64::from(u32::MAX), SeqCst);
    let files = FaultyFiles(Directory::new(&bench.dir), faults.clone());
    let journal = Journal::open_in(Arc::new(files)).unwrap();
    (journal.lock(WAIT, "the test").unwrap(), faults)
}

fn caught_up(bench: &Bench) -> (Locked, Arc<Faults>) {
    let (mut locked, faults) = faulty(bench);
    locked.catch_up(&Position::start(), |_, _, _| Ok(())).unwrap();
    (locked, faults)
}

#[test]
fn a_short_write_on_a_full_disk_leaves_the_file_as_it_was() {
    let bench = Bench::of(3);
    let before = (bench.bytes(), bench.head_bytes());
    let (mut locked, faults) = caught_up(&bench);
    for room in [0, 1, 100, 300] {
        faults.room.store(room, SeqCst);
        let error = commit(&mut locked, 4).unwrap_err();
        assert!(matches!(error, JournalError::NotAppended { .. }), "{error}");
        assert_eq!(error.category(), Category::Damaged);
        assert_eq!((bench.bytes(), bench.head_bytes()), before);
    }
    faults.room.store(u64::from(u32::MAX), SeqCst);
    commit(&mut locked, 4).unwrap();
    drop(locked);
    assert_eq!(bench.bytes(), Bench::of(4).bytes(), "with room again the same writer goes on");
}

#[test]
fn a_failed_sync_poisons_and_acknowledges_nothing() {
    let bench = Bench::of(3);
    let head = bench.head_bytes();
    let (mut locked, faults) = caught_up(&bench);
    faults.sync_fails.store(true, SeqCst);
    let error = commit(&mut locked, 4).unwrap_err();
    assert!(matches!(error, JournalError::Poisoned { .. }), "{error}");
    assert_eq!(error.category(), Category::Damaged);
    assert_eq!(bench.head_bytes(), head);
    faults.sync_fails.store(false, SeqCst);
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| commit(&mut locked, 4)));
    assert!(again.is_err(), "a poisoned writer must not go on");
}

#[test]
fn a_file_that_cannot_be_cut_back_poisons_and_the_next_writer_quarantines() {
    let bench = Bench::of(3);
    let (mut locked, faults) = caught_up(&bench);
    faults.room.store(100, SeqCst);
    faults.truncate_fails.store(true, SeqCst);
    assert!(matches!(commit(&mut locked, 4), Err(JournalError::Poisoned { .. })));
    drop(locked);
    let (_, position, notices) = bench.catch_up().unwrap();
    assert_eq!((position.seq, notices.len()), (3, 1));
}

#[test]
fn entries_in_doubt_are_written_again_and_synced_before_they_count() {
    let bench = Bench::of(6);
    let (four, six) = (bench.head_at(4), bench.head_at(6));
    bench.set_head(&four);
    let head = bench.head_bytes();
    let (mut locked, faults) = faulty(&bench);
    faults.sync_fails.store(true, SeqCst);
    let failed = locked.catch_up(&Position::start(), |_, _, _| Ok(()));
    assert!(matches!(failed, Err(JournalError::Poisoned { .. })));
    assert_eq!(bench.head_bytes(), head);
    drop(locked);
    let (_locked, faults) = caught_up(&bench);
    assert_eq!(faults.rewritten.load(SeqCst), six.length - four.length);
    assert_eq!(faults.synced.load(SeqCst), 1);
    assert_ne!(bench.head_bytes(), head);
}

#[test]
fn an_idle_writer_writes_and_syncs_nothing() {
    let bench = Bench::of(6);
    let (_locked, faults) = caught_up(&bench);
    assert_eq!((faults.rewritten.load(SeqCst), faults.synced.load(SeqCst)), (0, 0));
}

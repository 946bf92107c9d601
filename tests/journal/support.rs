//! A journal of real entries, and what is asked of it.

use sched::audit::verify::{self, Report};
use sched::domain::event::{
    By, Entry, EnvironmentRecorded, Event, JournalCreated, Place, VERSION, Writer,
};
use sched::domain::ids::{BootId, JournalId};
use sched::domain::time::Timestamp;
use sched::journal::head::{self, Acknowledged};
use sched::journal::{Journal, JournalError, Locked, Position, line};
use std::path::{Path, PathBuf};
use std::time::Duration;
use uuid::Uuid;

pub const WAIT: Duration = Duration::from_secs(5);
pub const START: i64 = 1_796_000_000_000;

pub fn by() -> By {
    By {
        role: Writer::Operator,
        host: "h".into(),
        boot: BootId("b".into()),
        up: 1000,
        pid: 1,
        start: 1,
        user: "u".into(),
        version: "0.1.0".into(),
        dispatch: None,
    }
}

/// A real event for entry `seq`.
pub fn event(seq: u64) -> Event {
    if seq == 1 {
        let place = Place { machine: "m".into(), inode: 1, birth: 1 };
        return JournalCreated { journal: JournalId(Uuid::from_u128(1)), place, draft: None }
            .into();
    }
    let config = format!("config-{seq}.toml");
    EnvironmentRecorded { path: "/usr/bin:/bin".into(), repository: None, config }.into()
}

/// The line of entry `seq` after the line with hash `prev`, always the same bytes.
pub fn made(seq: u64, prev: &str, events: Vec<Event>) -> (Vec<u8>, String) {
    let at = Timestamp::from_millis(START + i64::try_from(seq).unwrap() * 1000);
    let id = Uuid::from_u128(u128::from(seq) + 100);
    line::encode(&Entry { v: VERSION, seq, at, wall: None, id, by: by(), events }, prev).unwrap()
}

/// Ends a line's text with its hash, whatever the text is.
pub fn hashed(body: &str) -> Vec<u8> {
    let hash = line::sha256_hex(body.as_bytes());
    format!("{body},\"hash\":\"{hash}\"}}\n").into_bytes()
}

pub struct Bench {
    _temp: tempfile::TempDir,
    pub dir: PathBuf,
}

impl Bench {
    /// A state directory without a journal.
    pub fn empty() -> Self {
        // in memory where that is possible: thousands of syncs prove nothing more on a disk
        let memory = Path::new("/dev/shm");
        let temp = if memory.is_dir() {
            tempfile::tempdir_in(memory).unwrap()
        } else {
            tempfile::tempdir().unwrap()
        };
        let dir = temp.path().join("state");
        std::fs::create_dir(&dir).unwrap();
        Self { _temp: temp, dir }
    }

    /// A journal of so many entries, through the real protocol.
    pub fn of(entries: u64) -> Self {
        let bench = Self::empty();
        let mut locked = Locked::create(&bench.dir, "the test").unwrap();
        for seq in 1..=entries {
            commit(&mut locked, seq).unwrap();
        }
        bench
    }

    /// A file of these lines, and a `head` that acknowledges what it is told.
    pub fn with(bytes: &[u8], head: Option<&Acknowledged>) -> Self {
        let bench = Self::empty();
        std::fs::write(bench.path(), bytes).unwrap();
        if let Some(head) = head {
            bench.set_head(head);
        }
        bench
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join("journal.jsonl")
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }

    pub fn head_bytes(&self) -> Vec<u8> {
        std::fs::read(self.dir.join("head")).unwrap_or_default()
    }

    pub fn write(&self, bytes: &[u8]) {
        std::fs::write(self.path(), bytes).unwrap();
    }

    pub fn set_head(&self, acknowledged: &Acknowledged) {
        let file = std::fs::File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(self.dir.join("head"))
            .unwrap();
        head::write(&file, acknowledged).unwrap();
    }

    /// `head` after entry `seq` of the journal as it is.
    pub fn head_at(&self, seq: u64) -> Acknowledged {
        let position = &positions(&self.bytes())[usize::try_from(seq).unwrap() - 1];
        Acknowledged { seq, length: position.offset, hash: position.hash.clone() }
    }

    /// Reads all there is.
    pub fn read(&self) -> Result<Position, JournalError> {
        read(&self.dir)
    }

    /// What the next writer makes of it: the position and what it has to say.
    pub fn catch_up(&self) -> Result<(Locked, Position, Vec<Event>), JournalError> {
        let mut locked = Journal::open(&self.dir)?.lock(WAIT, "the test")?;
        let position = locked.catch_up(&Position::start(), |_, _, _| Ok(()))?;
        let notices = locked.notices();
        Ok((locked, position, notices))
    }

    /// The refusal of a writer, which must not have changed anything.
    pub fn refused(&self) -> JournalError {
        let before = (self.bytes(), self.head_bytes());
        let Err(error) = self.catch_up() else { panic!("not refused") };
        assert_eq!(before, (self.bytes(), self.head_bytes()), "a refusal changed something");
        assert!(!self.dir.join("quarantine").exists());
        error
    }

    pub fn verify(&self) -> Report {
        verify::state_dir(&self.dir).unwrap()
    }
}

pub fn read(dir: &Path) -> Result<Position, JournalError> {
    Journal::open(dir)?.read(&Position::start(), |_, _, _| Ok(()))
}

/// Commits the event of entry `seq` behind what was caught up with.
pub fn commit(locked: &mut Locked, seq: u64) -> Result<Position, JournalError> {
    let at = Timestamp::from_millis(START + i64::try_from(seq).unwrap() * 1000);
    let id = Uuid::from_u128(u128::from(seq) + 100);
    locked.commit(by(), at, at, id, vec![event(seq)]).map(|done| done.position)
}

/// The positions behind each line, by their own hashes.
pub fn positions(bytes: &[u8]) -> Vec<Position> {
    let mut offset = 0;
    lines(bytes)
        .iter()
        .zip(1..)
        .map(|(text, seq)| {
            offset += text.len() as u64;
            let hash = line::verified_hash(text.trim_ascii_end()).unwrap();
            Position { seq, offset, hash }
        })
        .collect()
}

/// The lines with their newlines.
pub fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
}

/// The kinds that were found, without repetition.
pub fn kinds(report: &Report) -> Vec<&'static str> {
    let mut kinds: Vec<_> = report.damage.iter().map(|damage| damage.kind).collect();
    kinds.dedup();
    kinds
}

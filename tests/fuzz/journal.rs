//! Bytes → the journal reader, twice: as they are, and with each line's number, link and hash
//! made right, so that what a fuzzer changes inside of lines is read and folded too.
//!
//! * The same bytes give the same answer, however the disk cuts its reads and from whatever
//!   entry one goes on.
//! * What was accepted is a prefix, and that prefix alone says the same.
//! * What `verify` calls sound is read to its end; what is read to its end is sound.
//! * What was accepted folds or is refused as a whole, and each state that it comes to can be
//!   asked anything.
//! * The next writer keeps exactly what was accepted, or refuses and changes nothing.

use sched::audit::verify::{self, Report};
use sched::domain::apply::{fold, retire};
use sched::domain::event::Entry;
use sched::domain::rules::next_due;
use sched::domain::state::State;
use sched::domain::time::Now;
use sched::domain::{owed, rests, wants};
use sched::engine::past;
use sched::journal::disk::{self, DiskFile};
use sched::journal::head::{self, Acknowledged};
use sched::journal::line::{self, GENESIS};
use sched::journal::scan::{self, End, Rest};
use sched::journal::{Journal, JournalError, Position};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Checks everything about these bytes.
pub fn check(bytes: &[u8]) {
    reads(bytes);
    let sealed = seal(bytes);
    if sealed != bytes {
        reads(&sealed);
    }
}

/// The lines that end as an entry does, with number, link and hash made right.
fn seal(bytes: &[u8]) -> Vec<u8> {
    const LINK: &[u8] = b",\"prev\":\"";
    const MARK: &[u8] = b",\"hash\":\"";
    let mut prev = GENESIS.to_owned();
    let mut sealed = Vec::new();
    for (text, seq) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        let ended = text.ends_with(b"\n");
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        let hash = line.len().checked_sub(MARK.len() + 66);
        let link = hash.and_then(|hash| hash.checked_sub(LINK.len() + 65));
        let (Some(hash), Some(link)) = (hash, link) else {
            sealed.extend_from_slice(text);
            continue;
        };
        if !line[hash..].starts_with(MARK) || !line[link..].starts_with(LINK) {
            sealed.extend_from_slice(text);
            continue;
        }
        let mut body = numbered(&line[..link], seq);
        body.extend([LINK, prev.as_bytes(), b"\""].concat());
        prev = line::sha256_hex(&body);
        body.extend([MARK, prev.as_bytes(), b"\"}"].concat());
        sealed.append(&mut body);
        sealed.extend(ended.then_some(b'\n'));
    }
    sealed
}

fn numbered(body: &[u8], seq: u64) -> Vec<u8> {
    const NUMBER: &[u8] = b"{\"v\":1,\"seq\":";
    let Some(rest) = body.strip_prefix(NUMBER) else { return body.to_vec() };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    [NUMBER, seq.to_string().as_bytes(), &rest[digits..]].concat()
}

/// A disk in memory that reads only so many bytes at once.
struct Memory<'a>(&'a [u8], usize);

impl DiskFile for Memory<'_> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let n = rest.len().min(buffer.len()).min(self.1);
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        unreachable!("reading never writes")
    }
    fn sync(&self) -> io::Result<()> {
        unreachable!("reading never writes")
    }
    fn truncate(&self, _: u64) -> io::Result<()> {
        unreachable!("reading never writes")
    }
    fn reserve(&self, _: u64) {}
    fn inode(&self) -> io::Result<u64> {
        Ok(1)
    }
}

/// What reading gave.
#[derive(Debug, PartialEq)]
struct Read {
    entries: Vec<(Entry, Position)>,
    lines: Vec<Vec<u8>>,
    end: End,
}

fn read(bytes: &[u8], from: &Position, at_once: usize) -> Read {
    let (mut entries, mut lines) = (Vec::new(), Vec::new());
    let each = |entry: &Entry, at: &Position, line: &[u8]| {
        entries.push((entry.clone(), at.clone()));
        lines.push(line.to_vec());
        Ok::<_, ()>(())
    };
    let end = scan::scan(&Memory(bytes, at_once), from, each).unwrap();
    Read { entries, lines, end }
}

fn reads(bytes: &[u8]) {
    let all = read(bytes, &Position::start(), usize::MAX);
    assert_eq!(all, read(bytes, &Position::start(), 1 + bytes.len() % 97), "cut reads");
    is_prefix(bytes, &all);
    if let Some((_, middle)) = all.entries.get(all.entries.len() / 2) {
        let rest = read(bytes, middle, usize::MAX);
        assert_eq!(rest.end, all.end, "another end from entry {}", middle.seq);
        let after = &all.entries[all.entries.len() / 2 + 1..];
        assert!(rest.entries == after, "other entries after entry {}", middle.seq);
    }
    let folded = folds(&all);
    on_disk(bytes, &all, folded);
}

/// Whether what ends like this is no damage.
fn is_sound(rest: &Rest) -> bool {
    matches!(rest, Rest::Nothing | Rest::NoNewline | Rest::Torn { .. })
}

fn is_prefix(bytes: &[u8], all: &Read) {
    let mut prefix = all.lines.join(&b"\n"[..]);
    prefix.extend((!all.lines.is_empty() && all.end.rest != Rest::NoNewline).then_some(b'\n'));
    assert!(bytes.starts_with(&prefix), "it is no prefix");
    assert_eq!((all.end.position.offset, all.end.position.seq as usize), {
        (prefix.len() as u64, all.lines.len())
    });
    let alone = read(&prefix, &Position::start(), usize::MAX);
    assert_eq!((&alone.entries, &alone.end.position), (&all.entries, &all.end.position));
    assert!(matches!(alone.end.rest, Rest::Nothing | Rest::NoNewline), "{:?}", alone.end.rest);
    let mut prev = GENESIS.to_owned();
    for (entry, at) in &all.entries {
        if let Ok((text, hash)) = line::encode(entry, &prev) {
            let again = line::decode(text.trim_ascii_end(), entry.seq, &prev);
            assert_eq!(again, Ok((entry.clone(), hash)), "written again, it is another one");
        }
        prev.clone_from(&at.hash);
    }
}

/// How many entries can have happened.
fn folds(all: &Read) -> usize {
    let mut state = State::default();
    for (n, (entry, at)) in all.entries.iter().enumerate() {
        if fold(&mut state, entry, &at.hash).is_err() {
            return n;
        }
        retire(&mut state);
        let stamp = entry.stamp();
        for later in [0, 1_000_000] {
            let wall = stamp.at;
            let now = Now { wall, up: stamp.up.saturating_add(later), boot: stamp.boot.clone() };
            let asked = (owed(&state, &now), wants(&state, &now), next_due(&state, &now));
            assert!(!rests(&state, &now) || asked.0.is_empty() && asked.1.is_empty());
        }
    }
    let json = serde_json::to_string(&state).unwrap();
    assert!(serde_json::from_str::<State>(&json).unwrap() == state, "a checkpoint: {json}");
    all.entries.len()
}

fn on_disk(bytes: &[u8], all: &Read, folded: usize) {
    let memory = Path::new("/dev/shm");
    let dir = tempfile::tempdir_in(if memory.is_dir() { memory } else { Path::new("/tmp") });
    let dir = dir.unwrap();
    let path = dir.path().join("journal.jsonl");
    std::fs::write(&path, bytes).unwrap();
    agrees(&verify::state_dir(dir.path()).unwrap(), all);
    let past = past(&Journal::open(dir.path()).unwrap(), &|_, _| true);
    match &past.damage {
        None => assert!(folded == all.lines.len() && past.position == all.end.position),
        Some(JournalError::Illegal { seq, .. }) => assert_eq!(*seq as usize, folded + 1),
        Some(JournalError::Corrupt { .. } | JournalError::TooNew { .. }) => {
            assert!(!is_sound(&all.end.rest) && folded == all.lines.len());
        }
        Some(error) => panic!("{error}"),
    }
    writes(dir.path(), bytes, all);
    acknowledged(dir.path(), all);
}

fn agrees(report: &Report, all: &Read) {
    let sound = is_sound(&all.end.rest);
    let times = all.entries.windows(2).all(|two| two[0].0.at <= two[1].0.at);
    assert_eq!(report.ok(), sound && times, "{:?}: {:?}", all.end.rest, report.damage);
    if sound {
        let Position { seq, hash, .. } = all.end.position.clone();
        assert_eq!(report.entries, seq);
        assert_eq!(report.head, (seq > 0).then_some((seq, hash)));
        let torn = report.damage.iter().find(|damage| damage.kind == "TORN-TAIL");
        assert_eq!(torn.is_some(), matches!(all.end.rest, Rest::Torn { .. }));
        assert!(torn.is_none_or(|damage| damage.offset == all.end.position.offset));
    }
}

/// The next writer keeps what was accepted, or changes nothing.
fn writes(dir: &Path, bytes: &[u8], all: &Read) {
    let path = dir.join("journal.jsonl");
    let locked = Journal::open(dir).unwrap().lock(Duration::from_secs(5), "fuzz");
    let caught = locked.unwrap().catch_up(&Position::start(), |_, _, _| Ok(()));
    let now = std::fs::read(&path).unwrap();
    if !is_sound(&all.end.rest) {
        assert!(caught.is_err() && now == bytes, "a refusal changed something");
        return;
    }
    let mut kept = bytes[..usize::try_from(all.end.position.offset).unwrap()].to_vec();
    kept.extend((all.end.rest == Rest::NoNewline).then_some(b'\n'));
    assert!(now == kept, "something else is there");
    assert_eq!(caught.unwrap().offset, kept.len() as u64);
}

/// More is acknowledged than is there: nobody calls that sound.
fn acknowledged(dir: &Path, all: &Read) {
    let Position { seq, offset, hash } = all.end.position.clone();
    let file = disk::open_or_create(&dir.join("head")).unwrap();
    head::reset(&file, &Acknowledged { seq: seq + 1, length: offset + 400, hash }).unwrap();
    assert!(!verify::state_dir(dir).unwrap().ok(), "the end is missing");
    let read = Journal::open(dir).and_then(|j| j.read(&Position::start(), |_, _, _| Ok(())));
    assert!(read.is_err(), "the end is missing");
}

//! `journal verify`: is every byte as it was written? Finds all damage, not only the first, and
//! names its kind.
//!
//! | kind | what |
//! |---|---|
//! | `EDIT` | bytes of a line are not what was hashed, or no entry at all |
//! | `GAP` | lines are missing |
//! | `FORK` | two lines follow the same one |
//! | `REORDER` | lines stand in another order |
//! | `TRUNCATED` | acknowledged entries are missing at the end |
//! | `REWRITTEN` | an acknowledged entry is another one now |
//! | `CONFLICT-MARKERS` | a merge was committed into it |
//! | `VERSION` | a newer version; no damage, but more than this program knows |
//! | `TORN-TAIL` | a write that never finished; no failure |
//!
//! Whether each entry can have happened after those before it is found out by folding, which is
//! not done here: the command line adds `ILLEGAL`.

use crate::domain::event::{Entry, Event, VERSION};
use crate::domain::time::Timestamp;
use crate::journal::disk::DiskFile;
use crate::journal::head::{self, Acknowledged, Head};
use crate::journal::line::{self, Defect, GENESIS};
use crate::journal::scan;
use crate::journal::{ACTIVE, HEAD, Journal, JournalError, open_if_there};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Which kind.
    pub kind: &'static str,
    /// The file.
    pub file: String,
    /// Where the line begins, in bytes.
    pub offset: u64,
    /// Which entry it should be.
    pub seq: u64,
    /// What was expected, and what was found.
    pub message: String,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// Valid entries.
    pub entries: u64,
    /// Events in them.
    pub events: u64,
    /// Sequence number and hash of the last valid entry.
    pub head: Option<(u64, String)>,
    /// Times of the first and the last valid entry.
    pub span: Option<(Timestamp, Timestamp)>,
    /// What is wrong.
    pub damage: Vec<Damage>,
}

impl Report {
    /// Whether nothing that was ever acknowledged is missing or changed.
    pub fn ok(&self) -> bool {
        self.damage.iter().all(|damage| damage.kind == "TORN-TAIL")
    }

    /// Whether a newer program wrote what is not understood here, and nothing else is found.
    pub fn only_newer(&self) -> bool {
        let harmless = |damage: &Damage| ["TORN-TAIL", "VERSION"].contains(&damage.kind);
        !self.ok() && self.damage.iter().all(harmless)
    }

    /// The document of `--json`.
    pub fn document(&self) -> Value {
        let head =
            self.head.as_ref().map(|(seq, hash)| serde_json::json!({"seq": seq, "hash": hash}));
        serde_json::json!({
            "schema": "sched.journal-verify/v1",
            "ok": self.ok(),
            "entries": self.entries,
            "events": self.events,
            "head": head,
            "damage": self.damage,
        })
    }
}

/// Verifies the journal of a state directory, against its `head`.
///
/// # Errors
/// [`JournalError`] when there is none, or it is no file that could be one.
pub fn state_dir(dir: &Path) -> Result<Report, JournalError> {
    let (path, head_path) = (dir.join(ACTIVE), dir.join(HEAD));
    let head = open_if_there(&head_path)?;
    let head = head::read(head.as_ref().map(|file| file as &dyn DiskFile));
    let io = |source| JournalError::Io { action: "read", path: head_path, source };
    let acknowledged = match head.map_err(io)? {
        Head::At(acknowledged) => Some(acknowledged),
        Head::Absent | Head::Unreadable => {
            Journal::open(dir)?; // nothing to compare with, but there must be one
            None
        }
    };
    let mut walk = Walk::new(acknowledged.as_ref().map(|known| known.seq));
    // gone though it had been acknowledged: said as what is missing at the end
    if let Some(file) = open_if_there(&path)? {
        walk.whole(&path, &file);
    }
    if let Some(acknowledged) = acknowledged {
        walk.against(&path, &acknowledged);
    }
    Ok(walk.report)
}

/// Verifies files, one after the other as one journal.
///
/// # Errors
/// [`JournalError`] when one of them is no file that could be a journal.
pub fn files(paths: &[PathBuf]) -> Result<Report, JournalError> {
    let mut walk = Walk::new(None);
    for path in paths {
        let gone = || JournalError::Io {
            action: "open",
            path: path.clone(),
            source: io::ErrorKind::NotFound.into(),
        };
        walk.whole(path, &open_if_there(path)?.ok_or_else(gone)?);
    }
    Ok(walk.report)
}

/// Lines that were missing when the walk came by.
#[derive(Debug)]
struct Gap {
    /// Which of the damages says so.
    damage: usize,
    /// The missing entries that have not been found elsewhere.
    missing: std::ops::Range<u64>,
    found: u64,
}

/// Where the walk is.
#[derive(Debug, Default)]
struct Walk {
    report: Report,
    file: String,
    number: u64,
    seq: u64,
    prev: String,
    /// The entry that follows each hash.
    seen: BTreeMap<String, u64>,
    /// Hashes of entries on a branch that was said to be a fork.
    forked: BTreeSet<String>,
    gaps: Vec<Gap>,
    broken: bool,
    conflict: bool,
    /// The entry whose hash is wanted, and its hash.
    watched: Option<u64>,
    watched_hash: Option<String>,
}

impl Walk {
    fn new(watched: Option<u64>) -> Self {
        Self { prev: GENESIS.to_owned(), watched, ..Self::default() }
    }

    fn damage(&mut self, kind: &'static str, offset: u64, message: String) {
        let (file, seq) = (self.file.clone(), self.seq + 1);
        let message = format!("line {}: {message}", self.number.max(1));
        self.report.damage.push(Damage { kind, file, offset, seq, message });
    }

    fn whole(&mut self, path: &Path, file: &File) {
        self.file = path.display().to_string();
        self.number = 0;
        if let Err(error) = self.lines(file) {
            self.damage("EDIT", 0, format!("cannot read `{}`: {error}", path.display()));
        }
    }

    /// Compares what is there with what had been acknowledged.
    fn against(&mut self, path: &Path, acknowledged: &Acknowledged) {
        let last = self.report.head.as_ref().map_or(0, |(seq, _)| *seq);
        let (expected, seq, offset) = (&acknowledged.hash, acknowledged.seq, acknowledged.length);
        let file = path.display().to_string();
        let damage = &mut self.report.damage;
        if last < seq {
            damage.retain(|damage| damage.kind != "TORN-TAIL");
            if !damage.iter().any(|damage| damage.seq > last) {
                let message =
                    format!("entry {seq} ({expected}) had been acknowledged, the last is {last}");
                damage.push(Damage { kind: "TRUNCATED", file, offset, seq: last, message });
            }
            return;
        }
        let found = self.watched_hash.as_deref();
        if found == Some(expected) || (found.is_none() && !damage.is_empty()) {
            return; // its line is damaged: said already
        }
        let found = found.unwrap_or("no such entry");
        let message = format!("expected hash {expected}, found {found}");
        damage.push(Damage { kind: "REWRITTEN", file, offset, seq, message });
    }

    fn lines(&mut self, file: &File) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut offset = 0;
        let mut line = Vec::new();
        loop {
            line.clear();
            let limit = line::LARGEST_LINE as u64;
            let mut n = Read::take(&mut reader, limit).read_until(b'\n', &mut line)? as u64;
            if n == 0 {
                return Ok(());
            }
            self.number += 1;
            let ended = line.pop_if(|last| *last == b'\n').is_some();
            let cut = !ended && n == limit; // the limit is with the newline
            let entry = if cut {
                let expected = format!("a line of at most {limit} bytes");
                Err(Defect::Wrong { expected, found: "a longer one".into() })
            } else {
                line::decode(&line, self.seq + 1, &self.prev)
            };
            match entry {
                Ok((entry, hash)) => self.entry(&entry, hash, offset),
                Err(_) if self.is_torn(file, &line, offset)? => return Ok(()),
                Err(defect) => self.defect(&line, offset, defect),
            }
            if cut {
                n += skip_line(&mut reader)?;
            }
            offset += n;
        }
    }

    /// Whether all that follows is a write that never finished, by the rule of the reader.
    fn is_torn(&mut self, file: &File, line: &[u8], offset: u64) -> io::Result<bool> {
        let whole = line::verified_hash(line);
        if whole.is_ok() || matches!(whole, Err(Defect::Newer(_))) {
            return Ok(false);
        }
        let Some(bytes) = scan::torn(file, offset)? else { return Ok(false) };
        self.damage("TORN-TAIL", offset, format!("{bytes} bytes of a write that never finished"));
        Ok(true)
    }

    fn entry(&mut self, entry: &Entry, hash: String, offset: u64) {
        self.report.entries += 1;
        self.report.events += entry.events.len() as u64;
        let first = self.report.span.map_or(entry.at, |span| span.0);
        self.check_time(offset, entry.at);
        self.report.span = Some((first, entry.at));
        self.follow(entry.seq, hash);
        self.broken = false;
    }

    fn check_time(&mut self, offset: u64, at: Timestamp) {
        if let Some((_, last)) = self.report.span.filter(|(_, last)| at < *last) {
            self.damage("EDIT", offset, format!("its time {at} is before {last}"));
        }
    }

    fn follow(&mut self, seq: u64, hash: String) {
        self.seen.insert(self.prev.clone(), seq);
        self.seq = seq;
        self.prev.clone_from(&hash);
        if self.watched == Some(seq) {
            self.watched_hash = Some(hash.clone());
        }
        self.report.head = Some((seq, hash));
    }

    /// Bytes that are no entry: their place in the chain is lost with them, and what follows is
    /// judged from itself.
    fn edit(&mut self, offset: u64, message: String) {
        self.damage("EDIT", offset, message);
        self.seq += 1;
        self.broken = true;
    }

    fn defect(&mut self, line: &[u8], offset: u64, defect: Defect) {
        let message = match &defect {
            Defect::Newer(version) => {
                let known = VERSION;
                let message = format!("version {version}: this program knows up to {known}");
                self.damage("VERSION", offset, message);
                match newer_links(line).filter(|links| links.prev == self.prev) {
                    Some(links) => self.follow(links.seq, links.hash),
                    None => self.seq += 1,
                }
                return;
            }
            Defect::Wrong { expected, found } => format!("expected {expected}, found {found}"),
        };
        if is_marker(line) {
            self.conflict = !line.starts_with(b">>>>>>>");
            return self.damage("CONFLICT-MARKERS", offset, "a merge was committed into it".into());
        }
        match links(line) {
            Some(links) => self.misplaced(&links, offset, message),
            None => self.edit(offset, message),
        }
    }

    /// A line that is whole, but not the one that belongs here.
    fn misplaced(&mut self, links: &Links, offset: u64, message: String) {
        if self.forked.contains(&links.prev) {
            self.forked.insert(links.hash.clone()); // the branch was named where it began
            return;
        }
        if let Some(other) = self.seen.get(&links.prev).copied() {
            if !self.conflict {
                self.damage("FORK", offset, format!("entry {other} follows the same line"));
            }
            self.forked.insert(links.hash.clone());
            return; // the walk goes on from the line before
        }
        let last = self.report.head.as_ref().map_or(0, |(seq, _)| *seq);
        if links.seq <= last {
            return self.moved(links.seq, offset, message);
        }
        if links.prev != self.prev && !self.broken {
            if links.seq > self.seq + 1 {
                let missing = self.seq + 1..links.seq;
                self.gaps.push(Gap { damage: self.report.damage.len(), missing, found: 0 });
                self.damage("GAP", offset, message);
            } else {
                // the line before it was written anew: what followed it knows another hash
                self.damage("EDIT", offset, message);
            }
        } else if links.prev == self.prev && !self.broken {
            self.damage("EDIT", offset, message);
        }
        self.report.entries += 1;
        self.report.events += links.events;
        self.prev.clone_from(&links.prev);
        self.broken = false;
        self.follow(links.seq, links.hash.clone());
    }

    /// A line of an earlier place. When it fills a gap, nothing was missing there after all.
    fn moved(&mut self, seq: u64, offset: u64, message: String) {
        self.damage("REORDER", offset, message);
        let Some(at) = self.gaps.iter().position(|gap| gap.missing.contains(&seq)) else { return };
        self.report.entries += 1;
        let gap = &mut self.gaps[at];
        gap.found += 1;
        if gap.found == gap.missing.end - gap.missing.start {
            let gap = self.gaps.remove(at);
            self.report.damage.remove(gap.damage);
            for later in self.gaps.iter_mut().filter(|later| later.damage > gap.damage) {
                later.damage -= 1;
            }
        }
    }
}

/// Passes over the rest of a line that is too long to keep.
fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let here = reader.fill_buf()?;
        let end = here.iter().position(|byte| *byte == b'\n');
        let n = end.map_or(here.len(), |end| end + 1);
        reader.consume(n);
        skipped += n as u64;
        if end.is_some() || n == 0 {
            return Ok(skipped);
        }
    }
}

/// How a line hangs in the chain.
struct Links {
    seq: u64,
    prev: String,
    hash: String,
    events: u64,
}

fn links(line: &[u8]) -> Option<Links> {
    #[derive(serde::Deserialize)]
    struct Chain {
        seq: u64,
        prev: String,
        events: Vec<Event>,
    }
    let hash = line::verified_hash(line).ok()?;
    let chain: Chain = serde_json::from_slice(line).ok()?;
    Some(Links { seq: chain.seq, prev: chain.prev, hash, events: chain.events.len() as u64 })
}

/// The same of a line of a newer version, whose events are unknown here.
fn newer_links(line: &[u8]) -> Option<Links> {
    #[derive(serde::Deserialize)]
    struct Chain {
        seq: u64,
        prev: String,
    }
    let hash = line::verified_hash(line).ok()?;
    let Chain { seq, prev } = serde_json::from_slice(line).ok()?;
    Some(Links { seq, prev, hash, events: 0 })
}

fn is_marker(line: &[u8]) -> bool {
    [&b"<<<<<<<"[..], b"|||||||", b">>>>>>>"].iter().any(|mark| line.starts_with(mark))
        || line == b"======="
}

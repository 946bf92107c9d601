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
//! | `VERSION` | a newer version |
//! | `TORN-TAIL` | a write that never finished; no failure |

use crate::domain::event::{Event, VERSION};
use crate::domain::time::Timestamp;
use crate::journal::head::{self, Head};
use crate::journal::line::{self, Defect, GENESIS};
use crate::journal::{ACTIVE, HEAD};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
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
pub fn state_dir(dir: &Path) -> Report {
    let mut report = files(&[dir.join(ACTIVE)]);
    let acknowledged = std::fs::File::open(dir.join(HEAD)).ok();
    let acknowledged = acknowledged.map(|file| head::read(Some(&file)));
    if let Some(Ok(Head::At(acknowledged))) = acknowledged {
        against(&mut report, &dir.join(ACTIVE), &acknowledged);
    }
    report
}

/// Compares what is there with what had been acknowledged.
fn against(report: &mut Report, path: &Path, acknowledged: &head::Acknowledged) {
    let file = path.display().to_string();
    let seq = report.head.as_ref().map_or(0, |(seq, _)| *seq);
    let offset = acknowledged.length;
    if seq < acknowledged.seq {
        report.damage.retain(|damage| damage.kind != "TORN-TAIL");
        if !report.damage.iter().any(|d| d.seq <= acknowledged.seq) {
            let (expected, seq_acknowledged) = (&acknowledged.hash, acknowledged.seq);
            let message = format!(
                "entry {seq_acknowledged} ({expected}) had been acknowledged, the last is {seq}"
            );
            report.damage.push(Damage { kind: "TRUNCATED", file, offset, seq, message });
        }
        return;
    }
    let found = hash_ending_at(path, offset);
    if found.as_deref() != Some(acknowledged.hash.as_str()) {
        let expected = &acknowledged.hash;
        let found = found.unwrap_or_else(|| "no entry that ends there".into());
        let message = format!("expected hash {expected}, found {found}");
        let seq = acknowledged.seq;
        report.damage.push(Damage { kind: "REWRITTEN", file, offset, seq, message });
    }
}

fn hash_ending_at(path: &Path, offset: u64) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    let start = offset.checked_sub(67)?;
    let bytes = crate::journal::disk::read_range(&file, start, 67).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.trim_end().strip_suffix("\"}")?.get(..64)?.to_owned())
}

/// Verifies files, one after the other as one journal.
pub fn files(paths: &[PathBuf]) -> Report {
    let mut walk = Walk { report: Report::default(), ..Walk::default() };
    walk.prev = GENESIS.to_owned();
    for path in paths {
        if let Err(error) = walk.file(path) {
            walk.damage("EDIT", 0, format!("cannot read `{}`: {error}", path.display()));
        }
    }
    walk.report
}

/// Where the walk is.
#[derive(Debug, Default)]
struct Walk {
    report: Report,
    file: String,
    seq: u64,
    prev: String,
    seen: BTreeMap<String, u64>,
    broken: bool,
}

impl Walk {
    fn damage(&mut self, kind: &'static str, offset: u64, message: String) {
        let (file, seq) = (self.file.clone(), self.seq + 1);
        self.report.damage.push(Damage { kind, file, offset, seq, message });
    }

    fn file(&mut self, path: &Path) -> std::io::Result<()> {
        self.file = path.display().to_string();
        let mut reader = BufReader::with_capacity(1 << 18, std::fs::File::open(path)?);
        let mut offset = 0;
        let mut line = Vec::new();
        loop {
            line.clear();
            let n = std::io::Read::take(&mut reader, line::LARGEST_LINE as u64 + 1)
                .read_until(b'\n', &mut line)? as u64;
            if n == 0 {
                return Ok(());
            }
            let ended = line.pop_if(|last| *last == b'\n').is_some();
            self.line(&line, offset, ended);
            offset += n;
        }
    }

    fn line(&mut self, line: &[u8], offset: u64, ended: bool) {
        match line::decode(line, self.seq + 1, &self.prev) {
            Ok((entry, hash)) => {
                self.report.entries += 1;
                self.report.events += entry.events.len() as u64;
                let first = self.report.span.map_or(entry.at, |span| span.0);
                self.check_time(offset, entry.at);
                self.report.span = Some((first, entry.at));
                self.follow(entry.seq, hash);
                self.broken = false;
            }
            Err(defect) => self.defect(line, offset, ended, defect),
        }
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
        self.report.head = Some((seq, hash));
    }

    fn defect(&mut self, line: &[u8], offset: u64, ended: bool, defect: Defect) {
        let message = match &defect {
            Defect::Newer(version) => {
                let known = VERSION;
                return self.damage(
                    "VERSION",
                    offset,
                    format!("version {version}: this program knows up to {known}"),
                );
            }
            Defect::Wrong { expected, found } => format!("expected {expected}, found {found}"),
        };
        if is_marker(line) {
            return self.damage("CONFLICT-MARKERS", offset, "a merge was committed into it".into());
        }
        let zeros = !line.is_empty() && line.iter().all(|b| *b == 0);
        if !ended && (zeros || line::verified_hash(line).is_err()) {
            let message = format!("{} bytes of a write that never finished", line.len());
            return self.damage("TORN-TAIL", offset, message);
        }
        match links(line) {
            Some(links) => self.misplaced(&links, offset, message),
            None => {
                // its place in the chain is lost with it: what follows is judged from itself
                self.damage("EDIT", offset, message);
                self.seq += 1;
                self.broken = true;
            }
        }
    }

    /// A line that is whole, but not the one that belongs here.
    fn misplaced(&mut self, links: &Links, offset: u64, message: String) {
        if !self.broken {
            let kind = if let Some(other) = self.seen.get(&links.prev) {
                let other = *other;
                self.damage("FORK", offset, format!("entry {other} follows the same line"));
                "FORK"
            } else if links.seq > self.seq + 1 {
                self.damage("GAP", offset, message);
                "GAP"
            } else {
                self.damage("REORDER", offset, message);
                "REORDER"
            };
            if kind == "FORK" || kind == "REORDER" {
                return; // the walk goes on from the line before
            }
        }
        self.report.entries += 1;
        self.report.events += links.events;
        self.prev.clone_from(&links.prev);
        self.broken = false;
        self.follow(links.seq, links.hash.clone());
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

fn is_marker(line: &[u8]) -> bool {
    line.starts_with(b"<<<<<<<") || line.starts_with(b">>>>>>>") || line == b"======="
}

//! One entry = one line: how it is written, and how it is verified.
//!
//! The hash is SHA-256 over the bytes of the line up to and not including the last `,"hash":"`;
//! exactly 64 hex digits and `"}` follow it. Verifying looks at the original bytes and never at
//! a re-serialisation.

use crate::domain::event::{By, Entry, Event, VERSION};
use crate::domain::time::Timestamp;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The hash before the first line.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// The largest event, in bytes.
pub const LARGEST_EVENT: usize = 64 << 10;
/// The largest line, in bytes, with its newline.
pub const LARGEST_LINE: usize = 64 << 20;

const MARK: &[u8] = b",\"hash\":\"";
const TAIL: usize = 9 + 64 + 2;

/// SHA-256 as 64 lower-case hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Why a line is not the entry that belongs there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Defect {
    /// Something else was expected.
    Wrong {
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A newer version.
    Newer(u64),
}

fn wrong(expected: impl Into<String>, found: impl Into<String>) -> Defect {
    Defect::Wrong { expected: expected.into(), found: found.into() }
}

/// A size that is over its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oversize {
    /// The event or the line.
    pub what: String,
    /// Its size.
    pub bytes: usize,
    /// Its limit.
    pub limit: usize,
}

/// Writes an entry as a line with its newline. Returns the bytes and the hash.
///
/// # Errors
/// [`Oversize`] when an event or the line is over its limit.
pub fn encode(entry: &Entry, prev: &str) -> Result<(Vec<u8>, String), Oversize> {
    for event in &entry.events {
        let bytes = serde_json::to_vec(event).map_or(usize::MAX, |text| text.len());
        // a manifest is one line of many events; a list of members may be one long event
        if bytes > LARGEST_EVENT && !matches!(event, Event::BatchSealed(_)) {
            let what = format!("event `{}`", event.name());
            return Err(Oversize { what, bytes, limit: LARGEST_EVENT });
        }
    }
    let mut line = match serde_json::to_vec(entry) {
        Ok(line) => line,
        Err(error) => panic!("BUG: an entry cannot be written as JSON: {error}"),
    };
    line.pop();
    line.extend_from_slice(b",\"prev\":\"");
    line.extend_from_slice(prev.as_bytes());
    line.push(b'"');
    let hash = sha256_hex(&line);
    line.extend_from_slice(MARK);
    line.extend_from_slice(hash.as_bytes());
    line.extend_from_slice(b"\"}\n");
    if line.len() > LARGEST_LINE {
        let what = "the line".to_owned();
        return Err(Oversize { what, bytes: line.len(), limit: LARGEST_LINE });
    }
    Ok((line, hash))
}

#[derive(Deserialize)]
struct Written {
    v: u32,
    seq: u64,
    at: Timestamp,
    #[serde(default)]
    wall: Option<Timestamp>,
    id: Uuid,
    by: By,
    events: Vec<Event>,
    prev: String,
}

#[derive(Deserialize)]
struct Version {
    v: u64,
}

/// Reads a line without its newline, as entry `seq` after a line with hash `prev`.
///
/// # Errors
/// [`Defect`] when it is another one, or not as it was written.
pub fn decode(line: &[u8], seq: u64, prev: &str) -> Result<(Entry, String), Defect> {
    let hash = verified_hash(line)?;
    let written: Written = match serde_json::from_slice(line) {
        Ok(written) => written,
        Err(error) => {
            return Err(match serde_json::from_slice::<Version>(line) {
                Ok(Version { v }) if v > u64::from(VERSION) => Defect::Newer(v),
                _ => wrong("an entry of a known version", error.to_string()),
            });
        }
    };
    if written.v > VERSION {
        return Err(Defect::Newer(u64::from(written.v)));
    }
    if written.v == 0 {
        return Err(wrong("an entry of a known version", "version 0"));
    }
    if written.seq != seq {
        return Err(wrong(format!("seq {seq}"), format!("seq {}", written.seq)));
    }
    if written.prev != prev {
        return Err(wrong(format!("prev {prev}"), format!("prev {}", written.prev)));
    }
    if written.events.is_empty() {
        return Err(wrong("at least one event", "none"));
    }
    let Written { v, seq, at, wall, id, by, events, .. } = written;
    Ok((Entry { v, seq, at, wall, id, by, events }, hash))
}

/// Checks a line's hash over its own bytes.
///
/// # Errors
/// [`Defect`] when there is none, or it is another one.
pub fn verified_hash(line: &[u8]) -> Result<String, Defect> {
    let cut = line
        .len()
        .checked_sub(TAIL)
        .filter(|cut| line[*cut..].starts_with(MARK) && line.ends_with(b"\"}"));
    let Some(cut) = cut else {
        return Err(match serde_json::from_slice::<Version>(line) {
            Ok(Version { v }) if v > u64::from(VERSION) => Defect::Newer(v),
            _ => wrong("a line that ends in its hash", shown(line)),
        });
    };
    let said = &line[cut + MARK.len()..cut + MARK.len() + 64];
    let hash = sha256_hex(&line[..cut]);
    if said == hash.as_bytes() {
        Ok(hash)
    } else {
        Err(wrong(format!("hash {hash} over its bytes"), format!("hash {}", shown(said))))
    }
}

/// The beginning of some bytes, for people.
pub fn shown(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(64)];
    let text: String = String::from_utf8_lossy(start).chars().map(printable).collect();
    if bytes.is_empty() { "nothing".into() } else { format!("`{text}`") }
}

fn printable(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}

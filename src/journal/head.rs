//! `head`: the last acknowledged entry, in two alternating slots of 128 bytes.
//!
//! A slot is `seq length hash checksum`, padded: the checksum is the first 16 hex digits of the
//! SHA-256 of what is before it. It is written after the entry is durable and without a sync: it
//! may lag after a power cut, it never leads.

use super::disk::{self, DiskFile};
use super::line::sha256_hex;
use std::io;

/// A slot's size in bytes.
pub const SLOT: usize = 128;

/// What has been acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    /// The last acknowledged entry.
    pub seq: u64,
    /// The file's length with it.
    pub length: u64,
    /// Its hash.
    pub hash: String,
}

/// What `head` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// Nothing has been acknowledged.
    Absent,
    /// Both slots are unreadable: what has been acknowledged is unknown.
    Unreadable,
    /// This has been acknowledged.
    At(Acknowledged),
}

impl Acknowledged {
    fn slot(&self) -> [u8; SLOT] {
        let text = format!("{:020} {:020} {}", self.seq, self.length, self.hash);
        let sum = sha256_hex(text.as_bytes());
        let line = format!("{text} {}", &sum[..16]);
        let mut slot = [b' '; SLOT];
        slot[..line.len()].copy_from_slice(line.as_bytes());
        slot[SLOT - 1] = b'\n';
        slot
    }

    fn parse(slot: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(slot).ok()?.trim_end();
        let (body, sum) = text.rsplit_once(' ')?;
        if sha256_hex(body.as_bytes()).get(..16)? != sum {
            return None;
        }
        let mut words = body.split(' ');
        let seq = words.next()?.parse().ok()?;
        let length = words.next()?.parse().ok()?;
        let hash = words.next()?.to_owned();
        Some(Self { seq, length, hash })
    }
}

/// Reads `head`; the newer of the readable slots counts.
///
/// # Errors
/// Whatever the disk says.
pub fn read(file: Option<&dyn DiskFile>) -> io::Result<Head> {
    let Some(file) = file else { return Ok(Head::Absent) };
    let bytes = disk::read_range(file, 0, 2 * SLOT)?;
    if bytes.is_empty() {
        return Ok(Head::Absent);
    }
    let newest = bytes.chunks(SLOT).filter_map(Acknowledged::parse).max_by_key(|a| a.seq);
    Ok(newest.map_or(Head::Unreadable, Head::At))
}

/// Writes the slot that `seq` alternates to; the other one keeps what was before.
///
/// # Errors
/// Whatever the disk says; the entry itself is durable all the same.
pub fn write(file: &dyn DiskFile, acknowledged: &Acknowledged) -> io::Result<()> {
    let offset = (acknowledged.seq % 2) * SLOT as u64;
    disk::write_all(file, &acknowledged.slot(), offset)
}

/// Sets both slots, after a repair: what was acknowledged beyond it is given up.
///
/// # Errors
/// Whatever the disk says.
pub fn reset(file: &dyn DiskFile, acknowledged: &Acknowledged) -> io::Result<()> {
    let slot = acknowledged.slot();
    disk::write_all(file, &[slot, slot].concat(), 0)?;
    file.sync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_slot_leaves_the_other_one() {
        let file = tempfile::tempfile().unwrap();
        let at = |seq| Acknowledged { seq, length: seq * 100, hash: "a".repeat(64) };
        assert_eq!(read(Some(&file)).unwrap(), Head::Absent);
        write(&file, &at(1)).unwrap();
        write(&file, &at(2)).unwrap();
        assert_eq!(read(Some(&file)).unwrap(), Head::At(at(2)));
        disk::write_all(&file, b"x", 30).unwrap();
        assert_eq!(read(Some(&file)).unwrap(), Head::At(at(1)));
        disk::write_all(&file, b"x", 30 + SLOT as u64).unwrap();
        assert_eq!(read(Some(&file)).unwrap(), Head::Unreadable);
    }
}

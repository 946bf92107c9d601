//! Reading forward from a position, and saying what stands at the end.
//!
//! The answer for each kind of end is the damage table of the design, in its order; what is done
//! about it is decided by the writer ([`super::Locked`]) or by `verify`.

use super::disk::{self, DiskFile};
use super::line::{self, Defect, LARGEST_LINE};
use super::open::Position;
use crate::domain::event::Entry;
use std::io::{self, BufRead};

const BLOCK: u64 = 512;
const ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];
const CHUNK: usize = 256 << 10;

/// What follows the last valid entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// Nothing, but the last entry has no newline.
    NoNewline,
    /// A write that never finished: nobody acted on it.
    Torn {
        /// How many bytes.
        bytes: u64,
    },
    /// A line of a newer version.
    Newer {
        /// Its version.
        version: u64,
    },
    /// Anything else.
    Corrupt {
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
}

/// Where reading ended, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Behind the last valid entry.
    pub position: Position,
    /// What follows.
    pub rest: Rest,
}

/// Reads lines one after the other with bounded memory.
struct Lines<'a> {
    file: &'a dyn DiskFile,
    buffer: Vec<u8>,
    start: usize,
    read_to: u64,
}

enum Next {
    Line(Vec<u8>),
    Unterminated(Vec<u8>),
    TooLong,
    End,
}

impl<'a> Lines<'a> {
    fn new(file: &'a dyn DiskFile, offset: u64) -> Self {
        Self { file, buffer: Vec::new(), start: 0, read_to: offset }
    }

    fn more(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let old = self.buffer.len();
        self.buffer.resize(old + CHUNK, 0);
        loop {
            match self.file.read_at(&mut self.buffer[old..], self.read_to) {
                Ok(n) => {
                    self.buffer.truncate(old + n);
                    self.read_to += n as u64;
                    return Ok(n > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn next(&mut self) -> io::Result<Next> {
        let mut looked = 0;
        loop {
            let here = &self.buffer[self.start..];
            let passed = (&here[looked..]).skip_until(b'\n')?;
            if here[..looked + passed].ends_with(b"\n") {
                let at = passed - 1;
                if looked + at >= LARGEST_LINE {
                    return Ok(Next::TooLong);
                }
                let line = here[..looked + at].to_vec();
                self.start += looked + at + 1;
                return Ok(Next::Line(line));
            }
            looked = here.len();
            if looked >= LARGEST_LINE {
                return Ok(Next::TooLong);
            }
            if !self.more()? {
                let left = self.buffer[self.start..].to_vec();
                return Ok(if left.is_empty() { Next::End } else { Next::Unterminated(left) });
            }
        }
    }
}

/// Why scanning stopped before the end: the disk, or whoever looked at the entries.
#[derive(Debug)]
pub enum Stopped<E> {
    /// The disk.
    Io(io::Error),
    /// The one who looked.
    Refused(E),
}

/// Reads every valid entry after `from` and hands it over with its raw line and the position
/// behind it.
///
/// # Errors
/// [`Stopped`]: an I/O error is never read as an end.
pub fn scan<E>(
    file: &dyn DiskFile,
    from: &Position,
    mut each: impl FnMut(&Entry, &Position, &[u8]) -> Result<(), E>,
) -> Result<End, Stopped<E>> {
    let mut position = from.clone();
    match before(file, from).map_err(Stopped::Io)? {
        Before::Ended => {}
        Before::EndsHere => position.offset += 1,
        Before::Unended => return Ok(End { position, rest: Rest::NoNewline }),
        Before::Glued(found) => {
            let expected = "a newline behind the entry before".to_owned();
            return Ok(End { position, rest: Rest::Corrupt { expected, found } });
        }
    }
    if file.len().map_err(Stopped::Io)? <= position.offset {
        return Ok(End { position, rest: Rest::Nothing }); // the usual case costs one look
    }
    let mut lines = Lines::new(file, position.offset);
    loop {
        let (line, ended) = match lines.next().map_err(Stopped::Io)? {
            Next::End => return Ok(End { position, rest: Rest::Nothing }),
            Next::TooLong => {
                let expected = format!("a line of at most {LARGEST_LINE} bytes");
                let defect = Defect::Wrong { expected, found: "a longer one".into() };
                let rest = rest(file, position.offset, defect).map_err(Stopped::Io)?;
                return Ok(End { position, rest });
            }
            Next::Line(line) => (line, true),
            Next::Unterminated(line) => (line, false),
        };
        match line::decode(&line, position.seq + 1, &position.hash) {
            Ok((entry, hash)) => {
                let length = line.len() as u64 + u64::from(ended);
                let seq = position.seq + 1;
                position = Position { seq, offset: position.offset + length, hash };
                each(&entry, &position, &line).map_err(Stopped::Refused)?;
                if !ended {
                    return Ok(End { position, rest: Rest::NoNewline });
                }
            }
            Err(Defect::Wrong { expected, found }) if line::verified_hash(&line).is_ok() => {
                // whole, so its writer did finish: it does not belong here
                return Ok(End { position, rest: Rest::Corrupt { expected, found } });
            }
            Err(defect) => {
                let rest = rest(file, position.offset, defect).map_err(Stopped::Io)?;
                return Ok(End { position, rest });
            }
        }
    }
}

/// Tells a write that never finished from corruption.
fn rest(file: &dyn DiskFile, offset: u64, defect: Defect) -> io::Result<Rest> {
    let (expected, found) = match defect {
        Defect::Newer(version) => return Ok(Rest::Newer { version }),
        Defect::Wrong { expected, found } => (expected, found),
    };
    let torn = torn(file, offset)?;
    Ok(torn.map_or(Rest::Corrupt { expected, found }, |bytes| Rest::Torn { bytes }))
}

/// How many bytes follow, when they look like a write that never finished: at most one newline,
/// and either none at the end or a block that never reached the disk.
///
/// # Errors
/// Whatever the disk says.
pub fn torn(file: &dyn DiskFile, offset: u64) -> io::Result<Option<u64>> {
    let shape = Shape::of(file, offset)?;
    let torn = shape.newlines <= 1 && (!shape.ends_in_newline || shape.zero_block);
    Ok(torn.then_some(shape.bytes))
}

/// What stands around a position: the entry before it may have been read without its newline.
enum Before {
    /// Its newline, as it should be.
    Ended,
    /// Its newline follows: a writer has ended it since.
    EndsHere,
    /// Nothing follows.
    Unended,
    /// Something else follows.
    Glued(String),
}

fn before(file: &dyn DiskFile, from: &Position) -> io::Result<Before> {
    let Some(last) = from.offset.checked_sub(1) else { return Ok(Before::Ended) };
    let around = disk::read_range(file, last, 64)?;
    Ok(match around.as_slice() {
        [] | [b'\n', ..] => Before::Ended,
        [_] => Before::Unended,
        [_, b'\n', ..] => Before::EndsHere,
        [_, other @ ..] => Before::Glued(line::shown(other)),
    })
}

/// What some bytes at the end look like.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shape {
    bytes: u64,
    newlines: u64,
    ends_in_newline: bool,
    zero_block: bool,
}

impl Shape {
    fn of(file: &dyn DiskFile, from: u64) -> io::Result<Self> {
        let mut shape = Self::default();
        let mut offset = from;
        loop {
            // who asks at each of many damaged lines learns soon that more lines follow
            let chunk = if offset == from { 8 * ZEROS.len() } else { CHUNK };
            let length = chunk - usize::try_from(offset % BLOCK).unwrap_or(0);
            let bytes = disk::read_range(file, offset, length)?;
            if bytes.is_empty() {
                return Ok(shape);
            }
            let to_boundary = usize::try_from(offset.next_multiple_of(BLOCK) - offset);
            let (start, blocks) = bytes.split_at(to_boundary.unwrap_or(0).min(bytes.len()));
            for part in std::iter::once(start).chain(blocks.chunks(ZEROS.len())) {
                shape.zero_block |= part == ZEROS;
                if part.contains(&b'\n') {
                    shape.newlines += part.iter().filter(|b| **b == b'\n').count() as u64;
                }
                if shape.newlines > 1 {
                    return Ok(shape); // nothing more to learn
                }
            }
            shape.bytes += bytes.len() as u64;
            shape.ends_in_newline = bytes.ends_with(b"\n");
            offset += bytes.len() as u64;
        }
    }
}

//! The receipt: how a dispatch ended, by its supervisor, for whoever can write the line.
//!
//! 4 KiB that were there before the command started, so that a full disk cannot lose it. One
//! line of JSON, one line with its SHA-256, spaces to the end; written in one piece at offset 0
//! and synced. A receipt that was begun and not finished does not match its digest and is none.
//! What does not fit is left out, the least first: it can be found again from the evidence.

use crate::domain::event::Exit;
use crate::journal::disk::open_or_create;
use crate::journal::line::sha256_hex;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How much space a receipt has before its command starts.
const SIZE: usize = 4096;
/// What of it the JSON may take: the digest and two line ends stand behind it.
const ROOM: usize = SIZE - 66;

/// Makes the space; what is there stays.
pub(super) fn prepare(path: &Path) -> io::Result<()> {
    let file = open_or_create(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if length < SIZE {
        // bytes, not a promise: not every file system can promise
        file.write_all_at(&vec![b' '; SIZE - length], length as u64)?;
    }
    file.sync_all()
}

/// Writes it, durably.
pub(super) fn write(path: &Path, exit: &Exit) -> io::Result<()> {
    let body = fitting(exit)?;
    let mut text = format!("{body}\n{}\n", sha256_hex(body.as_bytes()));
    text.extend(std::iter::repeat_n(' ', SIZE.saturating_sub(text.len())));
    let file = open_or_create(path)?;
    file.write_all_at(text.as_bytes(), 0)?;
    file.sync_all()
}

/// Reads it; `None`: there is none, or it was not finished.
pub(super) fn read(path: &Path) -> Option<Exit> {
    let bytes = std::fs::read(path).ok()?;
    let text = std::str::from_utf8(bytes.get(..SIZE).unwrap_or(&bytes)).ok()?;
    let mut lines = text.lines();
    let (body, sum) = (lines.next()?, lines.next()?);
    if sha256_hex(body.as_bytes()) != sum {
        return None;
    }
    serde_json::from_str(body).ok()
}

fn fitting(exit: &Exit) -> io::Result<String> {
    let mut exit = exit.clone();
    let cuts: [fn(&mut Exit); 6] = [
        |_| {},
        |exit| keep_failures(exit, 20),
        |exit| exit.output_tail.clear(),
        |exit| exit.reclaimed.clear(),
        |exit| keep_failures(exit, 1),
        |exit| shorten(exit),
    ];
    let mut body = String::new();
    for cut in cuts {
        cut(&mut exit);
        body = serde_json::to_string(&exit)?;
        if body.len() <= ROOM {
            break;
        }
    }
    Ok(body)
}

/// A suite that has failed must still be seen to have failed.
fn keep_failures(exit: &mut Exit, most: usize) {
    if let Some(report) = &mut exit.report {
        report.failures.truncate(most);
    }
}

fn shorten(exit: &mut Exit) {
    for name in exit.report.iter_mut().flat_map(|report| &mut report.failures) {
        *name = name.chars().take(200).collect();
    }
    for text in [&mut exit.exec_failed, &mut exit.worktree_failed].into_iter().flatten() {
        *text = text.chars().take(200).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{OutputRange, SuiteReport};

    fn exit() -> Exit {
        let output = OutputRange { path: "runs/x/output.log".into(), bytes: 7, sha256: "0".into() };
        Exit { ran: true, code: Some(3), output: Some(output), ..Exit::default() }
    }

    #[test]
    fn a_receipt_reads_back_and_takes_no_more_space_than_it_had() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("receipt.json");
        prepare(&path).unwrap();
        assert_eq!((std::fs::metadata(&path).unwrap().len(), read(&path)), (4096, None));
        write(&path, &exit()).unwrap();
        prepare(&path).unwrap();
        assert_eq!((std::fs::metadata(&path).unwrap().len(), read(&path)), (4096, Some(exit())));
    }

    #[test]
    fn a_shorter_receipt_over_a_longer_one_leaves_nothing_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("receipt.json");
        write(&path, &Exit { output_tail: "x".repeat(2000), ..exit() }).unwrap();
        write(&path, &exit()).unwrap();
        assert_eq!(read(&path), Some(exit()));
    }

    #[test]
    fn a_receipt_torn_or_altered_at_any_byte_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("receipt.json");
        write(&path, &exit()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let written = whole.iter().rposition(|b| *b == b'\n').unwrap();
        for cut in 0..written {
            let mut torn = vec![b' '; SIZE];
            torn[..cut].copy_from_slice(&whole[..cut]);
            std::fs::write(&path, torn).unwrap();
            assert_eq!(read(&path), None, "cut at {cut}");
            let mut altered = whole.clone();
            altered[cut] ^= 1;
            std::fs::write(&path, altered).unwrap();
            assert_eq!(read(&path), None, "altered at {cut}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_exit_code_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("receipt.json");
        let failures = vec!["a::very::long::name".repeat(10); 200];
        let report = Some(SuiteReport { tests: 200, failures, unreadable: None });
        let tail = "\u{1}".repeat(2048);
        let big =
            Exit { report, output_tail: tail, exec_failed: Some("é".repeat(9000)), ..exit() };
        prepare(&path).unwrap();
        write(&path, &big).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 4096);
        let read = read(&path).unwrap();
        assert_eq!((read.code, read.output), (Some(3), exit().output));
        assert_eq!(read.report.unwrap().failures.len(), 1);
    }
}

//! What a command printed: its length and digest, and its last lines. It can be of any size and
//! hold any bytes, and a process that escaped may still be writing to it.

use crate::journal::line::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// How much of the output goes into the journal as evidence.
const TAIL: u64 = 2048;

/// Length and SHA-256 of what stands in a file now; what is appended meanwhile is left out.
pub(super) fn digest(file: &mut File) -> io::Result<(u64, String)> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    let mut rest = file.take(length);
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hex(&digest.finalize()))),
            Ok(read) => {
                digest.update(&buffer[..read]);
                bytes += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The last whole lines, at most 2 KiB, without control characters.
pub(super) fn tail(file: &mut File) -> io::Result<String> {
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let plain: String = text.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    let whole = if length > TAIL { plain.find('\n').map_or(0, |at| at + 1) } else { 0 };
    let plain = plain.get(whole..).filter(|rest| !rest.trim().is_empty()).unwrap_or(&plain);
    // bytes that are no text become longer than they were
    let mut from = plain.len().saturating_sub(usize::try_from(TAIL).unwrap_or(usize::MAX));
    while !plain.is_char_boundary(from) {
        from += 1;
    }
    Ok(plain[from..].trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn the_digest_is_of_all_that_was_printed() {
        let (bytes, sha256) = digest(&mut file(b"abc")).unwrap();
        assert_eq!(bytes, 3);
        assert!(sha256.starts_with("ba7816bf8f01cfea"));
        assert_eq!(digest(&mut file(&vec![b'x'; 200_000])).unwrap().0, 200_000);
    }

    #[test]
    fn the_tail_is_whole_lines_of_at_most_2_kib() {
        assert_eq!(tail(&mut file(b"one\n\x1b[31mtwo\x07\n\n")).unwrap(), "one\n[31mtwo");
        let many: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let last = tail(&mut file(many.as_bytes())).unwrap();
        assert!(last.len() <= 2048 && last.starts_with("line ") && last.ends_with("line 999"));
        let endless = tail(&mut file(&[b'x'; 5000])).unwrap();
        assert_eq!(endless.len(), 2048);
        let noise = tail(&mut file(&[0xff; 5000])).unwrap();
        assert!(noise.len() <= 2048);
    }
}

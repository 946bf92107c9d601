//! `runs/<dispatch>/`: the evidence of a dispatch.
//!
//! | file | what |
//! |---|---|
//! | `claim` | a supervisor has taken it |
//! | `ran` | the command ran |
//! | `receipt.json` | how it ended; 4 KiB are there before it starts |
//! | `output.log` | everything it printed |
//! | `command.json` | what was executed, without the values of its environment |

use crate::domain::event::{Exit, OutputRange};
use crate::domain::ids::DispatchId;
use crate::engine::ports::Runs;
use crate::journal::disk::{open_or_create, sync_dir};
use crate::journal::line::{hex, sha256_hex};
use crate::journal::place::make_dir;
use rustix::fs::{FallocateFlags, fallocate};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How much space a receipt has before its command starts.
const RECEIPT: u64 = 4096;
/// How much of the output goes into the journal as evidence.
const TAIL: u64 = 2048;

/// The `runs` directory of a state directory.
#[derive(Debug, Clone)]
pub struct SystemRuns {
    root: PathBuf,
}

impl SystemRuns {
    /// Of this state directory.
    pub fn new(state_dir: &Path) -> Self {
        Self { root: state_dir.join("runs") }
    }

    /// The directory of one dispatch.
    pub fn dir(&self, dispatch: DispatchId) -> PathBuf {
        self.root.join(dispatch.to_string())
    }

    /// The dispatch's output.
    pub fn log(&self, dispatch: DispatchId) -> PathBuf {
        self.dir(dispatch).join("output.log")
    }

    /// Makes `claim` and a receipt with space of its own, both durable; what is there stays.
    ///
    /// # Errors
    /// Whatever the system says: without them nothing may start.
    pub(super) fn claim(&self, dispatch: DispatchId) -> io::Result<()> {
        let dir = self.dir(dispatch);
        make_dir(&dir)?;
        open_or_create(&dir.join("claim"))?.sync_all()?;
        let receipt = open_or_create(&dir.join("receipt.json"))?;
        // a file system without it cannot promise the space; then the write itself must succeed
        let _ = fallocate(&receipt, FallocateFlags::KEEP_SIZE, 0, RECEIPT);
        receipt.sync_all()?;
        sync_dir(&dir)
    }

    /// Writes a receipt: one line of JSON and its checksum.
    ///
    /// # Errors
    /// Whatever the system says.
    pub(super) fn write_receipt(&self, dispatch: DispatchId, exit: &Exit) -> io::Result<()> {
        let body = serde_json::to_string(exit)?;
        let text = format!("{body}\n{}\n", sha256_hex(body.as_bytes()));
        let file = open_or_create(&self.dir(dispatch).join("receipt.json"))?;
        file.write_all_at(text.as_bytes(), 0)?;
        file.sync_all()
    }

    /// Length and digest of the output, and its last lines.
    pub(super) fn output(&self, dispatch: DispatchId) -> (Option<OutputRange>, String) {
        let path = format!("runs/{dispatch}/output.log");
        let Ok(mut file) = File::open(self.log(dispatch)) else { return (None, String::new()) };
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0;
        while let Ok(n) = file.read(&mut buffer) {
            if n == 0 {
                break;
            }
            digest.update(&buffer[..n]);
            bytes += n as u64;
        }
        let range = OutputRange { path, bytes, sha256: hex(&digest.finalize()) };
        (Some(range), tail(&mut file))
    }
}

fn tail(file: &mut File) -> String {
    let length = file.metadata().map_or(0, |meta| meta.len());
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(length.saturating_sub(TAIL)))
        .and_then(|_| file.take(TAIL).read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let plain: String = text.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    let cut = if length > TAIL { plain.find('\n').map_or(0, |at| at + 1) } else { 0 };
    plain[cut..].trim_end().to_owned()
}

impl Runs for SystemRuns {
    fn prepare(&self, dispatch: DispatchId) -> Result<(), String> {
        let dir = self.dir(dispatch);
        make_dir(&dir).map_err(|error| format!("cannot make `{}`: {error}", dir.display()))
    }

    fn tried(&self, dispatch: DispatchId) -> bool {
        self.dir(dispatch).is_dir()
    }

    fn claimed(&self, dispatch: DispatchId) -> bool {
        self.dir(dispatch).join("claim").exists()
    }

    fn ran(&self, dispatch: DispatchId) -> bool {
        self.dir(dispatch).join("ran").exists()
    }

    fn receipt(&self, dispatch: DispatchId) -> Option<Exit> {
        let text = std::fs::read_to_string(self.dir(dispatch).join("receipt.json")).ok()?;
        let (body, sum) = text.trim_end().split_once('\n')?;
        if sha256_hex(body.as_bytes()) != sum {
            return None;
        }
        serde_json::from_str(body).ok()
    }

    fn output_tail(&self, dispatch: DispatchId) -> String {
        File::open(self.log(dispatch)).map_or_else(|_| String::new(), |mut file| tail(&mut file))
    }
}

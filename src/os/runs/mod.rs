//! `runs/<dispatch>/`: the evidence of a dispatch.
//!
//! | file | what |
//! |---|---|
//! | `claim` | a supervisor has taken it |
//! | `ran` | the command ran |
//! | `receipt.json` | how it ended; 4 KiB are there before it starts |
//! | `output.log` | everything it printed |
//! | `command.json`, `prompt` | what was executed, without its environment; its standard input |
//! | `supervisor.log` | what its supervisor had to say |

mod output;
mod receipt;

use crate::domain::event::{Exit, OutputRange};
use crate::domain::ids::DispatchId;
use crate::engine::ports::Runs;
use crate::journal::disk::{open_or_create, sync_dir};
use crate::journal::place::make_dir;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

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
        drop(open_or_create(&dir.join("claim"))?);
        receipt::prepare(&dir.join("receipt.json"))?;
        sync_dir(&dir)?;
        sync_dir(&self.root)
    }

    /// Opens the output for appending; what is there stays.
    ///
    /// # Errors
    /// Whatever the system says.
    pub(super) fn open_log(&self, dispatch: DispatchId) -> io::Result<File> {
        let path = self.log(dispatch);
        drop(open_or_create(&path)?);
        std::fs::OpenOptions::new().append(true).open(path)
    }

    /// Writes a receipt.
    ///
    /// # Errors
    /// Whatever the system says.
    pub(super) fn write_receipt(&self, dispatch: DispatchId, exit: &Exit) -> io::Result<()> {
        receipt::write(&self.dir(dispatch).join("receipt.json"), exit)
    }

    /// Length and digest of the output, and its last lines.
    pub(super) fn output(&self, dispatch: DispatchId) -> (Option<OutputRange>, String) {
        let Ok(mut file) = File::open(self.log(dispatch)) else { return (None, String::new()) };
        let path = format!("runs/{dispatch}/output.log");
        let range = output::digest(&mut file);
        let range = range.map(|(bytes, sha256)| OutputRange { path, bytes, sha256 });
        (range.ok(), output::tail(&mut file).unwrap_or_default())
    }

    fn there(&self, dispatch: DispatchId, name: &str) -> io::Result<bool> {
        match self.dir(dispatch).join(name).symlink_metadata() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Runs for SystemRuns {
    fn prepare(&self, dispatch: DispatchId) -> Result<(), String> {
        let dir = self.dir(dispatch);
        make_dir(&dir).map_err(|error| format!("cannot make `{}`: {error}", dir.display()))
    }

    fn tried(&self, dispatch: DispatchId) -> bool {
        // who cannot look must not say that nobody tried
        self.there(dispatch, "").unwrap_or(true)
    }

    fn claimed(&self, dispatch: DispatchId) -> bool {
        self.there(dispatch, "claim").unwrap_or(false)
    }

    fn ran(&self, dispatch: DispatchId) -> bool {
        // who cannot look must not say that it may be run again
        self.there(dispatch, "ran").unwrap_or(true)
    }

    fn ran_up(&self, dispatch: DispatchId) -> Option<u64> {
        std::fs::read_to_string(self.dir(dispatch).join("ran")).ok()?.parse().ok()
    }

    fn receipt(&self, dispatch: DispatchId) -> Option<Exit> {
        let mut exit = receipt::read(&self.dir(dispatch).join("receipt.json"))?;
        if exit.output_tail.is_empty() && exit.ran {
            exit.output_tail = self.output_tail(dispatch);
        }
        Some(exit)
    }

    fn output_tail(&self, dispatch: DispatchId) -> String {
        let tail = File::open(self.log(dispatch)).and_then(|mut file| output::tail(&mut file));
        tail.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, SystemRuns, DispatchId) {
        let dir = tempfile::tempdir().unwrap();
        let runs = SystemRuns::new(dir.path());
        (dir, runs, DispatchId(uuid::Uuid::now_v7()))
    }

    #[test]
    fn evidence_appears_step_by_step() {
        let (_dir, runs, id) = place();
        assert!(!runs.tried(id));
        runs.prepare(id).unwrap();
        assert!(runs.tried(id) && !runs.claimed(id));
        runs.claim(id).unwrap();
        assert!(runs.claimed(id) && !runs.ran(id));
        assert_eq!(runs.receipt(id), None);
        runs.write_receipt(id, &Exit { code: Some(0), ..Exit::default() }).unwrap();
        assert_eq!(runs.receipt(id).unwrap().code, Some(0));
    }

    #[test]
    fn a_second_claim_truncates_nothing() {
        let (_dir, runs, id) = place();
        runs.claim(id).unwrap();
        let exit = Exit { code: Some(7), ..Exit::default() };
        runs.write_receipt(id, &exit).unwrap();
        std::fs::write(runs.log(id), "said\n").unwrap();
        runs.claim(id).unwrap();
        drop(runs.open_log(id).unwrap());
        assert_eq!(runs.receipt(id), Some(exit));
        assert_eq!(runs.output_tail(id), "said");
    }

    #[test]
    fn evidence_that_cannot_be_looked_at_never_says_that_it_may_run_again() {
        let (dir, runs, id) = place();
        runs.prepare(id).unwrap();
        std::fs::remove_dir(runs.dir(id)).unwrap();
        std::fs::write(runs.dir(id), "not a directory").unwrap();
        assert!(runs.ran(id) && !runs.claimed(id));
        drop(dir);
    }
}

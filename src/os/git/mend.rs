//! Branches after a power failure: git has their names on the disk before their content.
//!
//! Crash story: an agent commits, its own git syncs the ref and not the objects, and power fails.
//! The objects come back as empty files. Whatever asks for the branch fails from then on, git
//! takes the empty files for the objects when the same work is done again, and every look at all
//! branches stops at the broken one.

use super::refs::{Swap, branch_ref};
use super::run::Launcher;
use crate::domain::ids::CommitId;
use crate::engine::ports::git::GitError;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// What git says when an object is missing, or is no object.
const BROKEN: &[&str] = &["bad object", "unable to read", "missing", "corrupt", "could not parse"];

impl Launcher {
    /// Puts a branch that cannot be read back to the newest commit it was at that can, or else to
    /// where it began. Whether it had to be.
    pub(super) fn mend(&self, branch: &str, start: &CommitId) -> Result<bool, GitError> {
        let name = branch_ref(branch);
        let Some(tip) = self.resolve(&name)? else { return Ok(false) };
        if self.is_whole(&tip.0, start)? {
            return Ok(false);
        }
        let common = self.common_dir()?;
        remove_hollow(&common.join("objects")).map_err(|error| GitError::System {
            path: common.display().to_string(),
            message: error.to_string(),
        })?;
        let log = fs::read_to_string(common.join("logs").join(&name)).unwrap_or_default();
        let were = log.lines().rev().filter_map(|line| line.split(' ').nth(1));
        let mut whole = start.clone();
        for commit in were.filter(|id| id.len() == tip.0.len()) {
            if self.is_whole(commit, start)? {
                whole = CommitId(commit.to_owned());
                break;
            }
        }
        match self.swap(&name, &whole, Some(&tip))? {
            Swap::Done => Ok(true),
            Swap::Lost(_) => Err(GitError::Missing { name }),
        }
    }

    /// Whether everything is there, and can be read, that a commit has and another has not.
    fn is_whole(&self, commit: &str, start: &CommitId) -> Result<bool, GitError> {
        let call = self.git("log").args(["-m", "--numstat", "--no-renames", "--format="]);
        let call = call.args(["--no-ext-diff", "--no-textconv", commit, "--not", &start.0]);
        let output = call.unbounded().output()?;
        match output.code {
            Some(0) => Ok(true),
            Some(_) if BROKEN.iter().any(|said| output.stderr.contains(said)) => Ok(false),
            _ => Err(output.failure()),
        }
    }
}

/// Removes the files of objects that have a name and no content.
fn remove_hollow(objects: &Path) -> std::io::Result<()> {
    for directory in fs::read_dir(objects)? {
        let directory = directory?;
        if directory.file_name().len() != 2 || !directory.file_type()?.is_dir() {
            continue;
        }
        for object in fs::read_dir(directory.path())? {
            let object = object?;
            if object.file_name().to_string_lossy().starts_with("tmp_") {
                continue; // somebody writes it now
            }
            let path = object.path();
            let mut first = [0];
            let n = File::open(&path)?.read(&mut first)?;
            if n == 0 || first == [0] {
                fs::remove_file(&path)?; // what is compressed never begins with a zero
            }
        }
    }
    Ok(())
}

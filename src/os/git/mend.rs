//! A repository after a power failure: git has names on the disk before their content.
//!
//! Crash story: an agent commits, its own git syncs the ref and not the objects, and power fails.
//! The objects come back empty or cut off. Whatever asks for the branch fails from then on, every
//! look at all branches stops at the broken one, and git takes the useless files for the objects
//! when the same work is done again: what is landed then cannot be read.

use super::refs::{Swap, branch_ref};
use super::run::Launcher;
use crate::domain::ids::CommitId;
use crate::engine::ports::git::GitError;
use flate2::{Decompress, FlushDecompress, Status};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// What git says when an object is missing, or is no object.
const BROKEN: &[&str] = &["bad object", "bad tree object", "Could not read", "missing "];
/// Where files go that bear an object's name and are none; git does not look there.
const ASIDE: &str = "sched-lost";
/// How far back a branch is followed that has no log.
const FOLLOWED: u32 = 1_000;

impl Launcher {
    /// Sets aside what is no object, and puts a branch that cannot be read back to the newest
    /// commit it was at that can, or else to where it began. Whether it had to be.
    pub(super) fn mend(&self, branch: &str, start: &CommitId) -> Result<bool, GitError> {
        let common = self.common_dir()?;
        let name = branch_ref(branch);
        let file = common.join(&name);
        let objects = common.join("objects");
        let failed = |error: io::Error| GitError::System {
            path: objects.display().to_string(),
            message: error.to_string(),
        };
        alternates_are_there(&objects).map_err(failed)?;
        set_aside(&objects).map_err(failed)?;
        let hollow = fs::read(&file).is_ok_and(|content| content.iter().all(|byte| *byte == 0));
        if hollow {
            fs::remove_file(&file).map_err(failed)?;
        }
        let tip = self.resolve(&name)?;
        let log = common.join("logs").join(&name);
        // git removes a log with its branch: where it is left, its ref was removed above, and
        // whoever did that died
        let is_well = match &tip {
            Some(tip) => !hollow && self.is_whole(&tip.0, start)?,
            None => !log.exists(),
        };
        if is_well {
            return Ok(false);
        }
        let whole = self.newest_whole(&log, tip.as_ref(), start)?;
        match self.swap(&name, &whole, tip.as_ref())? {
            Swap::Done => Ok(true),
            Swap::Lost(_) => Err(GitError::Missing { name }),
        }
    }

    /// The newest commit that can be read of those that a branch was at.
    fn newest_whole(
        &self,
        log: &Path,
        tip: Option<&CommitId>,
        start: &CommitId,
    ) -> Result<CommitId, GitError> {
        let Ok(log) = fs::read(log) else { return self.readable_parent(tip, start) };
        for line in log.split(|byte| *byte == b'\n').rev() {
            let id = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
            let id = String::from_utf8_lossy(id);
            if is_id(&id, start) && self.is_whole(&id, start)? {
                return Ok(CommitId(id.into_owned()));
            }
        }
        Ok(start.clone())
    }

    /// Where nothing says where a branch was, the commits before its tip do, as far as they can be
    /// read. To go to its start would give up what was acknowledged.
    fn readable_parent(
        &self,
        tip: Option<&CommitId>,
        start: &CommitId,
    ) -> Result<CommitId, GitError> {
        for n in 1..FOLLOWED {
            let Some(tip) = tip else { break };
            let Some(before) = self.object(&format!("{tip}~{n}"), "commit")? else { break };
            if self.is_whole(&before, start)? {
                return Ok(CommitId(before));
            }
        }
        let message = "its commits cannot be read, and no log says where it was before".to_owned();
        Err(GitError::Failed { command: "rev-list".into(), message })
    }

    /// Whether something was set aside here: an index may know files whose objects are gone.
    pub(super) fn has_lost(&self) -> bool {
        self.common_dir().is_ok_and(|common| common.join("objects").join(ASIDE).exists())
    }

    /// Whether everything is there that a commit (or tree) has and another has not.
    pub(super) fn is_whole(&self, commit: &str, start: &CommitId) -> Result<bool, GitError> {
        let call = self.git("rev-list").config("core.commitGraph=false");
        let call = call.args(["--objects", "--quiet", commit, "--not", &start.0]);
        let output = call.unbounded().output()?;
        let said = |what: &&str| output.stderr.contains(*what);
        match output.code {
            Some(0) => Ok(true),
            // what is fetched when it is needed is not lost
            Some(_) if BROKEN.iter().any(said) && !said(&"promisor") => Ok(false),
            _ => Err(output.failure()),
        }
    }
}

fn is_id(text: &str, like: &CommitId) -> bool {
    let is_zero = text.bytes().all(|byte| byte == b'0');
    text.len() == like.0.len() && !is_zero && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What lies in another repository that is not there now is not lost.
fn alternates_are_there(objects: &Path) -> io::Result<()> {
    let list = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        fs::metadata(objects.join(line.trim_matches('"')))?;
    }
    Ok(())
}

/// Moves the files of objects out of git's sight that cannot be read to their end.
fn set_aside(objects: &Path) -> io::Result<()> {
    for directory in fs::read_dir(objects)? {
        let directory = directory?;
        let prefix = directory.file_name().to_string_lossy().into_owned();
        if prefix.len() != 2 || !directory.file_type()?.is_dir() {
            continue;
        }
        for object in fs::read_dir(directory.path())? {
            let object = object?;
            let rest = object.file_name().to_string_lossy().into_owned();
            let named = rest.bytes().all(|byte| byte.is_ascii_hexdigit()); // else in the making
            if named && !is_object(&object.path())? {
                fs::create_dir_all(objects.join(ASIDE))?;
                fs::rename(object.path(), objects.join(ASIDE).join(format!("{prefix}{rest}")))?;
            }
        }
    }
    Ok(())
}

/// Whether a file is compressed content, to its end and its sum.
fn is_object(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let (mut read, mut content) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut inflate = Decompress::new(true);
    loop {
        let n = file.read(&mut read)?;
        if n == 0 {
            return Ok(false);
        }
        let begun = inflate.total_in();
        let used = |inflate: &Decompress| usize::try_from(inflate.total_in() - begun).unwrap_or(n);
        while used(&inflate) < n {
            let rest = &read[used(&inflate)..n];
            match inflate.decompress(rest, &mut content, FlushDecompress::None) {
                Ok(Status::StreamEnd) => return Ok(true),
                Ok(_) => {}
                Err(_) => return Ok(false),
            }
        }
    }
}

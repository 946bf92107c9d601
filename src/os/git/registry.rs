//! Which working trees are ours: the registrations in the repository's common directory.
//!
//! A tree is used through its registration (`--git-dir`, `--work-tree`), never through the
//! `.git` that lies in it: that one an agent may have replaced.

use super::place::entry;
use super::run::{Call, Launcher};
use crate::engine::ports::git::GitError;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// What git writes into `locked` while it makes a tree.
const INITIALIZING: &str = "initializing";

/// A working tree as the common directory knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registration {
    /// Its directory under `worktrees/`.
    pub(super) admin: PathBuf,
    /// Where the tree is, or should be.
    pub(super) path: PathBuf,
    /// Why it is locked, if it is.
    pub(super) locked: Option<String>,
}

/// What is at the place of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing, or an empty directory, and no registration.
    Absent,
    /// A tree of ours.
    Whole(Registration),
    /// A registration of ours whose tree was never finished, or lost its `.git`, or is gone.
    HalfMade(Registration),
    /// A tree of ours without its registration, which was here.
    Orphan(PathBuf),
    /// Something that is not ours; why.
    Foreign(String),
}

impl Launcher {
    /// The directory that all working trees share, links resolved.
    pub(super) fn common_dir(&self) -> Result<PathBuf, GitError> {
        if let Some(known) = self.common.get() {
            return Ok(known.clone());
        }
        let call = self.git("rev-parse").args(["--path-format=absolute", "--git-common-dir"]);
        let path = as_path(call.bytes()?);
        let path = fs::canonicalize(&path).map_err(|e| GitError::System {
            path: path.display().to_string(),
            message: e.to_string(),
        })?;
        Ok(self.common.get_or_init(|| path).clone())
    }

    /// The main working tree, links resolved; `None` for a bare repository.
    pub(super) fn main_tree(&self) -> Result<Option<PathBuf>, GitError> {
        Ok(self.checkouts()?.into_iter().find(|c| c.main && !c.bare).map(|c| c.path))
    }

    /// Every registration that names a path.
    pub(super) fn registrations(&self) -> Result<Vec<Registration>, GitError> {
        let directory = self.common_dir()?.join("worktrees");
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        Ok(entries.filter_map(|e| read(e.path())).collect())
    }

    /// A call of `git worktree`. Crash story: git is killed when it has made the `commondir` of a
    /// new tree and not written it, and from then on fails for every tree, whosever it is. What
    /// stands there is always the same.
    pub(super) fn worktree(&self, subcommand: &str) -> Result<Call<'_>, GitError> {
        let directory = self.common_dir()?.join("worktrees");
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path().join("commondir");
            if is_cut_off(&path) {
                fs::write(&path, "../..\n").map_err(|error| GitError::System {
                    path: path.display().to_string(),
                    message: error.to_string(),
                })?;
            }
        }
        Ok(self.git("worktree").arg(subcommand))
    }

    /// What is at the place of a tree.
    pub(super) fn standing(&self, place: &Path) -> Result<Standing, GitError> {
        let known = self.registrations()?.into_iter();
        let known = known.into_iter().find(|r| entry(&r.path).is_ok_and(|p| p == place));
        let points_to = points_to(place);
        let Some(known) = known else {
            return self.unregistered(place, points_to);
        };
        if known.locked.as_deref() == Some(INITIALIZING) {
            return Ok(Standing::HalfMade(known));
        }
        let own = fs::canonicalize(&known.admin).ok();
        Ok(match points_to {
            None => Standing::HalfMade(known),
            Some(target) if own.is_some() && fs::canonicalize(&target).ok() == own => {
                Standing::Whole(known)
            }
            Some(target) => Standing::Foreign(format!(
                "its `.git` points to `{}`, not to this repository",
                target.display()
            )),
        })
    }

    fn unregistered(&self, place: &Path, points_to: Option<PathBuf>) -> Result<Standing, GitError> {
        let Ok(mut inside) = fs::read_dir(place) else {
            let exists = fs::symlink_metadata(place).is_ok();
            let foreign = || Standing::Foreign("it is no directory that can be read".into());
            return Ok(if exists { foreign() } else { Standing::Absent });
        };
        if inside.next().is_none() {
            return Ok(Standing::Absent);
        }
        let ours = self.common_dir()?.join("worktrees");
        Ok(match points_to {
            // power failed while git made it: neither of the two files that name each other came
            // to the disk
            None if is_cut_off(&place.join(".git")) => {
                let admin = ours.join(place.file_name().unwrap_or_default());
                let admin = if read(admin.clone()).is_none() { admin } else { place.join(".git") };
                Standing::HalfMade(Registration { admin, path: place.to_owned(), locked: None })
            }
            None => Standing::Foreign("a directory is there that is no working tree".into()),
            Some(admin)
                if !admin.exists() && entry(&admin).is_ok_and(|a| a.parent() == Some(&ours)) =>
            {
                Standing::Orphan(admin)
            }
            Some(admin) => Standing::Foreign(format!(
                "its `.git` points to `{}`, which does not name this path",
                admin.display()
            )),
        })
    }

    /// A call of git in a tree of ours.
    pub(super) fn in_tree(&self, tree: &Registration, subcommand: &str) -> Call<'_> {
        let call = self.git(subcommand).option(option("--git-dir=", &tree.admin));
        call.option(option("--work-tree=", &tree.path)).at(&tree.path)
    }
}

/// An option that holds a path, whatever bytes that has.
pub(super) fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// Bytes that git wrote as a path.
pub(super) fn as_path(mut bytes: Vec<u8>) -> PathBuf {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn read(admin: PathBuf) -> Option<Registration> {
    let link = as_path(fs::read(admin.join("gitdir")).ok()?);
    let link = if link.is_absolute() { link } else { admin.join(link) };
    let path = link.parent()?.to_owned();
    let reason = fs::read(admin.join("locked")).ok();
    let locked = reason.map(|r| String::from_utf8_lossy(&r).trim().to_owned());
    Some(Registration { admin, path, locked })
}

/// Where the `.git` of a directory points to; a repository of its own points to itself.
fn points_to(directory: &Path) -> Option<PathBuf> {
    let dot_git = directory.join(".git");
    let meta = fs::symlink_metadata(&dot_git).ok()?;
    if !meta.is_file() {
        return Some(dot_git);
    }
    if is_cut_off(&dot_git) {
        return None;
    }
    let content = fs::read(&dot_git).ok()?;
    let target = content.strip_prefix(b"gitdir: ").map(|t| as_path(t.trim_ascii_end().to_vec()));
    Some(target.map_or(dot_git, |t| if t.is_absolute() { t } else { directory.join(t) }))
}

/// Whether a file has its name and nothing else: power failed before its content was on the disk.
fn is_cut_off(path: &Path) -> bool {
    let file = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    file && fs::read(path).is_ok_and(|content| content.iter().all(|byte| *byte == 0))
}

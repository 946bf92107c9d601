//! Unsaved work is never destroyed: before a tree is cleaned or removed, dirty files and commits
//! that no branch has go on a rescue ref, built with a throw-away index.

use super::refs::{full, is_ancestor, reference, tree_of};
use super::run::SystemGit;
use super::trees::{Standing, real, standing};
use crate::domain::event::{Reclaim, ReclaimTree, Reclaimed};
use crate::domain::fact::Seen;
use crate::domain::ids::{CommitId, Unit};
use crate::engine::ports::GitFailure;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(super) fn reclaim(git: &SystemGit, reclaim: &Reclaim, unit: &Unit) -> Vec<Reclaimed> {
    match reclaim {
        Reclaim::Rescue { path, branch } => {
            let done = rescue(git, unit, Path::new(path), Some(branch)).and_then(|reference| {
                clean(git, Path::new(path), branch)?;
                Ok(reference)
            });
            vec![said(unit, path, done)]
        }
        Reclaim::Remove { root, trees } => {
            trees.iter().map(|tree| said(&tree.unit, &tree.path, remove(git, root, tree))).collect()
        }
    }
}

fn said(unit: &Unit, path: &str, done: Result<Option<String>, GitFailure>) -> Reclaimed {
    let (unit, path) = (unit.clone(), path.to_owned());
    match done {
        Ok(rescue) => Reclaimed { unit, path, rescue, done: true, error: None },
        Err(failure) => {
            let error = Some(failure.to_string());
            Reclaimed { unit, path, rescue: None, done: false, error }
        }
    }
}

fn failed(what: &str, path: &Path, error: impl std::fmt::Display) -> GitFailure {
    GitFailure::Failed(format!("cannot {what} `{}`: {error}", path.display()))
}

/// Puts whatever would be lost on a rescue ref. `None`: nothing would be.
fn rescue(
    git: &SystemGit,
    unit: &Unit,
    path: &Path,
    branch: Option<&str>,
) -> Result<Option<String>, GitFailure> {
    let head = git.ask_in(path, &["rev-parse", "--verify", "--quiet", "HEAD"], &[])?;
    if head.code != 0 {
        return Err(head.failure("rev-parse"));
    }
    let head = CommitId(head.text());
    let tree = snapshot(git, path, &head)?;
    let dirty = tree != tree_of(git, &head)?;
    let reached = match branch.map(|branch| reference(git, branch)) {
        Some(Seen::Value(tip)) => is_ancestor(git, &head, &tip)?,
        _ => false,
    };
    if !dirty && reached {
        return Ok(None);
    }
    let kept = if dirty {
        let message = format!("unsaved work of {unit}");
        let args = ["commit-tree", &tree, "-p", head.as_str(), "-m", &message];
        git.must(&args).map(CommitId)?
    } else {
        head
    };
    let name = reference_name(unit);
    git.must(&["update-ref", "-m", "sched: rescue", &name, kept.as_str()])?;
    Ok(Some(name))
}

/// The tree of everything that is in a directory now, ignored files apart.
fn snapshot(git: &SystemGit, path: &Path, head: &CommitId) -> Result<String, GitFailure> {
    let scratch = tempfile::tempdir().map_err(|e| failed("make a directory for", path, e))?;
    let index = scratch.path().join("index");
    let more: [(&str, &OsStr); 1] = [("GIT_INDEX_FILE", index.as_os_str())];
    for args in [vec!["read-tree", head.as_str()], vec!["add", "-A"]] {
        let said = git.ask_in(path, &args, &more)?;
        if said.code != 0 {
            return Err(said.failure(args[0]));
        }
    }
    let said = git.ask_in(path, &["write-tree"], &more)?;
    if said.code == 0 { Ok(said.text()) } else { Err(said.failure("write-tree")) }
}

fn reference_name(unit: &Unit) -> String {
    let unit = unit.to_string().replace(':', "/").replace('@', "-");
    format!("refs/sched/rescue/{unit}/{}", chrono::Utc::now().timestamp_millis())
}

/// Puts a tree back on its branch, clean.
fn clean(git: &SystemGit, path: &Path, branch: &str) -> Result<(), GitFailure> {
    let steps: [&[&str]; 2] = [&["checkout", "--quiet", "--force", branch], &["clean", "-fdq"]];
    for step in steps {
        let said = git.ask_in(path, step, &[])?;
        if said.code != 0 {
            return Err(said.failure(step[0]));
        }
    }
    let head = git.ask_in(path, &["symbolic-ref", "--quiet", "HEAD"], &[])?;
    if head.text() == full(branch) {
        return Ok(());
    }
    Err(failed("put back", path, format!("its HEAD is {}", head.text())))
}

fn remove(git: &SystemGit, root: &str, tree: &ReclaimTree) -> Result<Option<String>, GitFailure> {
    let path = Path::new(&tree.path);
    if !real(path).starts_with(real(Path::new(root))) {
        return Err(failed("remove", path, format!("it is not under `{root}`")));
    }
    let rescued = match standing(git, path)? {
        Standing::Ours => {
            // a check tree is the scheduler's own; nobody works in it
            let branch = tree.branch.as_deref();
            let rescued = match branch {
                Some(branch) => rescue(git, &tree.unit, path, Some(branch))?,
                None => None,
            };
            remove_registered(git, path)?;
            rescued
        }
        Standing::HalfMade => {
            remove_registered(git, path)?;
            None
        }
        Standing::Unregistered => {
            let moved = set_aside(path)?;
            return Err(failed("remove", path, format!("set aside as `{}`", moved.display())));
        }
        Standing::Absent => {
            let _ = std::fs::remove_dir(path);
            git.ask(&["worktree", "prune"])?;
            None
        }
        Standing::Foreign => return Err(failed("remove", path, "it is not ours")),
    };
    if let Some(parent) = path.parent() {
        let _ = std::fs::remove_dir(parent); // the batch's own directory, once it is empty
    }
    Ok(rescued)
}

/// Removes a registered tree, whatever state it is in.
pub(super) fn remove_registered(git: &SystemGit, path: &Path) -> Result<(), GitFailure> {
    let text = path.to_string_lossy().into_owned();
    let said = git.ask(&["worktree", "remove", "--force", "--force", &text])?;
    if said.code == 0 {
        return Ok(());
    }
    if path.exists() {
        std::fs::remove_dir_all(path).map_err(|e| failed("remove", path, e))?;
    }
    git.ask(&["worktree", "unlock", &text])?;
    git.must(&["worktree", "prune"]).map(drop)
}

/// Moves a directory whose registration is gone out of the way; nothing in it is lost.
pub(super) fn set_aside(path: &Path) -> Result<PathBuf, GitFailure> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let stamp = chrono::Utc::now().timestamp_millis();
    let to = path.with_file_name(format!("{name}.left-{stamp}"));
    std::fs::rename(path, &to).map_err(|e| failed("set aside", path, e))?;
    Ok(to)
}

//! Working trees: made, made fit for use again, or left alone because they are not ours.
//!
//! *Ours*: a registration in this repository names the path. *Half-made*: its registration is
//! locked as `initializing`, or its `.git` is missing: removed and made again, never judged as
//! work. *Foreign*: its `.git` does not point back here: not repaired, not pruned, not removed.

use super::refs::{full, reference};
use super::rescue;
use super::run::SystemGit;
use crate::domain::event::Tree;
use crate::domain::fact::Seen;
use crate::domain::ids::CommitId;
use crate::engine::ports::{GitFailure, TreeFailure};
use std::path::{Path, PathBuf};

/// What stands at a tree's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing.
    Absent,
    /// A tree of this repository, registered.
    Ours,
    /// Registered, and never finished or without its `.git`.
    HalfMade,
    /// A directory that was a tree of this repository and is no longer registered.
    Unregistered,
    /// Something else.
    Foreign,
}

/// The real path, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

pub(super) fn standing(git: &SystemGit, path: &Path) -> Result<Standing, GitFailure> {
    let said = git.ask(&["worktree", "list", "--porcelain", "-z"])?;
    let wanted = real(path);
    let mut here = false;
    let mut registered = false;
    let mut initializing = false;
    for record in said.records() {
        if let Some(named) = record.strip_prefix("worktree ") {
            here = real(Path::new(named)) == wanted;
            registered |= here;
        } else if here && record == "locked initializing" {
            initializing = true;
        }
    }
    let pointer = std::fs::read_to_string(path.join(".git")).ok();
    let common = super::common_dir(&git.repository);
    let points_here =
        pointer.as_deref().and_then(|text| text.strip_prefix("gitdir: ")).is_some_and(|to| {
            common.as_ref().is_some_and(|dir| real(Path::new(to.trim())).starts_with(real(dir)))
        });
    Ok(match (registered, pointer.is_some(), points_here) {
        (true, _, _) if initializing => Standing::HalfMade,
        (true, false, _) => Standing::HalfMade,
        (true, true, true) => Standing::Ours,
        (true, true, false) => Standing::Foreign,
        (false, true, true) => Standing::Unregistered,
        (false, ..) if !path.exists() => Standing::Absent,
        (false, ..) if is_empty_dir(path) => Standing::Absent,
        (false, ..) => Standing::Foreign,
    })
}

fn is_empty_dir(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn own(reason: impl Into<String>) -> TreeFailure {
    TreeFailure { own: true, reason: reason.into() }
}

fn other(reason: impl ToString) -> TreeFailure {
    TreeFailure { own: false, reason: reason.to_string() }
}

pub(super) fn make(git: &SystemGit, tree: &Tree) -> Result<(), TreeFailure> {
    match tree {
        Tree::None => Ok(()),
        Tree::Member { path, branch, commit, exact } => {
            let path = Path::new(path);
            outside(git, path)?;
            member(git, path, branch, commit)?;
            if *exact { pin(git, path, commit) } else { on_branch(git, path, branch) }
        }
        Tree::Check { path, commit } => {
            let path = Path::new(path);
            outside(git, path)?;
            check(git, path, commit)
        }
    }
}

/// Never inside the repository, never inside `.git`.
fn outside(git: &SystemGit, path: &Path) -> Result<(), TreeFailure> {
    let here = real(path);
    let inside = here.starts_with(real(&git.repository))
        || super::common_dir(&git.repository).is_some_and(|dir| here.starts_with(real(&dir)));
    if inside {
        let shown = path.display();
        return Err(other(format!("`{shown}` is inside the repository: set worktree_root")));
    }
    Ok(())
}

fn member(
    git: &SystemGit,
    path: &Path,
    branch: &str,
    commit: &CommitId,
) -> Result<(), TreeFailure> {
    if prepared(git, path)? {
        return Ok(());
    }
    let text = path.to_string_lossy().into_owned();
    let said = match reference(git, branch) {
        Seen::Value(_) => git.ask(&["worktree", "add", "--quiet", &text, branch]),
        Seen::Absent => git.ask(&[
            "worktree",
            "add",
            "--quiet",
            "--no-track",
            "-b",
            branch,
            &text,
            commit.as_str(),
        ]),
        Seen::Unreachable(why) => return Err(other(why)),
    };
    finished(said, branch)
}

fn check(git: &SystemGit, path: &Path, commit: &CommitId) -> Result<(), TreeFailure> {
    if prepared(git, path)? {
        settle(git, path, commit)?;
        return Ok(());
    }
    let text = path.to_string_lossy().into_owned();
    let said = git.ask(&["worktree", "add", "--quiet", "--detach", &text, commit.as_str()]);
    finished(said, "")
}

/// Whether a tree of ours stands there. What is half-made is removed; what is foreign stays.
fn prepared(git: &SystemGit, path: &Path) -> Result<bool, TreeFailure> {
    match standing(git, path).map_err(other)? {
        Standing::Ours => return Ok(true),
        Standing::Absent => {
            git.ask(&["worktree", "prune"]).map_err(other)?;
        }
        Standing::HalfMade => rescue::remove_registered(git, path).map_err(other)?,
        Standing::Unregistered => {
            let moved = rescue::set_aside(path).map_err(other)?;
            say_where(&moved);
        }
        Standing::Foreign => {
            return Err(own(format!("`{}` is there and is not ours", path.display())));
        }
    }
    if let Some(parent) = path.parent() {
        crate::journal::place::make_dir(parent).map_err(other)?;
    }
    Ok(false)
}

/// The supervisor's log tells where it went.
fn say_where(path: &Path) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "a left directory was set aside as {}", path.display());
}

fn finished(said: Result<super::run::Said, GitFailure>, branch: &str) -> Result<(), TreeFailure> {
    let said = said.map_err(other)?;
    if said.code == 0 {
        return Ok(());
    }
    let text = said.err.trim().lines().last().unwrap_or_default().to_owned();
    let about_branch = text.contains("already checked out")
        || text.contains("already used by worktree")
        || (!branch.is_empty() && text.contains("invalid reference"));
    Err(if about_branch { own(text) } else { other(text) })
}

/// Exactly this commit, and nothing else: what was gated is what lands.
fn pin(git: &SystemGit, path: &Path, commit: &CommitId) -> Result<(), TreeFailure> {
    let head = git.ask_in(path, &["rev-parse", "HEAD"], &[]).map_err(other)?.text();
    let status = git.ask_in(path, &["status", "--porcelain"], &[]).map_err(other)?;
    if head == commit.as_str() && status.out.is_empty() {
        return Ok(());
    }
    settle(git, path, commit)
}

fn settle(git: &SystemGit, path: &Path, commit: &CommitId) -> Result<(), TreeFailure> {
    let steps: [&[&str]; 2] =
        [&["checkout", "--quiet", "--detach", "--force", commit.as_str()], &["clean", "-fdq"]];
    for step in steps {
        let said = git.ask_in(path, step, &[]).map_err(other)?;
        if said.code != 0 {
            return Err(other(said.err.trim()));
        }
    }
    Ok(())
}

/// An agent that is started again finds its tree on its branch, with what it had left there.
fn on_branch(git: &SystemGit, path: &Path, branch: &str) -> Result<(), TreeFailure> {
    let head = git.ask_in(path, &["symbolic-ref", "--quiet", "HEAD"], &[]).map_err(other)?;
    if head.text() == full(branch) {
        return Ok(());
    }
    let said = git.ask_in(path, &["checkout", "--quiet", branch], &[]).map_err(other)?;
    if said.code == 0 { Ok(()) } else { Err(own(said.err.trim().to_owned())) }
}

//! Moves the base branch to the integration tip. Where the base branch is checked out, index and
//! files go first, then the branch; otherwise the operator's next commit would silently remove
//! the batch's work.

use super::refs::{full, is_ancestor, reference, swap};
use super::run::SystemGit;
use crate::domain::fact::{Seen, ShipResult};
use crate::domain::ids::CommitId;
use crate::engine::ports::GitFailure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An `index.lock` older than this that nobody holds open is a dead process's.
const STALE_LOCK: Duration = Duration::from_secs(60);

pub(super) fn ship(
    git: &SystemGit,
    base: &str,
    old: &CommitId,
    new: &CommitId,
) -> Result<ShipResult, GitFailure> {
    let now = match reference(git, base) {
        Seen::Value(now) => now,
        Seen::Absent => return Err(GitFailure::Failed(format!("branch `{base}` is gone"))),
        Seen::Unreachable(why) => return Err(GitFailure::Failed(why)),
    };
    if is_ancestor(git, new, &now)? {
        return Ok(ShipResult::Shipped);
    }
    if now != *old {
        return Ok(ShipResult::BaseMoved(now));
    }
    for checkout in checkouts(git, base)? {
        if let Some(path) = update(git, &checkout, old, new)? {
            return Ok(ShipResult::Dirty(path));
        }
    }
    crate::crash::point("ship-files");
    if swap(git, base, new, Some(old))? {
        return Ok(ShipResult::Shipped);
    }
    match reference(git, base) {
        Seen::Value(now) => Ok(ShipResult::BaseMoved(now)),
        _ => Err(GitFailure::Failed(format!("branch `{base}` is gone"))),
    }
}

/// The working trees that have a branch checked out.
fn checkouts(git: &SystemGit, base: &str) -> Result<Vec<PathBuf>, GitFailure> {
    let said = git.ask(&["worktree", "list", "--porcelain", "-z"])?;
    let wanted = format!("branch {}", full(base));
    let mut found = Vec::new();
    let mut path = None;
    for record in said.records() {
        if let Some(named) = record.strip_prefix("worktree ") {
            path = Some(PathBuf::from(named));
        } else if record == wanted {
            found.extend(path.clone().filter(|p| p.join(".git").exists()));
        }
    }
    Ok(found)
}

/// One path that differs between two trees: mode and blob on either side, `None` where absent.
struct Change {
    old: Option<(String, String)>,
    new: Option<(String, String)>,
}

/// `:<old mode> <new mode> <old blob> <new blob> <status>` NUL `<path>` NUL.
fn raw(records: impl Iterator<Item = String>) -> BTreeMap<String, Change> {
    let mut changes = BTreeMap::new();
    let mut meta: Option<String> = None;
    for record in records {
        let Some(line) = meta.take() else {
            meta = Some(record);
            continue;
        };
        let words: Vec<&str> = line.trim_start_matches(':').split(' ').collect();
        let side = |mode: usize, blob: usize| {
            let (mode, blob) = (words.get(mode)?, words.get(blob)?);
            (*mode != "000000").then(|| ((*mode).to_owned(), (*blob).to_owned()))
        };
        changes.insert(record, Change { old: side(0, 2), new: side(1, 3) });
    }
    changes
}

fn raw_of(
    git: &SystemGit,
    dir: &Path,
    args: &[&str],
) -> Result<BTreeMap<String, Change>, GitFailure> {
    let said = git.ask_in(dir, args, &[])?;
    if said.code != 0 {
        return Err(said.failure(args.first().copied().unwrap_or_default()));
    }
    Ok(raw(said.records()))
}

/// Brings one checkout from `old` to `new`. The path that is in the way, if one is: then nothing
/// has moved.
fn update(
    git: &SystemGit,
    dir: &Path,
    old: &CommitId,
    new: &CommitId,
) -> Result<Option<String>, GitFailure> {
    remove_stale_lock(git, dir);
    if let Some(busy) = under_way(git, dir)? {
        return Ok(Some(busy));
    }
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", old.as_str(), new.as_str()];
    let changes = raw_of(git, dir, &args)?;
    git.ask_in(dir, &["update-index", "-q", "--refresh"], &[])?;
    let cached = ["diff-index", "--cached", "-z", "--raw", "--no-renames", old.as_str()];
    let staged = raw_of(git, dir, &cached)?;
    for (path, found) in &staged {
        let same = changes.get(path).is_some_and(|change| change.new == found.new);
        if !same {
            return Ok(Some(path.clone()));
        }
    }
    for path in raw_of(git, dir, &["diff-files", "-z", "--raw"])?.keys() {
        if !changes.contains_key(path) {
            return Ok(Some(path.clone()));
        }
    }
    for (path, change) in &changes {
        if !stage(git, dir, path, change, staged.contains_key(path))? {
            return Ok(Some(path.clone()));
        }
    }
    git.ask_in(dir, &["update-index", "-q", "--refresh"], &[])?;
    let dry = ["read-tree", "-n", "-m", "-u", old.as_str(), new.as_str()];
    let said = git.ask_long(dir, &dry)?;
    if said.code != 0 {
        return Ok(Some(named_in(&said.err)));
    }
    let said = git.ask_long(dir, &["read-tree", "-m", "-u", old.as_str(), new.as_str()])?;
    if said.code == 0 { Ok(None) } else { Err(said.failure("read-tree")) }
}

/// Whether a changed path has the content of `old` or of `new`; with `new`'s it is staged, with
/// `old`'s the index says so too. `staged`: the index has `new`'s already.
fn stage(
    git: &SystemGit,
    dir: &Path,
    path: &str,
    change: &Change,
    staged: bool,
) -> Result<bool, GitFailure> {
    let found = content(git, dir, path)?;
    let is = |side: &Option<(String, String)>| match (side, &found) {
        (None, None) => true,
        (Some((_, blob)), Some(found)) => blob == found,
        _ => false,
    };
    let (to, there) = if is(&change.new) {
        (&change.new, staged)
    } else if is(&change.old) {
        (&change.old, !staged)
    } else {
        return Ok(false);
    };
    if there {
        return Ok(true);
    }
    let said = match to {
        Some((mode, blob)) => {
            let info = format!("{mode},{blob},{path}");
            git.ask_in(dir, &["update-index", "--add", "--cacheinfo", &info], &[])?
        }
        None => git.ask_in(dir, &["update-index", "--force-remove", "--", path], &[])?,
    };
    if said.code == 0 { Ok(true) } else { Err(said.failure("update-index")) }
}

/// The blob that a file would be, without writing it; `None` where there is no file.
fn content(git: &SystemGit, dir: &Path, path: &str) -> Result<Option<String>, GitFailure> {
    let file = dir.join(path);
    let Ok(meta) = std::fs::symlink_metadata(&file) else { return Ok(None) };
    if meta.is_dir() {
        return Ok(Some("a directory".into()));
    }
    if meta.is_symlink() {
        let target = std::fs::read_link(&file)
            .map_err(|error| GitFailure::Failed(format!("`{path}`: {error}")))?;
        let scratch = tempfile::NamedTempFile::new()
            .and_then(|file| {
                std::fs::write(file.path(), target.as_os_str().as_encoded_bytes())?;
                Ok(file)
            })
            .map_err(|error| GitFailure::Failed(error.to_string()))?;
        let name = scratch.path().to_string_lossy().into_owned();
        return git.must(&["hash-object", "--no-filters", "--", &name]).map(Some);
    }
    let said = git.ask_in(dir, &["hash-object", "--", path], &[])?;
    if said.code == 0 { Ok(Some(said.text())) } else { Err(said.failure("hash-object")) }
}

/// A merge, rebase or pick that somebody has begun there.
fn under_way(git: &SystemGit, dir: &Path) -> Result<Option<String>, GitFailure> {
    let said = git.ask_in(dir, &["rev-parse", "--absolute-git-dir"], &[])?;
    let git_dir = PathBuf::from(said.text());
    let signs = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];
    Ok(signs.iter().find(|sign| git_dir.join(sign).exists()).map(|sign| (*sign).to_owned()))
}

fn named_in(err: &str) -> String {
    let quoted = err.split('\'').nth(1).map(str::to_owned);
    quoted.unwrap_or_else(|| "the checkout".to_owned())
}

fn remove_stale_lock(git: &SystemGit, dir: &Path) {
    let Ok(said) = git.ask_in(dir, &["rev-parse", "--absolute-git-dir"], &[]) else { return };
    let lock = PathBuf::from(said.text()).join("index.lock");
    let age = std::fs::metadata(&lock).and_then(|m| m.modified()).ok();
    let old = age.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > STALE_LOCK);
    if old && !held_open(&lock) {
        let _ = std::fs::remove_file(&lock);
    }
}

fn held_open(path: &Path) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    processes.flatten().any(|process| {
        let Ok(open) = std::fs::read_dir(process.path().join("fd")) else { return false };
        open.flatten().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to == path))
    })
}

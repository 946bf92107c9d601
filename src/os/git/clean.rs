//! Whether a checkout of the base branch can go from `old` to `new` without losing anything.
//!
//! *Clean* (4-batches.md, "Shipping"): each tracked path has in index and file the content of
//! `old` or of `new`, a new path is absent or has just that content, and no merge or rebase is
//! under way; other untracked files never count. So a checkout that was cut off between `old`
//! and `new` is clean, and one in which somebody works is not. Where a move to `new` had begun, a
//! path whose file is gone, or holds the beginning of the new content, was cut off while it was
//! written: it is clean too.

use super::registry::Registration;
use super::run::Launcher;
use crate::domain::ids::CommitId;
use crate::engine::ports::git::{GitError, ShipRequest};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What a path holds in a tree, an index or a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Six octal digits.
    pub(super) mode: String,
    /// The object's id.
    pub(super) id: String,
}

/// What a path holds before and after; `None`: it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    old: Option<Entry>,
    new: Option<Entry>,
}

/// What was found in a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Survey {
    /// Nothing is in the way once these things are done.
    Clean(Plan),
    /// This path is in the way.
    Dirty(Vec<u8>),
}

/// Paths, each with what its index entry is to be.
pub(super) type Staged = Vec<(Vec<u8>, Option<Entry>)>;

/// What brings a checkout into a state from which it can go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Files that were cut off while they were written: they go.
    pub(super) cut_off: Vec<Vec<u8>>,
    /// These paths get these entries in the index.
    pub(super) stage: Staged,
}

/// Operations that leave a checkout half way, by what they leave in its administration.
const UNDER_WAY: &[&str] =
    &["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

/// How many bytes of paths one call of git gets.
const ARGUMENTS: usize = 64 * 1024;

type Changes = BTreeMap<Vec<u8>, Change>;

impl Launcher {
    /// Looks at a checkout and touches nothing. `begun`: a move to `new` had begun before.
    pub(super) fn survey(
        &self,
        checkout: &Registration,
        request: &ShipRequest,
        begun: bool,
    ) -> Result<Survey, GitError> {
        if let Some(name) = UNDER_WAY.iter().find(|name| checkout.admin.join(name).exists()) {
            return Ok(Survey::Dirty(name.as_bytes().to_vec()));
        }
        let changes = self.changes(&request.old, &request.new)?;
        let mut indexed: BTreeMap<Vec<u8>, Option<Entry>> = BTreeMap::new();
        let mut files: BTreeMap<Vec<u8>, Option<Entry>> = BTreeMap::new();
        let call = self.in_tree(checkout, "status").args(["--porcelain=v2", "-z", "--no-renames"]);
        let call = call.args(["--untracked-files=no", "--ignore-submodules=dirty"]).unbounded();
        let mut look: Vec<Vec<u8>> = Vec::new();
        for line in call.bytes()?.split(|b| *b == 0).filter(|l| !l.is_empty()) {
            let Some(status) = Status::parse(line) else {
                let path = line.splitn(11, |b| *b == b' ').last().unwrap_or_default();
                return Ok(Survey::Dirty(path.to_vec()));
            };
            if !changes.contains_key(&status.path) {
                if status.submodule && !status.staged {
                    continue;
                }
                return Ok(Survey::Dirty(status.path));
            }
            if status.changed && !status.submodule {
                look.push(status.path.clone());
            }
            indexed.insert(status.path, status.index);
        }
        let unindexed = changes.iter().filter(|(path, change)| {
            indexed.get(*path).map_or(change.old.is_none(), Option::is_none)
        });
        look.extend(unindexed.map(|(path, _)| path.clone()));
        self.look(checkout, &changes, &look, &mut files)?;
        let cut_off = match begun {
            true => self.cut_off(checkout, &changes, &mut files)?,
            false => Vec::new(),
        };
        Ok(match judge(changes, &indexed, &files) {
            Ok(stage) => Survey::Clean(Plan { cut_off, stage }),
            Err(path) => Survey::Dirty(path),
        })
    }

    /// The files that were cut off while they were written. From here on they, and those that
    /// were only taken away, count as what they were before.
    fn cut_off(
        &self,
        checkout: &Registration,
        changes: &Changes,
        files: &mut BTreeMap<Vec<u8>, Option<Entry>>,
    ) -> Result<Vec<Vec<u8>>, GitError> {
        let mut cut_off = Vec::new();
        for (path, held) in files.iter_mut() {
            let change = &changes[path];
            let Some(new) = change.new.as_ref().filter(|_| !change.knows(held)) else { continue };
            if held.is_some() {
                let place = checkout.path.join(OsStr::from_bytes(path));
                let Ok(found) = fs::read(&place) else { continue };
                let mut path_option = OsString::from("--path=");
                path_option.push(OsStr::from_bytes(path));
                let call = self.in_tree(checkout, "cat-file").arg("--filters");
                let whole = call.arg(path_option).arg(&new.id).unbounded().bytes()?;
                // a power cut may leave a length, and zeros for what had not come to the disk
                let last = found.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
                if !whole.starts_with(&found[..last]) {
                    continue;
                }
                cut_off.push(path.clone());
            }
            held.clone_from(&change.old);
        }
        Ok(cut_off)
    }

    /// The paths that differ between two commits.
    fn changes(&self, old: &CommitId, new: &CommitId) -> Result<Changes, GitError> {
        let call = self.git("diff-tree").args(["-r", "-z", "--raw", "--no-renames", "--no-abbrev"]);
        let bytes = call.args([&old.0, &new.0]).bytes()?;
        let mut fields = bytes.split(|b| *b == 0);
        let mut changes = Changes::new();
        while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
            let text = String::from_utf8_lossy(meta).into_owned();
            let part: Vec<&str> = text.trim_start_matches(':').split(' ').collect();
            if let [old_mode, new_mode, old_id, new_id, _] = part.as_slice() {
                let change = Change { old: entry(old_mode, old_id), new: entry(new_mode, new_id) };
                changes.insert(path.to_vec(), change);
            }
        }
        Ok(changes)
    }

    /// What files hold, as git would store it. A directory is no file: what git would lose in
    /// it, git refuses to touch.
    fn look(
        &self,
        checkout: &Registration,
        changes: &Changes,
        paths: &[Vec<u8>],
        files: &mut BTreeMap<Vec<u8>, Option<Entry>>,
    ) -> Result<(), GitError> {
        let mut regular: Vec<(&[u8], &str)> = Vec::new();
        for path in paths {
            let change = &changes[path];
            let place = checkout.path.join(OsStr::from_bytes(path));
            let meta = fs::symlink_metadata(&place).ok().filter(|m| !m.is_dir());
            let meta = meta.filter(|_| !behind_link(&checkout.path, path));
            match meta {
                None => {
                    files.insert(path.clone(), None);
                }
                Some(meta) if meta.is_file() => {
                    let executable = meta.permissions().mode() & 0o100 != 0;
                    regular.push((path, if executable { "100755" } else { "100644" }));
                }
                Some(_) => {
                    let target = fs::read_link(&place).unwrap_or_default();
                    let held = self.link_entry(change, target.as_os_str().as_bytes())?;
                    files.insert(path.clone(), Some(held));
                }
            }
        }
        let modes_count = self.git("config").args(["--type=bool", "core.fileMode"]).output()?;
        let modes_count = modes_count.stdout != b"false\n";
        for chunk in chunks(&regular, |(path, _)| path.len()) {
            let call = self.in_tree(checkout, "hash-object").arg("--").unbounded();
            let ids = call.args(chunk.iter().map(|(path, _)| OsStr::from_bytes(path))).line()?;
            for ((path, mode), id) in chunk.iter().zip(ids.lines()) {
                let known = changes[*path].sides().find(|e| e.id == id);
                let mode = known.map(|e| e.mode.as_str()).filter(|_| !modes_count).unwrap_or(mode);
                files.insert(path.to_vec(), entry(mode, id));
            }
        }
        Ok(())
    }

    /// A symbolic link as the side of a change that is the same link; else as nothing known.
    fn link_entry(&self, change: &Change, target: &[u8]) -> Result<Entry, GitError> {
        for side in change.sides().filter(|e| e.mode == "120000") {
            if self.git("cat-file").args(["blob", &side.id]).bytes()? == target {
                return Ok(side.clone());
            }
        }
        Ok(Entry { mode: "120000".into(), id: String::new() })
    }
}

impl Change {
    fn sides(&self) -> impl Iterator<Item = &Entry> {
        self.old.iter().chain(self.new.iter())
    }

    fn knows(&self, held: &Option<Entry>) -> bool {
        *held == self.old || *held == self.new
    }
}

/// A line of `status --porcelain=v2` about a tracked path without conflicts.
struct Status {
    staged: bool,
    changed: bool,
    submodule: bool,
    index: Option<Entry>,
    path: Vec<u8>,
}

impl Status {
    fn parse(line: &[u8]) -> Option<Self> {
        let fields: Vec<&[u8]> = line.splitn(9, |b| *b == b' ').collect();
        let [b"1", xy, sub, _, mode, _, _, id, path] = fields.as_slice() else { return None };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(Status {
            staged: xy.first() != Some(&b'.'),
            changed: xy.get(1) != Some(&b'.'),
            submodule: sub.first() == Some(&b'S'),
            index: entry(&text(mode), &text(id)),
            path: path.to_vec(),
        })
    }
}

fn entry(mode: &str, id: &str) -> Option<Entry> {
    (mode != "000000").then(|| Entry { mode: mode.to_owned(), id: id.to_owned() })
}

/// Every changed path has in index and file the old or the new content; then the index is to
/// have what the file has. Else the path that is in the way.
fn judge(
    changes: Changes,
    indexed: &BTreeMap<Vec<u8>, Option<Entry>>,
    files: &BTreeMap<Vec<u8>, Option<Entry>>,
) -> Result<Staged, Vec<u8>> {
    let mut stage = Vec::new();
    for (path, change) in changes {
        let index = indexed.get(&path).unwrap_or(&change.old);
        let file = files.get(&path).unwrap_or(index);
        if !change.knows(index) || !change.knows(file) {
            return Err(path);
        }
        if file != index {
            stage.push((path, file.clone()));
        }
    }
    Ok(stage)
}

/// Whether a path leads through a symbolic link, so that its file is none of the checkout's.
fn behind_link(root: &Path, path: &[u8]) -> bool {
    let parents = Path::new(OsStr::from_bytes(path)).ancestors().skip(1);
    let mut parents = parents.filter(|p| !p.as_os_str().is_empty());
    parents.any(|p| fs::symlink_metadata(root.join(p)).is_ok_and(|m| m.is_symlink()))
}

/// Parts of a list that each fit on a command line.
pub(super) fn chunks<T>(all: &[T], size: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut parts = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (n, item) in all.iter().enumerate() {
        bytes += size(item) + 64;
        if bytes > ARGUMENTS && n > start {
            parts.push(&all[start..n]);
            (start, bytes) = (n, size(item) + 64);
        }
    }
    if start < all.len() {
        parts.push(&all[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut_and_nothing_of_it_is_lost() {
        let all: Vec<usize> = (0..5000).collect();
        let parts = chunks(&all, |_| 100);
        assert!(parts.len() > 1 && parts.iter().all(|p| p.len() * 164 <= ARGUMENTS));
        assert_eq!(parts.concat(), all);
        assert!(chunks::<u8>(&[], |_| 1).is_empty());
    }
}

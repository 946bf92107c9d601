//! Where a working tree may lie: under its root once links are resolved, and never inside the
//! repository. Checked before anything is made there, and before anything is removed.

use super::run::Launcher;
use crate::engine::ports::git::GitError;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// A path with its links resolved; what does not exist yet keeps its name.
pub(super) fn resolved(path: &Path) -> std::io::Result<PathBuf> {
    if let Ok(whole) = fs::canonicalize(path) {
        return Ok(whole);
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if fs::symlink_metadata(path).is_err() => {
            Ok(resolved(parent)?.join(name))
        }
        _ => fs::canonicalize(path), // a dangling link, or no such root
    }
}

/// The place of a directory entry itself: its parent resolved, its own name kept.
pub(super) fn entry(path: &Path) -> std::io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(resolved(parent)?.join(name)),
        _ => resolved(path),
    }
}

impl Launcher {
    /// Checks that a tree may lie at `path`, and gives the place.
    pub(super) fn place(&self, path: &str, root: &str) -> Result<PathBuf, GitError> {
        let refused = |of: &str, reason: String| GitError::Refused { path: of.to_owned(), reason };
        let outside = [Some(self.common_dir()?), self.main_tree()?];
        let at = |of: &str| {
            let plain = Path::new(of);
            if !plain.is_absolute() || plain.components().any(|c| c == Component::ParentDir) {
                return Err(refused(of, "it is not an absolute path without `..`".into()));
            }
            let place = resolved(plain).map_err(|e| refused(of, e.to_string()))?;
            match outside.iter().flatten().find(|inside| place.starts_with(inside)) {
                Some(inside) => Err(refused(of, format!("it lies inside `{}`", inside.display()))),
                None => Ok(place),
            }
        };
        let (root, place) = (at(root)?, at(path)?);
        if place == root || !place.starts_with(&root) {
            let (found, root) = (place.display(), root.display());
            return Err(refused(path, format!("it lies at `{found}`, not under `{root}`")));
        }
        if fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink()) {
            return Err(refused(path, "it is a symbolic link".into()));
        }
        Ok(place)
    }
}

/// Removes a directory and all in it, without following links. A directory that nobody may
/// write (a module cache) is made writable first.
pub(super) fn remove_all(directory: &Path) -> Result<(), GitError> {
    let removed = match fs::remove_dir_all(directory) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            make_writable(directory);
            fs::remove_dir_all(directory)
        }
        other => other,
    };
    match removed {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(GitError::System { path: directory.display().to_string(), message: e.to_string() })
        }
        _ => Ok(()),
    }
}

/// Gives every directory under this one its owner's rights; what fails shows in the removal.
pub(super) fn make_writable(directory: &Path) {
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        let Ok(meta) = fs::symlink_metadata(&next) else { continue };
        if !meta.is_dir() {
            continue;
        }
        let mode = meta.permissions().mode();
        if mode & 0o700 != 0o700 {
            let _ = fs::set_permissions(&next, fs::Permissions::from_mode(mode | 0o700));
        }
        let entries = fs::read_dir(&next).into_iter().flatten().flatten();
        left.extend(entries.map(|e| e.path()));
    }
}

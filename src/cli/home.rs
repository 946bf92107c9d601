//! Whether a scheduler is still at home. What `init` recorded is paths, and a rename changes
//! those, while the state directory moves along and stays the same place.

use crate::domain::event::EnvironmentRecorded;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why what was recorded is not where this state directory is now; `None` where it is.
pub fn away(recorded: &EnvironmentRecorded, state_dir: &Path) -> Option<String> {
    let home = home(recorded);
    let what = if recorded.repository.is_some() { "repository" } else { "directory" };
    let shown = home.display();
    match home.canonicalize() {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(format!("the recorded {what} `{shown}` is not there any more"))
        }
        Ok(there) if recorded.repository.is_some() && !belongs(state_dir, &there) => {
            Some(format!("the recorded {what} `{shown}` is another one than this"))
        }
        _ => None,
    }
}

/// The directory that the recorded paths begin with.
pub fn home(recorded: &EnvironmentRecorded) -> &Path {
    let beside = || Path::new(&recorded.config).parent();
    recorded.repository.as_deref().map(Path::new).or_else(beside).unwrap_or_else(|| Path::new("/"))
}

/// Whether a state directory can be that of a repository: one inside a git directory belongs to
/// that one alone.
pub fn belongs(state_dir: &Path, repository: &Path) -> bool {
    let inside = state_dir.canonicalize().ok();
    let inside = inside.as_deref().and_then(Path::parent).filter(|dir| is_git(dir));
    inside.is_none_or(|git| {
        common_dir(repository).and_then(|dir| dir.canonicalize().ok()).as_deref() == Some(git)
    })
}

/// The common git directory of the repository that a directory is in, found as git finds it but
/// without starting a process: every command asks for it, also on a busy machine.
pub fn common_dir(current: &Path) -> Option<PathBuf> {
    current.ancestors().find_map(|dir| {
        let dot = dir.join(".git");
        if dot.is_dir() {
            return Some(dot);
        }
        let Ok(text) = std::fs::read_to_string(&dot) else {
            return is_git(dir).then(|| dir.to_owned()); // a bare repository
        };
        let own = dir.join(text.trim().strip_prefix("gitdir: ")?);
        let common = std::fs::read_to_string(own.join("commondir")).ok();
        Some(common.map_or_else(|| own.clone(), |to| own.join(to.trim())))
    })
}

fn is_git(dir: &Path) -> bool {
    dir.join("HEAD").exists() && dir.join("objects").is_dir()
}

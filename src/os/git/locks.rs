//! Lock files that a killed git left behind, and locked trees whose owner is dead.

use super::registry::Registration;
use super::run::Launcher;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How old a lock file has to be before it can be a leftover.
const STALE: Duration = Duration::from_secs(60);

impl Launcher {
    /// Removes a tree's index lock that is older than 60 s and that no process holds open;
    /// whether it did. Only where every process that could hold it can be looked into, and while
    /// no git works in that tree: one that waits for an editor has closed its lock and needs it.
    pub(super) fn drop_stale_lock(&self, tree: &Registration) -> bool {
        drop_stale(&tree.admin.join("index.lock"), || git_works_in(&tree.path))
    }

    /// Removes a lock that is in the way of a call of ours, on the same conditions; whether it
    /// did. Crash story: power fails between git's making `refs/heads/b.lock` and its renaming
    /// it, and from then on nobody could ever move the branch. A git that holds a lock of a ref
    /// may have closed it too, so no git may be at work in the repository or any of its trees.
    pub(super) fn drop_left_lock(&self, lock: &Path) -> bool {
        let Ok(common) = self.common_dir() else { return false };
        let Some(Ok(directory)) = lock.parent().map(fs::canonicalize) else { return false };
        let Ok(trees) = self.registrations() else { return false };
        let Ok(repository) = fs::canonicalize(&self.repository) else { return false };
        let at_work = || {
            let trees = trees.iter().map(|tree| tree.path.as_path());
            trees.chain([common.as_path(), &repository]).any(git_works_in)
        };
        directory.starts_with(&common) && drop_stale(lock, at_work)
    }
}

fn drop_stale(lock: &Path, at_work: impl Fn() -> bool) -> bool {
    let Ok(meta) = fs::symlink_metadata(lock) else { return false };
    let age = meta.modified().ok().and_then(|m| SystemTime::now().duration_since(m).ok());
    let old = meta.is_file() && age.is_some_and(|age| age > STALE);
    old && !is_open((meta.dev(), meta.ino()), meta.uid())
        && !at_work()
        && fs::remove_file(lock).is_ok()
}

/// Whether some process has this file open, as far as that can be told; else yes. A process of
/// another user cannot hold a lock file that it does not own, the superuser aside.
fn is_open(file: (u64, u64), owner: u32) -> bool {
    let Some(processes) = processes() else { return true };
    processes.into_iter().any(|directory| {
        let user = fs::metadata(&directory).map(|m| m.uid());
        match fs::read_dir(directory.join("fd")) {
            Ok(files) => files.flatten().any(|descriptor| {
                fs::metadata(descriptor.path()).is_ok_and(|m| (m.dev(), m.ino()) == file)
            }),
            Err(_) => user.is_ok_and(|user| user == owner),
        }
    })
}

/// Whether a git process has its working directory in a tree.
fn git_works_in(tree: &Path) -> bool {
    let Some(processes) = processes() else { return true };
    processes.into_iter().any(|directory| {
        fs::read(directory.join("comm")).is_ok_and(|name| name == b"git\n")
            && fs::read_link(directory.join("cwd")).is_ok_and(|cwd| cwd.starts_with(tree))
    })
}

/// The directories of all processes; `None` where nobody can tell.
fn processes() -> Option<Vec<PathBuf>> {
    let numbered = |e: &fs::DirEntry| e.file_name().to_string_lossy().parse::<u32>().is_ok();
    let entries = fs::read_dir("/proc").ok()?.flatten().filter(numbered);
    Some(entries.map(|e| e.path()).collect())
}

/// The live process that a worktree's lock reason names (`… (pid 4711)`), if it names one.
pub(super) fn live_owner(reason: &str) -> Option<u32> {
    let after = reason.split("pid ").nth(1)?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    let pid: u32 = digits.parse().ok()?;
    Path::new("/proc").join(pid.to_string()).exists().then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_held_open_by_this_process_is_seen_to_be() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let meta = file.as_file().metadata().unwrap();
        assert!(is_open((meta.dev(), meta.ino()), meta.uid()));
        let path = file.into_temp_path();
        let id = (meta.dev(), meta.ino());
        assert!(path.exists() && !is_open(id, meta.uid()));
    }

    #[test]
    fn a_lock_reason_names_its_owner_only_while_that_lives() {
        let own = std::process::id();
        assert_eq!(live_owner(&format!("agent x (pid {own})")), Some(own));
        assert_eq!(live_owner("agent x (pid 4194999)"), None);
        assert_eq!(live_owner("on a stick"), None);
    }
}

//! Shipping: index and files first, then the ref; nothing of the operator's is lost.

use super::{Fixture, read, write};
use crate::domain::fact::ShipResult;
use crate::domain::ids::CommitId;
use crate::engine::ports::git::{Git, GitError};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

struct Ready {
    f: Fixture,
    old: CommitId,
    new: CommitId,
}

/// `new` changes `a`, deletes `b`, adds `dir/new` and a link, and makes `tool` executable.
fn ready() -> Ready {
    let f = Fixture::new();
    f.commit("main", &[("tool", "t\n"), ("same", "same\n")]);
    f.run(["reset", "--quiet", "--hard", "main"]);
    let old = f.at("main");
    let place = f.in_root("work");
    f.run(["worktree", "add", "--quiet", "-b", "work", &place]);
    let work = Path::new(&place);
    write(&work.join("a"), "ONE\ntwo\nthree\nfour\nfive\n");
    write(&work.join("dir/new"), "new\n");
    write(&work.join("odd\n\"name"), "odd\n");
    symlink("a", work.join("link")).unwrap();
    fs::remove_file(work.join("b")).unwrap();
    fs::set_permissions(work.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    f.run_in(work, ["add", "--all"]);
    f.run_in(work, ["commit", "--quiet", "-m", "work"]);
    let new = f.at("work");
    Ready { f, old, new }
}

impl Ready {
    fn ship(&self) -> Result<ShipResult, GitError> {
        self.f.git.ship(&self.f.shipping(&self.old, &self.new))
    }

    fn shipped(&self) {
        assert_eq!(self.ship(), Ok(ShipResult::Shipped));
        assert_eq!(self.f.at("main"), self.new);
        assert_eq!(self.f.run(["status", "--porcelain", "--untracked-files=no"]), "");
        assert_eq!(read(&self.f.repo().join("dir/new")), "new\n");
        assert!(!self.f.repo().join("b").exists());
    }

    /// Says dirty, and touches nothing.
    fn dirty(&self, path: &str) {
        let before = self.f.operators_own();
        assert_eq!(self.ship(), Ok(ShipResult::Dirty(path.into())));
        assert_eq!(self.f.at("main"), self.old);
        assert_eq!(self.f.operators_own(), before);
    }
}

#[test]
fn a_clean_checkout_goes_with_the_branch() {
    let r = ready();
    r.shipped();
    let mode = fs::metadata(r.f.repo().join("tool")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(fs::read_link(r.f.repo().join("link")).unwrap(), Path::new("a"));
    r.shipped();
}

#[test]
fn a_base_that_is_checked_out_nowhere_moves_alone() {
    let r = ready();
    r.f.run(["checkout", "--quiet", "--detach"]);
    let before = r.f.operators_own();
    assert_eq!(r.ship(), Ok(ShipResult::Shipped));
    assert_eq!(r.f.operators_own(), before);
}

#[test]
fn a_base_checked_out_in_a_linked_tree_goes_with_it_there() {
    let r = ready();
    r.f.run(["checkout", "--quiet", "-b", "elsewhere"]);
    let place = r.f.in_root("base");
    r.f.run(["worktree", "add", "--quiet", &place, "main"]);
    let before = r.f.operators_own();
    assert_eq!(r.ship(), Ok(ShipResult::Shipped));
    assert_eq!(r.f.run_in(place.as_ref(), ["status", "--porcelain"]), "");
    assert_eq!(read(&Path::new(&place).join("dir/new")), "new\n");
    assert_eq!(r.f.operators_own(), before);
    fs::remove_dir_all(&place).unwrap();
    let gone = r.f.commit("work", &[("more", "m")]);
    assert_eq!(r.f.git.ship(&r.f.shipping(&r.new, &gone)), Ok(ShipResult::Shipped));
}

#[test]
fn a_tip_that_the_base_has_is_shipped_whatever_its_checkout_looks_like() {
    let r = ready();
    r.shipped();
    write(&r.f.repo().join("a"), "operator's\n");
    assert_eq!(r.ship(), Ok(ShipResult::Shipped));
    assert_eq!(read(&r.f.repo().join("a")), "operator's\n");
}

#[test]
fn a_base_that_somebody_moved_is_told_and_left_alone() {
    let r = ready();
    r.f.run(["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    let moved = r.f.at("main");
    let before = r.f.operators_own();
    assert_eq!(r.ship(), Ok(ShipResult::BaseMoved(moved)));
    assert_eq!(r.f.operators_own(), before);
}

#[test]
fn unsaved_work_of_the_operator_is_in_the_way_wherever_it_is() {
    for (path, staged) in [("a", false), ("a", true), ("same", false), ("same", true), ("b", false)]
    {
        let r = ready();
        write(&r.f.repo().join(path), "operator's\n");
        if staged {
            r.f.run(["add", path]);
        }
        r.dirty(path);
    }
}

#[test]
fn a_deleted_file_a_staged_new_file_and_a_changed_mode_are_in_the_way() {
    let r = ready();
    fs::remove_file(r.f.repo().join("same")).unwrap();
    r.dirty("same");
    r.f.run(["checkout", "--quiet", "same"]);
    write(&r.f.repo().join("staged"), "x");
    r.f.run(["add", "staged"]);
    r.dirty("staged");
    r.f.run(["rm", "--quiet", "--cached", "staged"]);
    fs::set_permissions(r.f.repo().join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    r.dirty("a");
    fs::set_permissions(r.f.repo().join("a"), fs::Permissions::from_mode(0o644)).unwrap();
    r.shipped();
}

#[test]
fn untracked_files_count_only_where_a_new_path_comes() {
    let r = ready();
    write(&r.f.repo().join("untracked"), "x");
    write(&r.f.repo().join("dir/other"), "x");
    write(&r.f.repo().join("dir/new"), "operator's\n");
    r.dirty("dir/new");
    write(&r.f.repo().join("dir/new"), "new\n");
    r.shipped();
    assert_eq!(read(&r.f.repo().join("untracked")), "x");
}

#[test]
fn an_ignored_file_where_a_new_path_comes_is_not_lost() {
    let r = ready();
    write(&r.f.repo().join(".git/info/exclude"), "dir\n");
    write(&r.f.repo().join("dir/new"), "operator's\n");
    r.dirty("dir/new");
}

#[test]
fn a_file_or_link_where_a_new_directory_comes_is_in_the_way() {
    let r = ready();
    write(&r.f.repo().join("dir"), "operator's\n");
    r.dirty_after_staging();
    fs::remove_file(r.f.repo().join("dir")).unwrap();
    let outside = r.f.root().join("outside");
    write(&outside.join("new"), "new\n");
    symlink(&outside, r.f.repo().join("dir")).unwrap();
    r.dirty_after_staging();
    assert_eq!(read(&outside.join("new")), "new\n");
}

impl Ready {
    /// Refused by git itself: only times in the index may have been refreshed.
    fn dirty_after_staging(&self) {
        let status = self.f.run(["status", "--porcelain"]);
        assert_eq!(self.ship(), Ok(ShipResult::Dirty("dir".into())));
        assert_eq!(self.f.run(["status", "--porcelain"]), status);
        assert_eq!(self.f.at("main"), self.old);
    }
}

#[test]
fn a_merge_or_rebase_under_way_is_in_the_way() {
    let r = ready();
    write(&r.f.repo().join(".git/MERGE_HEAD"), &r.new.0);
    r.dirty("MERGE_HEAD");
    fs::remove_file(r.f.repo().join(".git/MERGE_HEAD")).unwrap();
    r.f.run(["checkout", "--quiet", "--detach"]);
    write(&r.f.repo().join(".git/rebase-merge/head-name"), "refs/heads/main\n");
    r.dirty("rebase-merge");
}

#[test]
fn stale_times_in_the_index_are_no_changes() {
    let r = ready();
    for path in ["a", "b", "same"] {
        let file = fs::File::options().append(true).open(r.f.repo().join(path)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(5000)).unwrap();
    }
    r.shipped();
}

#[test]
fn whatever_was_done_before_a_crash_is_gone_on_with() {
    let done = |r: &Ready, paths: &[&str], staged: bool| {
        r.f.run(["checkout", "work", "--"].iter().chain(paths));
        if !staged {
            r.f.run(["reset", "--quiet"]);
        }
    };
    let r = ready();
    done(&r, &["a", "dir/new"], false);
    r.shipped();
    let r = ready();
    done(&r, &["a", "dir/new", "link", "tool", "odd\n\"name"], true);
    r.shipped();
    let r = ready();
    fs::remove_file(r.f.repo().join("b")).unwrap();
    r.shipped();
    let r = ready();
    r.f.run(["read-tree", "-m", "-u", &r.old.0, &r.new.0]);
    r.shipped();
    let r = ready();
    r.f.run(["read-tree", "-m", &r.old.0, &r.new.0]);
    r.shipped();
}

#[test]
fn a_file_that_was_cut_off_while_it_was_written_is_gone_on_with_and_an_edit_is_not() {
    let cut = |r: &Ready, marked: bool| {
        if marked {
            r.f.run(["update-ref", "refs/sched/moving/main", &r.new.0]);
        }
        write(&r.f.repo().join("a"), "ONE\ntw");
        fs::create_dir_all(r.f.repo().join("dir")).unwrap();
        write(&r.f.repo().join("dir/new"), "");
        fs::remove_file(r.f.repo().join("tool")).unwrap();
    };
    let r = ready();
    cut(&r, true);
    r.shipped();
    assert_eq!(read(&r.f.repo().join("a")), "ONE\ntwo\nthree\nfour\nfive\n");
    assert_eq!(r.f.run(["for-each-ref", "refs/sched/moving"]), "");
    let r = ready();
    cut(&r, false);
    r.dirty("a");
    let r = ready();
    cut(&r, true);
    write(&r.f.repo().join("a"), "an edit of the operator's\n");
    r.dirty("a");
}

#[test]
fn an_index_lock_goes_only_when_it_is_old_and_nobody_holds_it() {
    let r = ready();
    let path = r.f.repo().join(".git/index.lock");
    let lock = fs::File::create(&path).unwrap();
    assert!(matches!(r.ship(), Err(GitError::Locked { .. })));
    lock.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
    assert!(matches!(r.ship(), Err(GitError::Locked { .. })), "held open");
    assert_eq!(r.f.at("main"), r.old);
    drop(lock);
    r.shipped();
    assert!(!path.exists());
}

#[test]
fn a_swap_that_is_refused_leaves_a_checkout_that_is_gone_on_with() {
    let r = ready();
    let lock = r.f.repo().join(".git/refs/heads/main.lock");
    write(&lock, "");
    assert!(matches!(r.ship(), Err(GitError::Locked { .. })));
    assert_eq!(r.f.at("main"), r.old);
    fs::remove_file(lock).unwrap();
    r.shipped();
}

#[test]
fn a_lock_of_a_git_that_waits_for_an_editor_is_not_taken_away() {
    let r = ready();
    let ready = r.f.root().join("waiting");
    let editor = format!("touch {} && sleep 100 #", ready.display());
    write(&r.f.repo().join("a"), "ONE\ntwo\nthree\nfour\nfive\n");
    let mut commit = Command::new("git");
    commit.args(["-c", "user.name=O", "-c", "user.email=o@x", "commit", "--quiet", "-a"]);
    commit.env("GIT_EDITOR", editor).current_dir(r.f.repo());
    commit.process_group(0);
    let mut commit = commit.spawn().unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !ready.exists() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::yield_now();
    }
    let lock = fs::File::options().append(true).open(r.f.repo().join(".git/index.lock")).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(100)).unwrap();
    drop(lock);
    let shipped = r.ship();
    let group = rustix::process::Pid::from_child(&commit);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    commit.wait().unwrap();
    assert!(matches!(shipped, Err(GitError::Locked { .. })), "{shipped:?}");
    r.shipped();
}

#[test]
fn a_base_that_somebody_moved_at_the_last_moment_gets_its_checkout_back() {
    let r = ready();
    let other = r.f.commit_on("other", &r.old.0, "other", &[("other", "x")]);
    write(&r.f.repo().join(".git/info/attributes"), "new filter=race\n");
    let smudge = format!("git update-ref refs/heads/main {other}; cat");
    r.f.run(["config", "filter.race.smudge", &smudge]);
    assert_eq!(r.ship(), Ok(ShipResult::BaseMoved(other.clone())));
    assert_eq!(r.f.at("main"), other);
    assert!(!r.f.repo().join("dir/new").exists() && r.f.repo().join("b").exists());
    assert_eq!(r.f.run(["diff", "--cached", "--name-only", &r.old.0]), "");
    assert_eq!(r.f.run(["diff", "--name-only"]), "");
}

#[test]
fn many_changed_paths_ship_in_one_go() {
    let r = ready();
    let names: Vec<String> = (0..1500).map(|n| format!("many/{:0>90}", n)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "x\n")).collect();
    let new = r.f.commit("work", &files);
    for name in &names {
        write(&r.f.repo().join(name), "x\n");
    }
    assert_eq!(r.f.git.ship(&r.f.shipping(&r.old, &new)), Ok(ShipResult::Shipped));
    assert_eq!(r.f.run(["status", "--porcelain"]), "");
}

#[test]
fn a_checkout_whose_repository_lies_elsewhere_goes_with_the_branch_too() {
    let r = ready();
    let elsewhere = r.f.root().join("elsewhere");
    r.f.run(["init", "--quiet", "--separate-git-dir", elsewhere.to_str().unwrap()]);
    r.shipped();
}

#[test]
fn a_submodule_that_is_behind_is_not_in_the_way() {
    let r = ready();
    let library = r.f.root().join("library");
    fs::create_dir_all(&library).unwrap();
    r.f.run_in(&library, ["init", "--quiet"]);
    r.f.run_in(&library, ["commit", "--quiet", "--allow-empty", "-m", "library"]);
    r.f.run(["submodule", "--quiet", "add", library.to_str().unwrap(), "sub"]);
    r.f.run(["commit", "--quiet", "-m", "sub"]);
    let old = r.f.at("main");
    r.f.run_in(&r.f.repo().join("sub"), ["commit", "--quiet", "--allow-empty", "-m", "ahead"]);
    let new = r.f.commit_on("other", "main", "x", &[("x", "x\n")]);
    assert_eq!(r.f.git.ship(&r.f.shipping(&old, &new)), Ok(ShipResult::Shipped));
    assert_eq!(read(&r.f.repo().join("x")), "x\n");
}

#[test]
fn files_that_are_stored_otherwise_than_checked_out_are_compared_as_stored() {
    let r = ready();
    r.f.run(["config", "core.autocrlf", "true"]);
    write(&r.f.repo().join("dir/new"), "new\r\n");
    assert_eq!(r.ship(), Ok(ShipResult::Shipped));
    assert_eq!(r.f.run(["status", "--porcelain"]), "");
}

#[test]
fn a_bare_repository_has_no_checkout() {
    let r = ready();
    r.f.run(["config", "core.bare", "true"]);
    assert_eq!(r.ship(), Ok(ShipResult::Shipped));
}

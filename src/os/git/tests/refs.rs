//! Refs.

use super::{Fixture, write};
use crate::domain::fact::BranchResult;
use crate::engine::ports::Seen;
use crate::engine::ports::git::{Git, GitError};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

#[test]
fn a_branch_is_there_or_verified_absent_or_unreachable() {
    let f = Fixture::new();
    let main = f.at("main");
    assert_eq!(f.git.reference("main"), Seen::Value(main.clone()));
    assert_eq!(f.git.reference("mai"), Seen::Absent);
    write(&f.repo().join(".git/refs/heads/broken"), "");
    assert!(matches!(f.git.reference("broken"), Seen::Unreachable(_)));
    f.run(["update-ref", "refs/heads/dir/leaf", &main.0]);
    assert_eq!(f.git.reference("dir"), Seen::Absent);
    fs::remove_dir_all(f.repo().join(".git")).unwrap();
    assert!(matches!(f.git.reference("main"), Seen::Unreachable(_)));
}

#[test]
fn all_refs_under_a_prefix_come_in_one_call() {
    let f = Fixture::new();
    let main = f.at("main");
    for name in ["sched/b1/integration", "sched/b1/1-101", "sched/b10/integration"] {
        f.run(["branch", name, "main"]);
    }
    let Seen::Value(found) = f.git.references("refs/heads/sched/b1/") else { panic!() };
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, ["refs/heads/sched/b1/1-101", "refs/heads/sched/b1/integration"]);
    assert!(found.values().all(|c| *c == main));
}

#[test]
fn ancestry_and_trees_are_values_and_unknown_commits_are_absent() {
    let f = Fixture::new();
    let old = f.at("main");
    let new = f.commit("side", &[("c", "c")]);
    assert_eq!(f.git.is_ancestor(&old, &new), Seen::Value(true));
    assert_eq!(f.git.is_ancestor(&new, &old), Seen::Value(false));
    assert_eq!(f.git.is_ancestor(&"1".repeat(40).as_str().into(), &old), Seen::Absent);
    assert_eq!(f.git.tree_of(&old), Seen::Value(f.at("main^{tree}").0));
    assert_eq!(f.git.tree_of(&"1".repeat(40).as_str().into()), Seen::Absent);
}

#[test]
fn a_branch_is_made_once_and_one_that_is_elsewhere_is_left_alone() {
    let f = Fixture::new();
    let main = f.at("main");
    let other = f.commit("other", &[("c", "c")]);
    let name = "sched/b1/integration";
    assert_eq!(f.git.create_branch(name, &main), Ok(BranchResult::Made));
    assert_eq!(f.git.create_branch(name, &main), Ok(BranchResult::Made));
    assert_eq!(f.git.create_branch(name, &other), Ok(BranchResult::Exists(main.clone())));
    assert_eq!(f.at(name), main);
}

#[test]
fn a_held_lock_file_is_told_from_a_failure() {
    let f = Fixture::new();
    let main = f.at("main");
    write(&f.repo().join(".git/refs/heads/new.lock"), "");
    let Err(GitError::Locked { path }) = f.git.create_branch("new", &main) else { panic!() };
    assert!(path.ends_with("/.git/refs/heads/new.lock"), "{path}");
    fs::remove_file(f.repo().join(".git/refs/heads/new.lock")).unwrap();
    f.run(["pack-refs", "--all"]);
    write(&f.repo().join(".git/packed-refs.lock"), "");
    let deleted = f.git.delete_reference("refs/heads/main", &main);
    assert!(
        matches!(deleted, Err(GitError::Locked { path }) if path.ends_with("packed-refs.lock"))
    );
}

#[test]
fn a_lock_that_a_killed_git_left_goes_when_it_is_old_and_nobody_holds_it() {
    let f = Fixture::new();
    let main = f.at("main");
    for (name, lock) in [("new", "refs/heads/new.lock"), ("other", "refs/heads/other.lock")] {
        let path = f.repo().join(".git").join(lock);
        let held = fs::File::create(&path).unwrap();
        let make = || f.git.create_branch(name, &main);
        assert!(matches!(make(), Err(GitError::Locked { .. })), "it is new");
        held.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
        assert!(matches!(make(), Err(GitError::Locked { .. })), "it is held open");
        drop(held);
        assert_eq!(make(), Ok(BranchResult::Made));
        assert!(!path.exists());
    }
}

#[test]
fn a_lock_is_not_taken_away_from_a_git_that_has_closed_it() {
    let f = Fixture::new();
    let main = f.at("main");
    let mut other = Command::new("git");
    other.args(["update-ref", "--stdin"]).current_dir(f.repo());
    let mut other = other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = other.stdin.take().unwrap();
    writeln!(input, "start\ncreate refs/heads/new {main}\nprepare").unwrap();
    let mut answers = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(answers.by_ref().map(Result::unwrap).any(|line| line == "prepare: ok"));
    let path = f.repo().join(".git/refs/heads/new.lock");
    let lock = fs::File::options().append(true).open(path).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
    drop(lock);
    assert!(matches!(f.git.create_branch("new", &main), Err(GitError::Locked { .. })));
    writeln!(input, "commit").unwrap();
    drop(input);
    assert!(answers.map(Result::unwrap).any(|line| line == "commit: ok"));
    assert!(other.wait().unwrap().success());
    assert_eq!(f.at("new"), main);
}

#[test]
fn a_ref_is_deleted_only_where_it_is_expected() {
    let f = Fixture::new();
    let main = f.at("main");
    let other = f.commit("other", &[("c", "c")]);
    assert_eq!(f.git.delete_reference("refs/heads/other", &main), Ok(false));
    assert_eq!(f.git.delete_reference("refs/heads/other", &other), Ok(true));
    assert_eq!(f.git.delete_reference("refs/heads/other", &other), Ok(true));
}

//! What kind of repository, and which git.

use super::{Fixture, GitCommand};
use crate::engine::ports::Seen;
use crate::engine::ports::git::{Git, GitVersion};

fn elsewhere(directory: &std::path::Path) -> GitCommand {
    GitCommand::new(directory).with_variable("GIT_CEILING_DIRECTORIES", "/")
}

#[test]
fn a_repository_is_found_from_each_of_its_trees() {
    let f = Fixture::new();
    let repo = f.repo().canonicalize().unwrap();
    let place = f.in_root("linked");
    f.run(["worktree", "add", "--quiet", "-b", "linked", &place]);
    for directory in [f.repo(), place.into(), f.repo().join(".git")] {
        let Seen::Value(found) = elsewhere(&directory).repository() else { panic!() };
        assert_eq!(found.main_tree.as_deref(), repo.to_str());
        assert_eq!(found.common_dir, repo.join(".git").to_str().unwrap());
        assert_eq!(found.head.as_deref(), Some("main"));
    }
}

#[test]
fn a_bare_repository_has_no_main_tree() {
    let f = Fixture::new();
    let bare = f.root().join("bare.git");
    f.run(["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let Seen::Value(found) = elsewhere(&bare).repository() else { panic!() };
    assert_eq!(found.main_tree, None);
    assert_eq!(found.head.as_deref(), Some("main"));
}

#[test]
fn a_directory_without_a_repository_is_verified_to_have_none() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(elsewhere(directory.path()).repository(), Seen::Absent);
    assert_eq!(elsewhere(&directory.path().join("gone")).repository(), Seen::Absent);
}

#[test]
fn the_git_of_this_machine_can_do_all_that_is_asked_of_it() {
    let Seen::Value(version) = elsewhere("/".as_ref()).version() else { panic!() };
    assert!(version >= GitVersion::OLDEST, "{version}");
    let none = GitCommand::new("/").with_variable("PATH", "/nonexistent");
    assert_eq!(none.version(), Seen::Absent);
}

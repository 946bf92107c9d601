//! Making working trees.

use super::{Fixture, read, write};
use crate::domain::event::Tree;
use crate::engine::ports::git::{Git, MadeTree};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const BRANCH: &str = "sched/b1/1-101";

#[test]
fn a_member_tree_is_made_with_its_branch_and_used_again_as_it_is() {
    let f = Fixture::new();
    let main = f.at("main");
    let before = f.operators_own();
    let request = f.member(&main, false);
    assert_eq!(f.git.make_tree(&request), Ok(MadeTree::default()));
    let place = f.in_root("b1/1-101");
    assert_eq!(f.run_in(place.as_ref(), ["symbolic-ref", "HEAD"]), format!("refs/heads/{BRANCH}"));
    assert_eq!(f.at(BRANCH), main);
    write(&Path::new(&place).join("a"), "agent's\n");
    f.run_in(place.as_ref(), ["commit", "--quiet", "--all", "-m", "work"]);
    assert_eq!(f.git.make_tree(&request), Ok(MadeTree::default()));
    assert_eq!(read(&Path::new(&place).join("a")), "agent's\n");
    assert_eq!(f.operators_own(), before);
    let tracking = f.try_in(&f.repo(), ["config", "branch.sched/b1/1-101.remote"]);
    assert!(!tracking.0);
}

#[test]
fn a_branch_that_exists_is_checked_out_where_it_is() {
    let f = Fixture::new();
    let work = f.commit(BRANCH, &[("w", "w")]);
    assert_eq!(f.git.make_tree(&f.member(&f.at("main"), false)), Ok(MadeTree::default()));
    assert_eq!(f.at(BRANCH), work);
    assert_eq!(f.run_in(f.in_root("b1/1-101").as_ref(), ["rev-parse", "HEAD"]), work.0);
}

#[test]
fn a_half_made_tree_is_removed_and_made_again() {
    for kind in ["initializing", "no .git", "gone", "no head"] {
        let f = Fixture::new();
        let request = f.member(&f.at("main"), false);
        f.git.make_tree(&request).unwrap();
        let place = f.root().join("b1/1-101");
        let admin = f.repo().join(".git/worktrees/1-101");
        match kind {
            "initializing" => write(&admin.join("locked"), "initializing"),
            "no .git" => fs::remove_file(place.join(".git")).unwrap(),
            "gone" => fs::remove_dir_all(&place).unwrap(),
            _ => {
                write(&admin.join("locked"), "initializing");
                fs::remove_file(admin.join("HEAD")).unwrap();
                fs::remove_file(admin.join("commondir")).unwrap();
                fs::remove_file(place.join(".git")).unwrap();
            }
        }
        if kind != "gone" {
            write(&place.join("half"), "never work");
        }
        assert_eq!(f.git.make_tree(&request), Ok(MadeTree::default()), "{kind}");
        assert!(!place.join("half").exists(), "{kind}");
        assert_eq!(f.run_in(&place, ["status", "--porcelain"]), "", "{kind}");
        assert_eq!(f.run(["for-each-ref", "refs/sched"]), "", "{kind}");
    }
}

#[test]
fn loose_commits_of_a_tree_that_its_agent_deleted_are_rescued_before_it_is_made_again() {
    let f = Fixture::new();
    for request in [f.member(&f.at("main"), false), f.check(&f.at("main"))] {
        f.git.make_tree(&request).unwrap();
        let (Tree::Member { path, .. } | Tree::Check { path, .. }) = &request.tree else {
            panic!()
        };
        f.run_in(path.as_ref(), ["checkout", "--quiet", "--detach"]);
        f.run_in(path.as_ref(), ["commit", "--quiet", "--allow-empty", "-m", path]);
        let loose = f.run_in(path.as_ref(), ["rev-parse", "HEAD"]);
        fs::remove_dir_all(path).unwrap();
        let rescue = f.git.make_tree(&request).unwrap().rescue.unwrap();
        assert_eq!(f.at(&rescue).0, loose);
        assert_eq!(f.git.make_tree(&request).unwrap().rescue, None);
    }
}

#[test]
fn a_foreign_tree_is_an_error_of_the_members_path_and_is_left_alone() {
    for kind in ["directory", "repository", "moved .git", "other tree"] {
        let f = Fixture::new();
        let request = f.member(&f.at("main"), false);
        let place = f.root().join("b1/1-101");
        match kind {
            "directory" => write(&place.join("file"), "x"),
            "repository" => {
                fs::create_dir_all(&place).unwrap();
                f.run_in(&place, ["init", "--quiet"]);
            }
            "moved .git" => {
                f.git.make_tree(&request).unwrap();
                write(&place.join(".git"), "gitdir: /nowhere/at/all\n");
            }
            _ => {
                let other = f.in_root("other");
                f.run(["worktree", "add", "--quiet", &other]);
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                fs::rename(&other, &place).unwrap();
            }
        }
        let error = f.git.make_tree(&request).unwrap_err();
        assert!(error.own, "{kind}: {error}");
        assert!(place.exists(), "{kind}");
        let removed = f.git.remove_tree(&f.rescue_of(place.to_str().unwrap(), Some(BRANCH)));
        assert!(removed.is_err() && place.exists(), "{kind}");
    }
}

#[test]
fn a_tree_lies_under_its_root_and_never_inside_the_repository() {
    let f = Fixture::new();
    let commit = f.at("main");
    let repo = f.repo();
    fs::create_dir_all(f.root()).unwrap();
    symlink(&repo, f.root().join("link")).unwrap();
    symlink(f.repo().join("x"), f.root().join("dangling")).unwrap();
    let refused = |path: &str, root: &Path| {
        let in_repo = root.starts_with(&repo);
        let tree = Tree::Check { path: path.to_owned(), commit: commit.clone() };
        let mut request = f.tree(tree);
        request.root = root.to_str().unwrap().to_owned();
        let error = f.git.make_tree(&request).unwrap_err();
        assert_eq!(error.own, !in_repo, "{error}");
        let mut removal = f.rescue_of(path, None);
        removal.root = root.to_str().unwrap().to_owned();
        assert!(f.git.remove_tree(&removal).is_err(), "{path}");
    };
    refused(&f.in_root("link/tree"), &f.root());
    refused(&f.in_root("link"), &f.root());
    refused(&f.in_root("dangling/x"), &f.root());
    refused(&f.in_root("../repo"), &f.root());
    refused("relative/tree", &f.root());
    refused(repo.join("trees/x").to_str().unwrap(), &repo.join("trees"));
    refused(repo.join(".git/trees/x").to_str().unwrap(), &repo.join(".git/trees"));
    refused(f.root().to_str().unwrap(), &f.root());
    assert!(repo.join("a").exists());
}

#[test]
fn a_branch_checked_out_elsewhere_is_the_members_own_fault() {
    let f = Fixture::new();
    let request = f.member(&f.at("main"), false);
    f.run(["branch", BRANCH]);
    f.run(["worktree", "add", "--quiet", &f.in_root("elsewhere"), BRANCH]);
    assert!(f.git.make_tree(&request).unwrap_err().own);
    assert!(!f.root().join("b1/1-101").exists());
}

#[test]
fn a_missing_start_commit_is_not_the_members_fault() {
    let f = Fixture::new();
    let request = f.member(&"1".repeat(40).as_str().into(), false);
    assert!(!f.git.make_tree(&request).unwrap_err().own);
}

#[test]
fn a_commit_that_git_itself_checks_out_with_differences_is_nobodys_fault() {
    let f = Fixture::new();
    f.commit("main", &[("crlf.txt", "x\r\ny\r\n")]);
    let tip = f.commit("main", &[(".gitattributes", "*.txt text\n")]);
    f.git.make_tree(&f.member(&tip, false)).unwrap();
    assert!(f.git.make_tree(&f.member(&tip, true)).is_ok());
}

#[test]
fn an_exact_tree_is_at_its_commit_with_nothing_else_in_it() {
    let f = Fixture::new();
    f.git.make_tree(&f.member(&f.at("main"), false)).unwrap();
    let place = f.root().join("b1/1-101");
    write(&place.join("w"), "w");
    f.run_in(&place, ["add", "w"]);
    f.run_in(&place, ["commit", "--quiet", "-m", "work"]);
    let tip = f.at(BRANCH);
    assert_eq!(f.git.make_tree(&f.member(&tip, true)), Ok(MadeTree::default()));
    write(&place.join("left by a gate"), "x");
    let made = f.git.make_tree(&f.member(&tip, true)).unwrap();
    let rescue = made.rescue.unwrap();
    assert_eq!(f.show(&format!("{rescue}:left by a gate")), "x");
    assert_eq!(f.run_in(&place, ["status", "--porcelain"]), "");
    assert_eq!(f.run_in(&place, ["symbolic-ref", "--short", "HEAD"]), BRANCH);
    f.run_in(&place, ["commit", "--quiet", "--allow-empty", "-m", "later"]);
    assert_eq!(f.git.make_tree(&f.member(&tip, true)), Ok(MadeTree::default()));
    assert_eq!(f.run_in(&place, ["rev-parse", "HEAD"]), tip.0);
    assert_ne!(f.at(BRANCH), tip);
}

#[test]
fn an_agents_tree_is_put_on_its_branch_again_whatever_was_left_checked_out() {
    let left: [&[&str]; 4] = [
        &["bisect", "start", "--no-checkout", "HEAD"],
        &["checkout", "--quiet", "--detach"],
        &["checkout", "--quiet", "-b", "own"],
        &["update-ref", "-d", &format!("refs/heads/{BRANCH}")],
    ];
    for command in left {
        let f = Fixture::new();
        f.git.make_tree(&f.member(&f.at("main"), false)).unwrap();
        let place = f.root().join("b1/1-101");
        f.run_in(&place, command);
        write(&place.join("left"), "x");
        f.git.make_tree(&f.member(&f.at("main"), false)).unwrap();
        assert!(!f.run_in(&place, ["status"]).contains("bisecting"));
        assert_eq!(f.run_in(&place, ["symbolic-ref", "--short", "HEAD"]), BRANCH);
        assert_eq!(f.at(BRANCH), f.at("main"));
        assert_eq!(f.run_in(&place, ["status", "--porcelain"]), "");
    }
}

#[test]
fn unsaved_work_is_on_a_rescue_ref_before_a_tree_is_used_again() {
    let f = Fixture::new();
    let request = f.member(&f.at("main"), false);
    f.git.make_tree(&request).unwrap();
    let place = f.root().join("b1/1-101");
    f.run_in(&place, ["checkout", "--quiet", "--detach"]);
    f.run_in(&place, ["commit", "--quiet", "--allow-empty", "-m", "loose"]);
    let loose = f.run_in(&place, ["rev-parse", "HEAD"]);
    write(&place.join("precious"), "hours of work");
    let rescue = f.git.make_tree(&request).unwrap().rescue.unwrap();
    assert_eq!(f.show(&format!("{rescue}:precious")), "hours of work");
    assert!(f.run(["rev-list", &rescue]).contains(&loose));
    assert_eq!(f.run_in(&place, ["status", "--porcelain"]), "");
    assert_eq!(f.git.make_tree(&request).unwrap().rescue, None, "nothing is left to rescue");
}

#[test]
fn a_check_tree_is_detached_and_clean_each_time_it_is_used() {
    let f = Fixture::new();
    let main = f.at("main");
    f.git.make_tree(&f.check(&main)).unwrap();
    let place = f.root().join("b1/check-1");
    write(&place.join("a"), "changed");
    write(&place.join("junk/x"), "x");
    let next = f.commit("side", &[("n", "n\n")]);
    f.git.make_tree(&f.check(&next)).unwrap();
    assert_eq!(f.run_in(&place, ["status", "--porcelain"]), "");
    assert_eq!(f.run_in(&place, ["rev-parse", "HEAD"]), next.0);
    assert!(!f.try_in(&place, ["symbolic-ref", "HEAD"]).0);
    fs::write(f.repo().join(".git/worktrees/check-1/index"), "broken").unwrap();
    f.git.make_tree(&f.check(&main)).unwrap();
    assert_eq!(f.run_in(&place, ["status", "--porcelain"]), "");
}

#[test]
fn twelve_trees_can_be_made_one_after_the_other_and_none_is_tracked() {
    let f = Fixture::new();
    let commit = f.at("main");
    for n in 1..=12 {
        let (path, branch) = (f.in_root(&format!("b1/{n}-x")), format!("sched/b1/{n}-x"));
        let tree = Tree::Member { path, branch, commit: commit.clone(), exact: false };
        f.git.make_tree(&f.tree(tree)).unwrap();
    }
    assert_eq!(f.run(["worktree", "list"]).lines().count(), 13);
}

#[test]
fn a_tree_that_lost_its_registration_keeps_its_files() {
    let f = Fixture::new();
    let request = f.member(&f.at("main"), false);
    f.git.make_tree(&request).unwrap();
    let place = f.root().join("b1/1-101");
    write(&place.join("a"), "unsaved\n");
    fs::remove_dir_all(f.repo().join(".git/worktrees/1-101")).unwrap();
    let rescue = f.git.make_tree(&request).unwrap().rescue.unwrap();
    assert_eq!(f.show(&format!("{rescue}:a")), "unsaved");
    assert_eq!(f.run_in(&place, ["symbolic-ref", "--short", "HEAD"]), BRANCH);
}

#[test]
fn a_tree_that_was_cut_off_while_it_was_made_is_in_nobody_elses_way() {
    let f = Fixture::new();
    let other = f.in_root("other");
    f.run(["worktree", "add", "--quiet", "-b", "other", &other]);
    let cut_off = f.repo().join(".git/worktrees/other/commondir");
    write(&cut_off, "");
    let request = f.member(&f.at("main"), false);
    f.git.make_tree(&request).unwrap();
    assert_eq!(read(&cut_off), "../..\n");
    write(&cut_off, "");
    assert_eq!(f.git.launcher.checkouts().map(|all| all.len()), Ok(3));
}

#[test]
fn a_tree_that_power_cut_off_while_it_was_made_is_made_again() {
    let f = Fixture::new();
    let request = f.member(&f.at("main"), false);
    let Tree::Member { path, .. } = &request.tree else { panic!() };
    f.git.make_tree(&request).unwrap();
    let dot_git = Path::new(path).join(".git");
    let admin = read(&dot_git).trim().strip_prefix("gitdir: ").unwrap().to_owned();
    for cut in [vec![dot_git.clone()], vec![dot_git.clone(), format!("{admin}/gitdir").into()]] {
        cut.iter().for_each(|file| write(file, ""));
        f.git.make_tree(&request).unwrap();
        assert!(read(&dot_git).starts_with("gitdir: "), "{cut:?}");
        assert_eq!(f.run_in(Path::new(path), ["status", "--porcelain"]), "", "{cut:?}");
    }
}

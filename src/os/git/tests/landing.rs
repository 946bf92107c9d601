//! Landing: one possible commit, whatever was interrupted.

use super::{Fixture, TIME};
use crate::domain::event::Landing;
use crate::domain::fact::{FoundLanding, LandResult};
use crate::domain::ids::CommitId;
use crate::engine::ports::Seen;
use crate::engine::ports::git::{Git, GitError};
use std::fs;

const BRANCH: &str = "sched/b1/integration";

fn fixture() -> Fixture {
    let f = Fixture::new();
    f.run(["branch", BRANCH, "main"]);
    f
}

fn landed(result: Result<LandResult, GitError>) -> CommitId {
    match result {
        Ok(LandResult::Landed(commit)) => commit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_squash_is_one_commit_with_subject_trailers_author_and_fixed_dates() {
    let f = fixture();
    f.commit("m", &[("a", "ONE\ntwo\nthree\nfour\nfive\n")]);
    let tip = f.commit("m", &[("c", "c\n")]);
    let parent = f.at(BRANCH);
    let before = f.operators_own();
    let commit = landed(f.git.land(&f.landing(&tip, Landing::Squash)));
    assert_eq!(f.at(BRANCH), commit);
    assert_eq!(f.at(&format!("{BRANCH}^@")), parent);
    assert_eq!(f.at(&format!("{BRANCH}^{{tree}}")), f.at(&format!("{tip}^{{tree}}")));
    let shown = f.run(["show", "-s", "--format=%an <%ae> %at %cn %ct %ai%n%B", BRANCH]);
    let second = TIME.seconds();
    let expected = format!("Agent <agent@example.org> {second} sched {second} 2026-11-30");
    assert!(shown.starts_with(&expected), "{shown}");
    assert!(shown.contains(" +0000\nFix it (#101)\n\nSched-Batch: b1\nSched-Member: 101"));
    assert_eq!(f.operators_own(), before);
}

#[test]
fn a_landing_is_the_same_commit_at_each_point_where_it_was_interrupted() {
    for landing in [Landing::Squash, Landing::Rebase, Landing::Merge] {
        let f = fixture();
        f.commit("m", &[("c", "c\n")]);
        let tip = f.commit("m", &[("d", "d\n")]);
        let request = f.landing(&tip, landing);
        let commit = landed(f.git.land(&request));
        f.run(["update-ref", &format!("refs/heads/{BRANCH}"), &request.parent.0]);
        assert_eq!(landed(f.git.land(&request)), commit, "made, not moved");
        assert_eq!(landed(f.git.land(&request)), commit, "moved");
        let beyond = f.commit(BRANCH, &[("later", "x")]);
        assert_eq!(landed(f.git.land(&request)), commit, "moved, and somebody went on");
        assert_eq!(f.at(BRANCH), beyond);
    }
}

#[test]
fn a_landing_does_not_depend_on_what_the_operator_has_checked_out_or_configured() {
    let f = fixture();
    f.commit(BRANCH, &[("a", "one\ntwo\nthree\nfour\nFIVE\n")]);
    let tip = f.commit("m", &[("a", "ONE\ntwo\nthree\nfour\nfive\n")]);
    let request = f.landing(&tip, Landing::Squash);
    let commit = landed(f.git.land(&request));
    f.run(["update-ref", &format!("refs/heads/{BRANCH}"), &request.parent.0]);
    fs::write(f.repo().join(".gitattributes"), "* -merge\n").unwrap();
    f.run(["config", "commit.gpgSign", "true"]);
    f.run(["config", "i18n.commitEncoding", "ISO-8859-1"]);
    f.run(["config", "user.name", "Operator"]);
    assert_eq!(landed(f.git.land(&request)), commit);
}

#[test]
fn a_branch_that_was_moved_is_told_and_left_alone() {
    let f = fixture();
    let tip = f.commit("m", &[("c", "c\n")]);
    let request = f.landing(&tip, Landing::Squash);
    let other = f.commit(BRANCH, &[("x", "x\n")]);
    assert_eq!(f.git.land(&request), Ok(LandResult::Moved(other.clone())));
    let mut nothing = f.landing(&request.parent, Landing::Squash);
    nothing.parent = request.parent.clone();
    assert_eq!(f.git.land(&nothing), Ok(LandResult::Moved(other.clone())));
    assert_eq!(f.at(BRANCH), other);
}

#[test]
fn a_change_that_is_there_already_is_no_landing() {
    let f = fixture();
    f.commit(BRANCH, &[("c", "c\n")]);
    let tip = f.commit("m", &[("c", "c\n")]);
    for landing in [Landing::Squash, Landing::Rebase, Landing::Merge] {
        assert_eq!(f.git.land(&f.landing(&tip, landing)), Ok(LandResult::AlreadyLanded));
    }
    let tip = f.at("main");
    assert_eq!(f.git.land(&f.landing(&tip, Landing::Squash)), Ok(LandResult::AlreadyLanded));
}

#[test]
fn a_conflict_names_its_paths_and_moves_nothing() {
    let f = fixture();
    let odd = "q\"uo\nte é";
    let at = f.commit(BRANCH, &[("a", "mine\n"), (odd, "mine\n")]);
    let tip = f.commit("m", &[("a", "theirs\n"), (odd, "theirs\n"), ("b", "B\n")]);
    for landing in [Landing::Squash, Landing::Rebase, Landing::Merge] {
        let result = f.git.land(&f.landing(&tip, landing));
        assert_eq!(result, Ok(LandResult::Conflict(vec!["a".into(), odd.into()])));
    }
    assert_eq!(f.at(BRANCH), at);
}

#[test]
fn a_locked_branch_is_tried_again_later() {
    let f = fixture();
    let tip = f.commit("m", &[("c", "c\n")]);
    let request = f.landing(&tip, Landing::Squash);
    let lock = f.repo().join(format!(".git/refs/heads/{BRANCH}.lock"));
    fs::write(&lock, "").unwrap();
    assert!(matches!(f.git.land(&request), Err(GitError::Locked { .. })));
    fs::remove_file(lock).unwrap();
    landed(f.git.land(&request));
}

#[test]
fn a_rebase_landing_has_a_commit_per_commit_and_strips_forged_trailers() {
    let f = fixture();
    f.commit(BRANCH, &[("x", "x\n")]);
    let forged = "first\n\nSched-Batch: b9\nSched-Member: 7\nAcked-by: me";
    f.commit_on("m", "main", forged, &[("c", "c\n")]);
    f.commit_on("m", "main", "empty", &[]);
    let tip = f.commit_on("m", "main", "last\n\nSched-Journal: 1:ff", &[("d", "d\n")]);
    let parent = f.at(BRANCH);
    let commit = landed(f.git.land(&f.landing(&tip, Landing::Rebase)));
    let log = f.run(["log", "--reverse", "--format=%B%x2e", &format!("{parent}..{commit}")]);
    let expected = "first\n\nAcked-by: me\n.\nlast\n\nSched-Batch: b1\nSched-Member: 101\n.";
    assert_eq!(log, expected);
    assert_eq!(f.show(&format!("{commit}:x")), "x");
}

#[test]
fn a_rebase_landing_whose_own_merge_resolved_a_conflict_lands_as_one_commit() {
    let f = fixture();
    let parent = f.commit(BRANCH, &[("a", "mine\n")]);
    f.commit("m", &[("a", "theirs\n")]);
    let place = f.in_root("agent");
    f.run(["worktree", "add", "--quiet", &place, "m"]);
    f.try_in(place.as_ref(), ["merge", BRANCH]);
    fs::write(format!("{place}/a"), "both\n").unwrap();
    f.run_in(place.as_ref(), ["commit", "--quiet", "-am", "merged"]);
    let tip = f.at("m");
    let commit = landed(f.git.land(&f.landing(&tip, Landing::Rebase)));
    assert_eq!(f.at(&format!("{commit}^@")), parent);
    assert_eq!(f.show(&format!("{commit}:a")), "both");
}

#[test]
fn a_merge_landing_has_the_members_tip_as_second_parent() {
    let f = fixture();
    f.commit(BRANCH, &[("x", "x\n")]);
    let tip = f.commit("m", &[("c", "c\n")]);
    let parent = f.at(BRANCH);
    let commit = landed(f.git.land(&f.landing(&tip, Landing::Merge)));
    assert_eq!(f.at(&format!("{commit}^1")), parent);
    assert_eq!(f.at(&format!("{commit}^2")), tip);
}

#[test]
fn an_author_without_a_usable_name_becomes_the_scheduler() {
    let f = fixture();
    let tree = f.at("main^{tree}").0;
    let raw = format!("tree {tree}\nauthor <> 1 +0000\ncommitter <> 1 +0000\n\nx\n");
    fs::write(f.repo().join(".git/raw"), raw).unwrap();
    let root = f.run(["hash-object", "-w", "--literally", "-t", "commit", ".git/raw"]);
    f.run(["update-ref", "refs/heads/m", &root]);
    let place = f.in_root("agent");
    f.run(["worktree", "add", "--quiet", &place, "m"]);
    fs::write(format!("{place}/new"), "n").unwrap();
    f.run_in(place.as_ref(), ["add", "new"]);
    f.run_in(
        place.as_ref(),
        ["-c", "user.name=.", "commit", "--quiet", "-m", "x", "--author=. <>"],
    );
    let tip = f.at("m");
    let commit = landed(f.git.land(&f.landing(&tip, Landing::Squash)));
    assert_eq!(f.run(["show", "-s", "--format=%an", &commit.0]), "sched");
}

#[test]
fn landings_of_a_batch_are_found_by_their_trailers_oldest_first() {
    let f = fixture();
    let since = f.at(BRANCH);
    let mut expected = Vec::new();
    for issue in ["101", "102"] {
        let tip = f.commit(issue, &[(issue, "x\n")]);
        let mut request = f.landing(&tip, Landing::Rebase);
        request.issue = issue.into();
        request.trailers[1].1 = issue.into();
        let commit = landed(f.git.land(&request));
        expected.push(FoundLanding { member: issue.into(), commit });
    }
    f.commit_on(BRANCH, "main", "x\n\nSched-Batch: b2\nSched-Member: 9", &[("o", "o")]);
    let found = f.git.landings(BRANCH, &"b1".into(), &since);
    assert_eq!(found, Seen::Value(expected.clone()));
    let found = f.git.landings(BRANCH, &"b1".into(), &expected[0].commit);
    assert_eq!(found, Seen::Value(expected[1..].to_vec()));
    assert_eq!(f.git.landings("gone", &"b1".into(), &since), Seen::Absent);
}

#[test]
fn what_a_member_wrote_into_its_own_commits_is_nobodys_landing() {
    let f = fixture();
    let since = f.at(BRANCH);
    let tip = f.commit_on("m", "main", "x\n\nSched-Batch: b1\nSched-Member: 9", &[("c", "c")]);
    let commit = landed(f.git.land(&f.landing(&tip, Landing::Merge)));
    let found = f.git.landings(BRANCH, &"b1".into(), &since);
    assert_eq!(found, Seen::Value(vec![FoundLanding { member: "101".into(), commit }]));
}

//! Rebasing landed commits onto a base that somebody moved.

use super::Fixture;
use crate::domain::event::{Landing, Merge};
use crate::domain::fact::{LandResult, RebaseResult};
use crate::domain::ids::CommitId;
use crate::engine::ports::git::{Git, GitError, RebaseRequest};
use std::fs;

const BRANCH: &str = "sched/b1/integration";

/// Two landed members, and a base that moved meanwhile.
fn ready(landing: Landing, files: [&str; 2], moved: &[(&str, &str)]) -> (Fixture, RebaseRequest) {
    let f = Fixture::new();
    let from = f.at("main");
    f.run(["branch", BRANCH, "main"]);
    let mut landed = Vec::new();
    for (issue, file) in ["101", "102"].into_iter().zip(files) {
        f.commit(issue, &[(&format!("first-{issue}"), "x\n")]);
        let tip = f.commit(issue, &[(file, &format!("{issue}\n"))]);
        let mut request = f.landing(&tip, landing);
        request.issue = issue.into();
        request.trailers[1].1 = issue.into();
        let Ok(LandResult::Landed(commit)) = f.git.land(&request) else { panic!() };
        landed.push((issue.into(), commit));
    }
    let tip = f.at(BRANCH);
    let onto = f.commit("main", moved);
    let branch = BRANCH.to_owned();
    (f, RebaseRequest { branch, from, onto, tip, landed, judged: None })
}

fn rebased(f: &Fixture, request: &RebaseRequest) -> (CommitId, Vec<CommitId>) {
    match f.git.rebase(request) {
        Ok(RebaseResult::Rebased { tip, landed, .. }) => {
            let issues: Vec<&str> = landed.iter().map(|(issue, _)| issue.as_str()).collect();
            assert_eq!(issues, ["101", "102"]);
            (tip, landed.into_iter().map(|(_, commit)| commit).collect())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_commit_keeps_its_author_dates_and_message_on_the_new_base() {
    for landing in [Landing::Squash, Landing::Rebase, Landing::Merge] {
        let (f, request) = ready(landing, ["c", "d"], &[("e", "e\n")]);
        let before = f.operators_own();
        let (tip, landed) = rebased(&f, &request);
        assert_eq!(f.at(BRANCH), tip);
        assert_eq!(landed.last(), Some(&tip));
        let format = "--format=%an %ae %at %cn %ct %B";
        let log = |from: &CommitId, to: &CommitId| {
            f.run(["log", "--first-parent", format, &format!("{from}..{to}")])
        };
        assert_eq!(log(&request.onto, &tip), log(&request.from, &request.tip));
        assert_eq!(f.show(&format!("{tip}:e")), "e");
        let parents = |commit: &CommitId| f.run(["show", "-s", "--format=%P", &commit.0]);
        let second = parents(&tip).split(' ').nth(1).map(str::to_owned);
        assert_eq!(second, parents(&request.tip).split(' ').nth(1).map(str::to_owned));
        assert_eq!(f.operators_own(), before);
    }
}

#[test]
fn a_rebase_is_the_same_at_each_point_where_it_was_interrupted() {
    let (f, request) = ready(Landing::Squash, ["c", "d"], &[("e", "e\n")]);
    let first = rebased(&f, &request);
    assert_eq!(rebased(&f, &request), first, "moved");
    f.run(["update-ref", &format!("refs/heads/{BRANCH}"), &request.tip.0]);
    assert_eq!(rebased(&f, &request), first, "made, not moved");
}

#[test]
fn a_conflict_names_the_member_and_moves_nothing() {
    for landing in [Landing::Squash, Landing::Rebase] {
        let (f, request) = ready(landing, ["c", "d"], &[("d", "other\n")]);
        let result = f.git.rebase(&request);
        assert_eq!(result, Ok(RebaseResult::Conflict("102".into(), vec!["d".into()])));
        assert_eq!(f.at(BRANCH), request.tip);
    }
}

#[test]
fn a_base_that_somebody_moved_to_a_part_of_the_batch_is_no_conflict() {
    for landing in [Landing::Squash, Landing::Rebase] {
        let (f, mut request) = ready(landing, ["c", "d"], &[("e", "e\n")]);
        request.onto = request.landed[0].1.clone();
        let (tip, landed) = rebased(&f, &request);
        assert_eq!(tip, request.tip);
        assert_eq!(landed, [request.landed[0].1.clone(), request.landed[1].1.clone()]);
        f.run(["update-ref", "refs/heads/main", &request.onto.0]);
        request.onto = f.commit("main", &[("outside", "x\n")]);
        let (_, landed) = rebased(&f, &request);
        assert_eq!(landed[0], request.landed[0].1, "the new base has it");
        assert_ne!(landed[1], request.landed[1].1);
    }
}

#[test]
fn a_change_that_the_new_base_has_stays_as_an_empty_landing() {
    let moved = [("c", "101\n"), ("first-101", "x\n")];
    let (f, request) = ready(Landing::Squash, ["c", "d"], &moved);
    let (_, landed) = rebased(&f, &request);
    assert_eq!(f.run(["diff", &request.onto.0, &landed[0].0]), "");
    assert_ne!(landed[0], request.onto);
}

/// What became of the judged work.
fn judged(f: &Fixture, request: &RebaseRequest) -> Option<Merge> {
    match f.git.rebase(request) {
        Ok(RebaseResult::Rebased { judged, .. }) => judged,
        other => panic!("{other:?}"),
    }
}

#[test]
fn judged_work_is_merged_with_the_new_tip_always_into_the_same_commit() {
    let (f, mut request) = ready(Landing::Squash, ["c", "d"], &[("e", "e\n")]);
    f.run(["branch", "103", &request.tip.0]);
    let work = f.commit("103", &[("f", "f\n")]);
    request.judged = Some(work.clone());
    let Some(Merge::Commit(merged)) = judged(&f, &request) else { panic!() };
    let tip = f.at(BRANCH);
    assert_eq!(f.run(["show", "-s", "--format=%P", &merged.0]), format!("{work} {tip}"));
    assert_eq!(f.run(["diff", "--name-only", &tip.0, &merged.0]), "f");
    assert_eq!(judged(&f, &request), Some(Merge::Commit(merged)), "asked again");
    assert_eq!(f.at("103"), work, "the member's branch is its own");
}

#[test]
fn judged_work_that_conflicts_with_the_new_tip_is_told_with_its_paths() {
    let (f, mut request) = ready(Landing::Squash, ["c", "d"], &[("e", "e\n")]);
    f.run(["branch", "103", &request.tip.0]);
    request.judged = Some(f.commit("103", &[("e", "mine\n")]));
    assert_eq!(judged(&f, &request), Some(Merge::Conflict(vec!["e".into()])));
    assert_ne!(f.at(BRANCH), request.tip, "the landed commits moved all the same");
}

#[test]
fn judged_work_that_stands_on_the_tip_is_taken_as_it_is() {
    let (f, mut request) = ready(Landing::Squash, ["c", "d"], &[("e", "e\n")]);
    request.onto = request.from.clone();
    f.run(["branch", "103", &request.tip.0]);
    let work = f.commit("103", &[("f", "f\n")]);
    request.judged = Some(work.clone());
    assert_eq!(judged(&f, &request), Some(Merge::Commit(work)));
}

#[test]
fn an_integration_branch_that_somebody_moved_is_told_and_left_alone() {
    let (f, request) = ready(Landing::Squash, ["c", "d"], &[("e", "e\n")]);
    let other = f.commit(BRANCH, &[("x", "x\n")]);
    assert_eq!(f.git.rebase(&request), Ok(RebaseResult::Moved(other.clone())));
    assert_eq!(f.at(BRANCH), other);
}

#[test]
fn a_rebase_onto_the_same_base_changes_nothing() {
    let (f, mut request) = ready(Landing::Squash, ["c", "d"], &[("e", "e\n")]);
    request.onto = request.from.clone();
    assert_eq!(rebased(&f, &request).0, request.tip);
}

#[test]
fn a_landing_that_is_not_on_the_branch_and_a_held_lock_are_errors() {
    let (f, mut request) = ready(Landing::Squash, ["c", "d"], &[("e", "e\n")]);
    let lock = f.repo().join(format!(".git/refs/heads/{BRANCH}.lock"));
    fs::write(&lock, "").unwrap();
    assert!(matches!(f.git.rebase(&request), Err(GitError::Locked { .. })));
    fs::remove_file(&lock).unwrap();
    request.landed[0].1 = request.onto.clone();
    assert!(matches!(f.git.rebase(&request), Err(GitError::Failed { .. })));
    assert_eq!(f.at(BRANCH), request.tip);
}

//! Branches whose objects power has left without content.

use super::{Fixture, write};
use crate::domain::ids::CommitId;
use crate::engine::ports::Seen;
use crate::engine::ports::git::Git;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const BRANCH: &str = "sched/b1/1-101";

/// A member's tree with two commits of its agent's.
struct Worked {
    f: Fixture,
    place: PathBuf,
    start: CommitId,
    first: CommitId,
    second: CommitId,
}

fn worked() -> Worked {
    let f = Fixture::new();
    let start = f.at("main");
    f.git.make_tree(&f.member(&start, false)).unwrap();
    let place = f.root().join("b1/1-101");
    let commit = |file: &str| {
        write(&place.join(file), &format!("{file} of an agent"));
        f.run_in(&place, ["add", file]);
        f.run_in(&place, ["commit", "--quiet", "-m", file]);
        f.at(BRANCH)
    };
    let (first, second) = (commit("one"), commit("two"));
    Worked { f, place, start, first, second }
}

impl Worked {
    fn object(&self, revision: &str) -> PathBuf {
        let id = self.f.at(revision).0;
        self.f.repo().join(".git/objects").join(&id[..2]).join(&id[2..])
    }

    /// As after power failed: the name is there, the content is not.
    fn hollow(&self, path: &PathBuf, content: &[u8]) {
        let _ = fs::remove_file(path);
        fs::write(path, content).unwrap();
    }

    fn object_is_there(&self, branch: &str) -> bool {
        let Seen::Value(CommitId(id)) = self.f.git.reference(branch) else { return false };
        self.f.repo().join(".git/objects").join(&id[..2]).join(&id[2..]).exists()
    }

    fn mend(&self) -> bool {
        self.f.git.mend(BRANCH, &self.start).unwrap()
    }
}

#[test]
fn a_branch_that_can_be_read_stays() {
    let w = worked();
    assert!(!w.mend());
    assert_eq!(w.f.at(BRANCH), w.second);
    assert!(!w.f.git.mend("sched/b1/none", &w.start).unwrap(), "nor is one made");
}

#[test]
fn a_branch_without_its_objects_goes_back_to_what_can_be_read() {
    for (what, content) in
        [("", &b""[..]), ("^{tree}", &[0; 100]), (":two", b""), (":two", b"x\x01")]
    {
        let w = worked();
        let object = w.object(&format!("{BRANCH}{what}"));
        w.hollow(&object, content);
        let of_another = object.with_file_name("tmp_obj_x");
        write(&of_another, "");
        assert!(w.mend(), "{what}");
        assert!(of_another.exists(), "somebody may just write it");
        assert_eq!(w.f.at(BRANCH), w.first, "{what}");
        assert!(!object.exists(), "git would take it for the object");
        assert!(!w.mend(), "it is whole now");
    }
}

#[test]
fn an_object_that_is_cut_off_is_none_whatever_it_is() {
    let w = worked();
    write(&w.place.join(".gitattributes"), "*.bin binary\n");
    let random = |n: u32| n.wrapping_mul(2_654_435_761).to_be_bytes();
    let content: Vec<u8> = (0..20_000).flat_map(random).collect();
    let file = w.place.join("x.bin");
    fs::write(&file, content).unwrap();
    let before = fs::File::options().write(true).open(&file).unwrap();
    before.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    w.f.run_in(&w.place, ["add", "."]);
    w.f.run_in(&w.place, ["commit", "--quiet", "-m", "three"]);
    let (third, object) = (w.f.at(BRANCH), w.object(&format!("{BRANCH}:x.bin")));
    let whole = fs::read(&object).unwrap();
    assert!(whole.len() > 70_000, "more than is read at once");
    for length in [whole.len() - 1, 8192] {
        w.hollow(&object, &whole[..length]);
        assert!(w.mend(), "{length}");
        assert_eq!(w.f.at(BRANCH), w.second, "{length}");
        let request = w.f.rescue_of(w.place.to_str().unwrap(), Some(BRANCH));
        let rescued = w.f.git.rescue(&request).unwrap().expect("its file is there still");
        w.f.run(["rev-list", "--objects", "--quiet", &rescued]);
        let _ = fs::remove_file(&object); // it was made again from that
        fs::write(w.f.repo().join(".git/refs/heads").join(BRANCH), format!("{third}\n")).unwrap();
    }
}

#[test]
fn what_was_staged_is_no_object_either_when_its_content_is_lost() {
    let w = worked();
    let file = w.place.join("three");
    write(&file, "staged");
    let before = fs::File::options().write(true).open(&file).unwrap();
    before.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    w.f.run_in(&w.place, ["add", "three"]);
    let id = w.f.run_in(&w.place, ["rev-parse", ":three"]);
    let object = w.f.repo().join(".git/objects").join(&id[..2]).join(&id[2..]);
    w.hollow(&object, b"");
    assert!(!w.mend());
    assert!(!object.exists());
    assert!(w.f.repo().join(".git/objects/sched-lost").join(&id).exists(), "it is kept");
    let request = w.f.rescue_of(w.place.to_str().unwrap(), Some(BRANCH));
    let rescued = w.f.git.rescue(&request).unwrap().unwrap();
    assert_eq!(w.f.show(&format!("{rescued}:three")), "staged", "its file is there still");
}

#[test]
fn a_commit_before_the_tip_is_missed_too() {
    let w = worked();
    w.f.run(["commit-graph", "write", "--reachable"]);
    w.hollow(&w.object(&format!("{BRANCH}~")), b"");
    assert!(w.mend());
    assert_eq!(w.f.at(BRANCH), w.start, "there is nothing between");
}

#[test]
fn a_log_may_hold_any_bytes() {
    let w = worked();
    let log = w.f.repo().join(".git/logs/refs/heads").join(BRANCH);
    let mut bytes = fs::read(&log).unwrap();
    for at in (0..bytes.len()).filter(|at| bytes[*at] == b'<').collect::<Vec<_>>() {
        bytes[at - 1] = 0xE9;
    }
    bytes.extend([0; 64]);
    fs::write(&log, bytes).unwrap();
    w.hollow(&w.object(BRANCH), b"");
    assert!(w.mend());
    assert_eq!(w.f.at(BRANCH), w.first);
}

#[test]
fn without_a_log_nothing_is_given_up_that_may_have_been_acknowledged() {
    let w = worked();
    fs::remove_file(w.f.repo().join(".git/logs/refs/heads").join(BRANCH)).unwrap();
    let (blob, tip) = (w.object(&format!("{BRANCH}:two")), w.object(BRANCH));
    let saved = fs::read(&tip).unwrap();
    w.hollow(&tip, b"");
    assert!(w.f.git.mend(BRANCH, &w.start).is_err());
    assert_eq!(w.f.git.reference(BRANCH), Seen::Value(w.second.clone()));
    fs::write(&tip, saved).unwrap();
    w.hollow(&blob, b"");
    assert!(w.mend());
    assert_eq!(w.f.at(BRANCH), w.first);
}

#[test]
fn a_ref_without_content_is_where_its_log_says() {
    for content in [&b""[..], &[0; 41]] {
        let w = worked();
        fs::write(w.f.repo().join(".git/refs/heads").join(BRANCH), content).unwrap();
        assert!(w.mend());
        assert_eq!(w.f.at(BRANCH), w.second);
    }
    let w = worked();
    fs::remove_file(w.f.repo().join(".git/refs/heads").join(BRANCH)).unwrap();
    assert!(w.mend(), "whoever mended it died between its two steps");
    assert_eq!(w.f.at(BRANCH), w.second);
}

#[test]
fn what_lies_in_another_repository_that_is_away_is_not_lost() {
    let w = worked();
    write(&w.f.repo().join(".git/objects/info/alternates"), "/nowhere/objects\n");
    w.hollow(&w.object(BRANCH), b"");
    assert!(w.f.git.mend(BRANCH, &w.start).is_err());
    assert!(w.object_is_there(BRANCH));
}

#[test]
fn the_work_can_be_done_again_and_is_whole_then() {
    let w = worked();
    let all = ["", "^{tree}", ":one", ":two", "~", "~^{tree}"];
    let all = all.map(|what| w.object(&format!("{BRANCH}{what}")));
    all.iter().for_each(|object| w.hollow(object, b""));
    assert!(w.mend());
    assert_eq!(w.f.at(BRANCH), w.start);
    let made = w.f.git.make_tree(&w.f.member(&w.start, false)).unwrap();
    assert!(made.rescue.is_some(), "what was in the tree is not thrown away");
    for file in ["one", "two"] {
        write(&w.place.join(file), &format!("{file} of an agent"));
    }
    w.f.run_in(&w.place, ["add", "."]);
    w.f.run_in(&w.place, ["commit", "--quiet", "-m", "again"]);
    w.f.run(["fsck", "--strict", "--no-reflogs"]);
    let Seen::Value(ground) = w.f.git.ground(w.place.to_str().unwrap(), BRANCH, &w.start) else {
        panic!("it can be read");
    };
    assert!(ground.commits == 1 && ground.tree && !ground.dirty);
}

#[test]
fn a_broken_branch_keeps_nobody_elses_work_from_being_rescued() {
    let w = worked();
    w.f.run(["branch", "theirs", BRANCH]);
    w.hollow(&w.object(BRANCH), b"");
    w.mend();
    write(&w.place.join("more"), "unsaved");
    let request = w.f.rescue_of(w.place.to_str().unwrap(), Some(BRANCH));
    assert!(w.f.git.rescue(&request).unwrap().is_some());
}

#[test]
fn a_branch_is_not_moved_when_git_fails_for_another_reason() {
    let w = worked();
    let nowhere = CommitId("0123456789012345678901234567890123456789".into());
    w.hollow(&w.object(BRANCH), b"");
    fs::create_dir(w.f.repo().join(".git/refs/heads/sched/b1/1-101.lock")).unwrap();
    assert!(w.f.git.mend(BRANCH, &w.start).is_err());
    assert!(w.f.git.mend(BRANCH, &nowhere).is_err(), "there is nothing to go back to");
    assert_eq!(w.f.git.reference(BRANCH), Seen::Value(w.second));
}

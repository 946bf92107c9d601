//! Branches whose objects power has left without content.

use super::{Fixture, write};
use crate::domain::ids::CommitId;
use crate::engine::ports::Seen;
use crate::engine::ports::git::Git;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

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
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(path, content).unwrap();
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
    for (revision, content) in
        [("{}", &b""[..]), ("{}^{tree}", &[0; 100]), ("{}:two", b""), ("{}:two", &[0; 9])]
    {
        let w = worked();
        let object = w.object(&revision.replace("{}", BRANCH));
        w.hollow(&object, content);
        let of_another = object.with_file_name("tmp_obj_x");
        write(&of_another, "");
        assert!(w.mend(), "{revision}");
        assert!(of_another.exists(), "somebody may just write it");
        assert_eq!(w.f.at(BRANCH), w.first, "{revision}");
        assert!(!object.exists(), "git would take it for the object");
        assert!(!w.mend(), "it is whole now");
    }
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

//! Rescue of unsaved work, cleaning and removal of trees, and what the ground shows.

use super::{Fixture, TIME, read, write};
use crate::domain::event::{Ground, Merge};
use crate::engine::ports::Seen;
use crate::engine::ports::git::{Git, RescueRequest};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const BRANCH: &str = "sched/b1/1-101";
const REF: &str = "refs/sched/rescue/batch/b1/101/20261130T";

struct Member {
    f: Fixture,
    place: PathBuf,
    request: RescueRequest,
}

fn member() -> Member {
    let f = Fixture::new();
    f.git.make_tree(&f.member(&f.at("main"), false)).unwrap();
    let place = f.root().join("b1/1-101");
    let request = f.rescue_of(place.to_str().unwrap(), Some(BRANCH));
    Member { f, place, request }
}

impl Member {
    fn run(&self, arguments: &[&str]) -> String {
        self.f.run_in(&self.place, arguments)
    }

    fn commit(&self, file: &str) -> String {
        write(&self.place.join(file), file);
        self.run(&["add", file]);
        self.run(&["commit", "--quiet", "-m", file]);
        self.run(&["rev-parse", "HEAD"])
    }

    fn ground(&self) -> Ground {
        let seen = self.f.git.ground(&self.request.path, BRANCH, &self.f.at("main"));
        let Seen::Value(ground) = seen else { panic!("{seen:?}") };
        ground
    }

    fn rescue(&self) -> Option<String> {
        self.f.git.rescue(&self.request).unwrap()
    }
}

#[test]
fn the_ground_shows_commits_dirt_and_where_head_is() {
    let m = member();
    let clean = m.ground();
    assert!(clean.tree && clean.on_branch && !clean.dirty);
    assert_eq!(clean.commits, 0);
    let tip = m.commit("w");
    write(&m.place.join("untracked"), "x");
    let ground = m.ground();
    assert!(ground.dirty && ground.on_branch && ground.merged.is_none());
    assert_eq!((ground.commits, ground.tip), (1, Some(tip.as_str().into())));
    m.run(&["checkout", "--quiet", "--detach"]);
    assert!(!m.ground().on_branch);
    fs::remove_dir_all(&m.place).unwrap();
    let gone = m.ground();
    assert!(!gone.tree && !gone.dirty && gone.commits == 1);
    m.f.run(["update-ref", "-d", "refs/heads/sched/b1/1-101"]);
    assert_eq!(m.ground().tip, None);
}

#[test]
fn the_ground_of_a_branch_that_does_not_stand_on_the_tip_shows_the_merge_of_both() {
    let m = member();
    let work = m.commit("w");
    let tip = m.f.commit("main", &[("elsewhere", "x\n")]);
    let ground = m.ground();
    let Some(Merge::Commit(merged)) = ground.merged else { panic!("{ground:?}") };
    assert_eq!(ground.commits, 1);
    assert_eq!(m.f.run(["show", "-s", "--format=%P", &merged.0]), format!("{work} {tip}"));
    assert_eq!(m.f.at("sched/b1/1-101").0, work, "the branch stays where it is");
}

#[test]
fn an_ignored_file_is_no_dirt_and_a_broken_index_hides_work() {
    let m = member();
    write(&m.place.join(".gitignore"), "ignored\n");
    m.run(&["add", ".gitignore"]);
    m.run(&["commit", "--quiet", "-m", "x"]);
    write(&m.place.join("ignored"), "x");
    assert!(!m.ground().dirty);
    fs::write(m.f.repo().join(".git/worktrees/1-101/index"), "broken").unwrap();
    assert!(m.ground().dirty);
}

#[test]
fn a_tree_with_nothing_unsaved_needs_no_rescue() {
    let m = member();
    m.commit("w");
    assert_eq!(m.rescue(), None);
    assert_eq!(m.f.run(["for-each-ref", "refs/sched"]), "");
}

#[test]
fn every_kind_of_dirty_file_is_rescued_and_the_tree_stays_as_it_is() {
    let m = member();
    m.commit("gone");
    fs::remove_file(m.place.join("gone")).unwrap();
    write(&m.place.join("a"), "changed");
    write(&m.place.join("staged"), "staged");
    m.run(&["add", "staged"]);
    write(&m.place.join("staged"), "then changed");
    write(&m.place.join("new\nline \"q\""), "odd");
    fs::write(m.place.join(OsStr::from_bytes(b"\xff\xfe")), "bytes").unwrap();
    symlink("nowhere", m.place.join("link")).unwrap();
    fs::set_permissions(m.place.join("b"), fs::Permissions::from_mode(0o755)).unwrap();
    let index = fs::read(m.f.repo().join(".git/worktrees/1-101/index")).unwrap();
    let status = m.run(&["--no-optional-locks", "status", "--porcelain"]);
    let name = m.rescue().unwrap();
    assert!(name.starts_with(REF), "{name}");
    let listed = m.f.run(["ls-tree", "-r", "--format=%(objectmode) %(path)", &name]);
    for entry in ["100755 b", "120000 link", r#"100644 "new\nline \"q\"""#, r#"100644 "\377\376""#]
    {
        assert!(listed.lines().any(|l| l == entry), "{entry} in {listed}");
    }
    assert!(!listed.contains("gone"));
    assert_eq!(m.f.show(&format!("{name}:a")), "changed");
    assert_eq!(m.f.show(&format!("{name}:staged")), "then changed");
    assert_eq!(m.f.show(&format!("{name}^2:staged")), "staged");
    assert_eq!(m.f.at(&format!("{name}^1")), m.f.at(BRANCH));
    assert_eq!(fs::read(m.f.repo().join(".git/worktrees/1-101/index")).unwrap(), index);
    assert_eq!(m.run(&["--no-optional-locks", "status", "--porcelain"]), status);
}

#[test]
fn an_edit_within_the_second_of_a_commit_and_as_long_as_the_file_was_is_rescued() {
    let m = member();
    m.f.run(["config", "core.trustctime", "false"]);
    let then = SystemTime::now() - Duration::from_secs(10);
    let at_once = |file: &Path| {
        fs::File::options().append(true).open(file).unwrap().set_modified(then).unwrap();
    };
    let file = m.place.join("w");
    write(&file, "one");
    at_once(&file);
    m.run(&["add", "w"]);
    m.run(&["commit", "--quiet", "-m", "w"]);
    write(&file, "two");
    at_once(&file);
    at_once(&m.f.repo().join(".git/worktrees/1-101/index"));
    assert!(m.ground().dirty);
    let name = m.rescue().unwrap();
    assert_eq!(m.f.show(&format!("{name}:w")), "two");
}

#[test]
fn a_rescue_done_twice_finds_its_own_ref_and_other_work_gets_another() {
    let m = member();
    write(&m.place.join("a"), "changed");
    let first = m.rescue().unwrap();
    assert_eq!(m.rescue().unwrap(), first);
    write(&m.place.join("a"), "changed again");
    assert_eq!(m.rescue().unwrap(), format!("{first}-2"));
    assert_eq!(m.f.show(&format!("{first}:a")), "changed");
}

#[test]
fn commits_that_no_branch_reaches_are_rescued() {
    let m = member();
    m.run(&["checkout", "--quiet", "--detach"]);
    let loose = m.commit("w");
    let name = m.rescue().unwrap();
    assert_eq!(m.f.at(&name).0, loose);
    assert_eq!(m.rescue(), None, "it is reached now");
}

#[test]
fn a_clean_tree_is_on_its_branch_with_everything_unsaved_out_of_it() {
    let m = member();
    m.run(&["checkout", "--quiet", "-b", "own"]);
    m.commit("w");
    write(&m.place.join("junk/x"), "x");
    m.run(&["checkout", "--quiet", "--detach"]);
    let loose = m.commit("loose");
    let name = m.rescue().unwrap();
    m.f.git.clean_tree(&m.request).unwrap();
    assert_eq!(m.run(&["symbolic-ref", "--short", "HEAD"]), BRANCH);
    assert_eq!(m.run(&["status", "--porcelain"]), "");
    assert_eq!(m.f.show(&format!("{name}:junk/x")), "x");
    assert_eq!(m.f.run(["merge-base", "--is-ancestor", &loose, &name]), "");
    let ground = m.ground();
    assert!(ground.tree && ground.on_branch && !ground.dirty);
}

#[test]
fn a_merge_or_rebase_under_way_is_rescued_and_ended() {
    for kind in ["merge", "rebase", "cherry-pick"] {
        let m = member();
        write(&m.place.join("a"), "mine\n");
        m.run(&["commit", "--quiet", "-am", "mine"]);
        m.f.commit("side", &[("a", "theirs\n")]);
        let (ok, _) = m.f.try_in(&m.place, [kind, "side"]);
        assert!(!ok);
        let ground = m.ground();
        assert!(ground.dirty && ground.tree);
        let name = m.rescue().unwrap();
        assert!(m.f.show(&format!("{name}:a")).contains("<<<<<<<"), "{kind}");
        m.f.git.clean_tree(&m.request).unwrap();
        let status = m.run(&["status"]);
        assert!(status.contains("nothing to commit, working tree clean"), "{kind}: {status}");
        assert_eq!(m.run(&["symbolic-ref", "--short", "HEAD"]), BRANCH, "{kind}");
    }
}

#[test]
fn a_broken_index_or_a_stale_lock_keeps_nothing_from_rescue_and_cleaning() {
    let m = member();
    write(&m.place.join("a"), "changed");
    let admin = m.f.repo().join(".git/worktrees/1-101");
    fs::write(admin.join("index"), "broken").unwrap();
    let lock = fs::File::create(admin.join("index.lock")).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(100);
    lock.set_modified(old).unwrap();
    drop(lock);
    let name = m.rescue().unwrap();
    assert_eq!(m.f.show(&format!("{name}:a")), "changed");
    m.f.git.clean_tree(&m.request).unwrap();
    assert_eq!(m.run(&["status", "--porcelain"]), "");
    assert_eq!(read(&m.place.join("a")), "one\ntwo\nthree\nfour\nfive\n");
}

#[test]
fn repositories_inside_the_tree_are_rescued_with_their_commits() {
    let m = member();
    let inner = m.place.join("deep/inner");
    let unborn = m.place.join("unborn");
    for place in [&inner, &unborn] {
        fs::create_dir_all(place).unwrap();
        m.f.run_in(place, ["init", "--quiet"]);
        write(&place.join("f"), "saved\n");
    }
    m.f.run_in(&inner, ["add", "f"]);
    m.f.run_in(&inner, ["commit", "--quiet", "-m", "inner"]);
    let commit = m.f.run_in(&inner, ["rev-parse", "HEAD"]);
    write(&inner.join("f"), "changed\n");
    let name = m.rescue().unwrap();
    m.f.git.remove_tree(&m.request).unwrap();
    assert!(!m.place.exists());
    m.f.run(["merge-base", "--is-ancestor", &commit, &name]);
    let parents = m.f.run(["log", "--format=%H %s", "--no-walk", &format!("{name}^@")]);
    let of = |what: &str| {
        let line = parents.lines().find(|l| l.ends_with(what)).unwrap();
        line.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(m.f.show(&format!("{}:f", of(": deep/inner"))), "changed");
    assert_eq!(m.f.show(&format!("{}:f", of(": unborn"))), "saved");
}

/// A member whose tree has a submodule at `sub`.
fn with_submodule() -> Member {
    let m = member();
    let library = m.f.root().join("library");
    fs::create_dir_all(&library).unwrap();
    m.f.run_in(&library, ["init", "--quiet"]);
    m.f.run_in(&library, ["commit", "--quiet", "--allow-empty", "-m", "library"]);
    m.run(&["submodule", "--quiet", "add", library.to_str().unwrap(), "sub"]);
    m.run(&["commit", "--quiet", "-m", "sub"]);
    m
}

#[test]
fn a_submodule_with_work_in_it_is_rescued() {
    let m = with_submodule();
    assert_eq!(m.rescue(), None);
    write(&m.place.join("sub/f"), "work");
    assert!(m.ground().dirty);
    let name = m.rescue().unwrap();
    assert_eq!(m.f.show(&format!("{name}^2:f")), "work");
    m.f.git.remove_tree(&m.request).unwrap();
    assert!(!m.place.exists());
}

#[test]
fn commits_of_a_submodule_that_only_its_tree_has_are_rescued_although_the_tree_is_clean() {
    let m = with_submodule();
    let sub = m.place.join("sub");
    m.f.run_in(&sub, ["commit", "--quiet", "--allow-empty", "-m", "work"]);
    let work = m.f.run_in(&sub, ["rev-parse", "HEAD"]);
    m.f.run_in(&sub, ["checkout", "--quiet", "--orphan", "elsewhere"]);
    m.f.run_in(&sub, ["commit", "--quiet", "--allow-empty", "-m", "elsewhere"]);
    m.f.run_in(&sub, ["tag", "kept"]);
    let tagged = m.f.run_in(&sub, ["rev-parse", "HEAD"]);
    m.f.run_in(&sub, ["checkout", "--quiet", "--detach", &work]);
    m.f.run_in(&sub, ["branch", "--quiet", "--delete", "--force", "elsewhere"]);
    m.run(&["commit", "--quiet", "--all", "-m", "bump"]);
    assert!(!m.ground().dirty);
    m.f.git.remove_tree(&m.request).unwrap().unwrap();
    assert!(!m.place.exists());
    for commit in [work, tagged] {
        let refs = m.f.run(["for-each-ref", "--contains", &commit, "refs/sched/rescue"]);
        assert!(!refs.is_empty(), "{commit}");
    }
}

#[test]
fn a_file_outside_a_sparse_checkout_is_rescued_too() {
    let m = member();
    m.run(&["sparse-checkout", "set", "only"]);
    fs::create_dir_all(m.place.join("other")).unwrap();
    write(&m.place.join("other/scratch"), "x");
    let name = m.rescue().unwrap();
    assert_eq!(m.f.show(&format!("{name}:other/scratch")), "x");
}

#[test]
fn a_tree_is_removed_with_its_registration_after_its_work_was_rescued() {
    let m = member();
    m.commit("w");
    write(&m.place.join("unsaved"), "x");
    let before = m.f.operators_own();
    let name = m.f.git.remove_tree(&m.request).unwrap().unwrap();
    assert_eq!(m.f.show(&format!("{name}:unsaved")), "x");
    assert!(!m.place.exists() && !m.place.parent().unwrap().exists());
    assert_eq!(m.f.run(["worktree", "list"]).lines().count(), 1);
    assert_eq!(m.f.git.remove_tree(&m.request), Ok(None), "gone already");
    assert!(m.f.try_in(&m.f.repo(), ["rev-parse", "--verify", BRANCH]).0, "its branch is kept");
    assert_eq!(m.f.operators_own(), before);
}

#[test]
fn a_tree_that_its_agent_deleted_is_removed_and_its_loose_commits_are_kept() {
    let m = member();
    m.run(&["checkout", "--quiet", "--detach"]);
    let loose = m.commit("w");
    fs::remove_dir_all(&m.place).unwrap();
    let name = m.f.git.remove_tree(&m.request).unwrap().unwrap();
    assert_eq!(m.f.at(&name).0, loose);
    assert_eq!(m.f.run(["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_directory_whose_registration_was_removed_is_salvaged_first() {
    let m = member();
    m.commit("w");
    write(&m.place.join("unsaved"), "x");
    fs::remove_dir_all(m.f.repo().join(".git/worktrees/1-101")).unwrap();
    let name = m.f.git.remove_tree(&m.request).unwrap().unwrap();
    assert_eq!(m.f.show(&format!("{name}:unsaved")), "x");
    assert!(!m.place.exists());
}

#[test]
fn a_half_made_tree_is_removed_without_a_rescue() {
    let m = member();
    write(&m.f.repo().join(".git/worktrees/1-101/locked"), "initializing");
    write(&m.place.join("half"), "x");
    assert_eq!(m.f.git.remove_tree(&m.request), Ok(None));
    assert!(!m.place.exists());
}

#[test]
fn a_tree_locked_by_a_dead_process_goes_and_one_locked_by_a_living_one_stays() {
    let m = member();
    write(&m.place.join("unsaved"), "x");
    let living = format!("agent (pid {})", std::process::id());
    m.f.run(["worktree", "lock", "--reason", &living, &m.request.path]);
    let error = m.f.git.remove_tree(&m.request).unwrap_err();
    assert!(error.reason.contains("which is alive") && m.place.exists(), "{error}");
    m.f.run(["worktree", "unlock", &m.request.path]);
    m.f.run(["worktree", "lock", "--reason", "agent (pid 4194999)", &m.request.path]);
    assert!(m.f.git.remove_tree(&m.request).unwrap().is_some());
    assert!(!m.place.exists());
}

#[test]
fn directories_that_may_not_be_written_are_removed_too() {
    let m = member();
    write(&m.place.join(".gitignore"), "cache\n");
    write(&m.place.join("cache/module/file"), "x");
    let mode = fs::Permissions::from_mode(0o555);
    fs::set_permissions(m.place.join("cache/module"), mode).unwrap();
    m.f.git.remove_tree(&m.request).unwrap();
    assert!(!m.place.exists());
}

#[test]
fn a_check_tree_is_rescued_and_removed_like_any_other() {
    let m = member();
    m.f.git.make_tree(&m.f.check(&m.f.at("main"))).unwrap();
    let place = m.f.root().join("b1/check-1");
    write(&place.join("report"), "x");
    let request = m.f.rescue_of(place.to_str().unwrap(), None);
    let name = m.f.git.remove_tree(&request).unwrap().unwrap();
    assert_eq!(m.f.show(&format!("{name}:report")), "x");
    assert_eq!(
        m.f.run(["show", "-s", "--format=%at %an", &name]),
        format!("{} sched", TIME.seconds())
    );
    assert!(!place.exists() && m.place.exists());
}

#[test]
fn a_tree_without_any_commit_checked_out_is_rescued_and_cleaned() {
    let m = member();
    m.run(&["checkout", "--quiet", "--orphan", "fresh"]);
    write(&m.place.join("w"), "w");
    assert!(m.ground().dirty && !m.ground().on_branch);
    let name = m.rescue().unwrap();
    assert_eq!(m.f.show(&format!("{name}:w")), "w");
    m.f.git.clean_tree(&m.request).unwrap();
    assert_eq!(m.run(&["symbolic-ref", "--short", "HEAD"]), BRANCH);
    assert_eq!(m.run(&["status", "--porcelain"]), "");
}

#[test]
fn a_shallow_clone_inside_the_tree_gives_its_files() {
    let m = member();
    let inner = m.place.join("inner");
    let source = format!("file://{}", m.f.repo().display());
    m.f.commit("main", &[("more", "history")]);
    m.run(&["clone", "--quiet", "--depth=1", &source, inner.to_str().unwrap()]);
    write(&inner.join("a"), "changed");
    m.f.run_in(&inner, ["commit", "--quiet", "-am", "own"]);
    write(&inner.join("a"), "changed again");
    let name = m.rescue().unwrap();
    assert_eq!(m.f.show(&format!("{name}^2:a")), "changed again");
}

#[test]
fn a_branch_that_is_gone_keeps_the_tree_from_being_cleaned_but_not_rescued() {
    let m = member();
    m.commit("w");
    m.f.run(["update-ref", "-d", "refs/heads/sched/b1/1-101"]);
    write(&m.place.join("x"), "x");
    assert!(m.rescue().is_some());
    assert!(m.f.git.clean_tree(&m.request).is_err());
    assert!(m.place.join("x").exists());
}

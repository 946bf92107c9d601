//! Each operation is interrupted at each of its steps, by death and by an error, and called
//! again: the end is as without interruption.

use super::repo::{BASE, Repo, Swap};
use super::{Between, SimGit, branch_ref};
use sched::domain::event::{Landing, Tree};
use sched::domain::fact::ShipResult;
use sched::domain::ids::CommitId;
use sched::domain::time::Timestamp;
use sched::engine::ports::Seen;
use sched::engine::ports::git::{
    Git, GitError, LandRequest, RebaseRequest, RescueRequest, ShipRequest, TreeRequest,
};
use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

const INTEGRATION: &str = "sched/b1/integration";
const BRANCH: &str = "sched/b1/1-101";
const ROOT: &str = "/repo.worktrees";
const PATH: &str = "/repo.worktrees/b1/1-101";
const CHECK: &str = "/repo.worktrees/b1/check-1";
const TIME: Timestamp = Timestamp::from_millis(1_796_000_000_123);

/// What happens at a step.
enum Event {
    /// The caller dies.
    Death,
    /// Git fails.
    Error,
    /// Somebody commits to the base branch.
    Move(Arc<Mutex<Repo>>),
}

/// Lets something happen once, after so many steps.
struct Once {
    left: Cell<usize>,
    event: Event,
}

impl Between for Once {
    fn between(&self, what: &'static str) -> Result<(), GitError> {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        match &self.event {
            _ if left > 0 => {}
            Event::Death => resume_unwind(Box::new(what)),
            Event::Error => return Err(GitError::Locked { path: what.into() }),
            Event::Move(repo) => {
                repo.lock().unwrap().move_base(&[("else", Some("else\n"))]).unwrap();
            }
        }
        Ok(())
    }
}

type Operation = fn(&dyn Git, &Repo) -> Result<String, String>;

fn call<T: Debug, E: Debug>(answer: Result<T, E>) -> Result<String, String> {
    answer.map(|value| format!("{value:?}")).map_err(|error| format!("{error:?}"))
}

fn ask<T: Debug>(answer: Seen<T>) -> Result<String, String> {
    match answer {
        Seen::Unreachable(why) => Err(why),
        seen => Ok(format!("{seen:?}")),
    }
}

fn tip(repo: &Repo, branch: &str) -> CommitId {
    repo.tip(branch).unwrap()
}

fn land(git: &dyn Git, repo: &Repo, landing: Landing) -> Result<String, String> {
    call(git.land(&LandRequest {
        branch: INTEGRATION.into(),
        tip: tip(repo, BRANCH),
        parent: tip(repo, INTEGRATION),
        time: TIME,
        landing,
        issue: "101".into(),
        title: "Fix it".into(),
        trailers: vec![("Sched-Batch".into(), "b1".into()), ("Sched-Member".into(), "101".into())],
    }))
}

fn rebase(git: &dyn Git, repo: &Repo) -> Result<String, String> {
    let Seen::Value(landed) = calm(repo).landings(INTEGRATION, &"b1".into(), &first(repo)) else {
        panic!("no integration branch");
    };
    call(git.rebase(&RebaseRequest {
        branch: INTEGRATION.into(),
        from: first(repo),
        onto: tip(repo, BASE),
        tip: tip(repo, INTEGRATION),
        landed: landed.into_iter().map(|found| (found.member, found.commit)).collect(),
        judged: repo.tip("sched/b1/2-102"),
    }))
}

fn ship(git: &dyn Git, repo: &Repo) -> Result<String, String> {
    let (old, new) = (tip(repo, BASE), tip(repo, INTEGRATION));
    call(git.ship(&ShipRequest { base: BASE.into(), old, new }))
}

fn make(git: &dyn Git, tree: Tree) -> Result<String, String> {
    let unit = "batch:b1/101".parse().unwrap();
    call(git.make_tree(&TreeRequest { tree, root: ROOT.into(), unit, time: TIME }))
}

fn member(git: &dyn Git, commit: CommitId, exact: bool) -> Result<String, String> {
    let (path, branch) = (PATH.into(), BRANCH.into());
    make(git, Tree::Member { path, branch, commit, exact })
}

fn check(git: &dyn Git, repo: &Repo) -> Result<String, String> {
    make(git, Tree::Check { path: CHECK.into(), commit: tip(repo, INTEGRATION) })
}

fn request(path: &str) -> RescueRequest {
    RescueRequest {
        unit: "batch:b1/101".parse().unwrap(),
        path: path.into(),
        root: ROOT.into(),
        branch: (path == PATH).then(|| BRANCH.into()),
        time: TIME,
    }
}

fn first(repo: &Repo) -> CommitId {
    repo.history(BASE).last().unwrap().0.clone()
}

/// Git to which nothing happens.
fn calm(repo: &Repo) -> SimGit<Once> {
    let repo = Arc::new(Mutex::new(repo.clone()));
    SimGit { repo, between: Once { left: Cell::new(usize::MAX), event: Event::Death } }
}

fn after(git: SimGit<Once>) -> Repo {
    let repo = git.repo.lock().unwrap();
    repo.clone()
}

/// A batch whose first member has two commits in its tree.
fn worked() -> Repo {
    let mut repo = Repo::new();
    let base = tip(&repo, BASE);
    assert_eq!(repo.swap(&branch_ref(INTEGRATION), &base, None), Ok(Swap::Done));
    let git = calm(&repo);
    member(&git, base, false).unwrap();
    let mut repo = after(git);
    repo.commit_in(PATH, &[("a", Some("a\n"))], "One").unwrap();
    repo.commit_in(PATH, &[("b", Some("b\n")), ("README", None)], "Two").unwrap();
    repo
}

/// It landed, a second member is being judged, and the base has moved.
fn landed() -> Repo {
    let git = calm(&worked());
    land(&git, &worked(), Landing::Rebase).unwrap();
    let mut repo = after(git);
    let start = first(&repo);
    assert_eq!(repo.swap(&branch_ref("sched/b1/2-102"), &start, None), Ok(Swap::Done));
    repo
}

fn moved() -> Repo {
    let mut repo = landed();
    repo.move_base(&[("else", Some("else\n"))]).unwrap();
    repo
}

/// The agent left its branch, committed, and left unsaved files.
fn dirty() -> Repo {
    let mut repo = worked();
    repo.detach_in(PATH).unwrap();
    repo.commit_in(PATH, &[("c", Some("c\n"))], "Loose").unwrap();
    repo.edit_in(PATH, "a", "unsaved\n");
    repo.edit_in(PATH, "new", "new\n");
    repo
}

fn changed(from: fn() -> Repo, change: fn(&mut Repo)) -> Repo {
    let mut repo = from();
    change(&mut repo);
    repo
}

fn checked() -> Repo {
    let git = calm(&landed());
    check(&git, &worked()).unwrap();
    let mut repo = after(git);
    repo.edit_in(CHECK, "leftover", "of a suite\n");
    repo
}

/// A repository before and an operation on it.
type Case = (&'static str, Repo, Operation);

fn refs_and_questions() -> Vec<Case> {
    vec![
        ("create", worked(), |git, repo| call(git.create_branch("sched/b2", &tip(repo, BASE)))),
        ("delete", worked(), |git, repo| {
            call(git.delete_reference(&branch_ref(INTEGRATION), &tip(repo, INTEGRATION)))
        }),
        ("reference", worked(), |git, _| ask(git.reference(BRANCH))),
        ("references", worked(), |git, _| ask(git.references("refs/heads/sched/"))),
        ("ancestor", worked(), |git, repo| ask(git.is_ancestor(&tip(repo, BASE), &first(repo)))),
        ("program", worked(), |git, _| ask(git.has_program(BASE, "run"))),
        ("tree", worked(), |git, repo| ask(git.tree_of(&tip(repo, BASE)))),
        ("ground", dirty(), |git, repo| ask(git.ground(PATH, BRANCH, &tip(repo, INTEGRATION)))),
        ("landings", landed(), |git, repo| {
            ask(git.landings(INTEGRATION, &"b1".into(), &first(repo)))
        }),
        ("repository", worked(), |git, _| ask(git.repository())),
        ("version", worked(), |git, _| ask(git.version())),
    ]
}

fn landings() -> Vec<Case> {
    vec![
        ("squash", worked(), |git, repo| land(git, repo, Landing::Squash)),
        ("one by one", worked(), |git, repo| land(git, repo, Landing::Rebase)),
        ("merge", worked(), |git, repo| land(git, repo, Landing::Merge)),
        ("landed already", landed(), |git, repo| land(git, repo, Landing::Squash)),
        ("rebase", moved(), rebase),
        ("ship", landed(), ship),
        ("ship aside", changed(landed, Repo::leave_base), ship),
        ("ship dirty", changed(landed, |repo| repo.dirty_base("a", "mine\n")), ship),
    ]
}

fn trees() -> Vec<Case> {
    let fit: Operation = |git, repo| member(git, first(repo), false);
    let pinned: Operation = |git, repo| member(git, tip(repo, BRANCH), true);
    let before: Operation = |git, repo| member(git, first(repo), true);
    let gone = |from: fn() -> Repo| {
        let git = calm(&from());
        git.remove_tree(&request(PATH)).unwrap();
        after(git)
    };
    vec![
        ("make", Repo::new(), fit),
        ("make pinned", Repo::new(), before),
        ("make again", gone(worked), fit),
        ("fit", worked(), fit),
        ("fit dirty", dirty(), fit),
        ("fit vanished", changed(dirty, |repo| repo.vanish(PATH)), fit),
        ("fit unregistered", changed(dirty, |repo| repo.unregister(PATH)), fit),
        ("pin dirty", dirty(), pinned),
        ("pin before", dirty(), before),
        ("check", landed(), check),
        ("check again", checked(), check),
        ("rescue", dirty(), |git, _| call(git.rescue(&request(PATH)))),
        ("clean", worked(), |git, _| call(git.clean_tree(&request(PATH)))),
        ("rescue and clean", dirty(), |git, _| {
            call(git.rescue(&request(PATH)))?;
            call(git.clean_tree(&request(PATH)))
        }),
        ("remove", dirty(), |git, _| call(git.remove_tree(&request(PATH)))),
        ("remove check", checked(), |git, _| call(git.remove_tree(&request(CHECK)))),
        ("remove gone", gone(dirty), |git, _| call(git.remove_tree(&request(PATH)))),
    ]
}

/// All that counts: refs, trees, checkout. A rescue that was repeated may have left one more ref.
fn assert_same_end(name: &str, step: usize, wanted: &Repo, found: &Repo) {
    const RESCUE: &str = "refs/sched/rescue/";
    let plain = |repo: &Repo| {
        let mut refs = repo.refs("refs/");
        refs.retain(|name, _| !name.starts_with(RESCUE));
        (refs, repo.trees.clone(), repo.base.clone())
    };
    assert_eq!(plain(found), plain(wanted), "{name}, step {step}");
    let rescued = found.refs(RESCUE);
    for (rescue, commit) in wanted.refs(RESCUE) {
        let held = found.files_of(&rescued[&rescue]);
        assert_eq!(held, wanted.files_of(&commit), "{name}, step {step}");
    }
    assert_eq!(found.judge(), Ok(()), "{name}, step {step}");
}

#[test]
fn an_operation_that_died_at_any_step_is_finished_by_the_next_call() {
    for (name, start, operation) in [refs_and_questions(), landings(), trees()].concat() {
        let git = calm(&start);
        let answer = operation(&git, &start).unwrap();
        let steps = usize::MAX - git.between.left.get();
        let wanted = after(git);
        assert!(steps > 1, "{name} has steps");
        for step in 0..steps {
            let git = SimGit {
                repo: Arc::new(Mutex::new(start.clone())),
                between: Once { left: Cell::new(step), event: Event::Death },
            };
            let died = catch_unwind(AssertUnwindSafe(|| operation(&git, &start)));
            assert!(died.is_err(), "{name} has a step {step}");
            let again = operation(&git, &start);
            let saved = answer.contains("refs/sched/rescue");
            assert!(again.as_ref() == Ok(&answer) || (saved && again.is_ok()), "{name} {again:?}");
            assert_same_end(name, step, &wanted, &after(git));
        }
    }
}

#[test]
fn an_operation_that_failed_at_any_step_is_finished_by_the_next_call() {
    for (name, start, operation) in [refs_and_questions(), landings(), trees()].concat() {
        let git = calm(&start);
        operation(&git, &start).unwrap();
        for step in 0..usize::MAX - git.between.left.get() {
            let git = SimGit {
                repo: Arc::new(Mutex::new(start.clone())),
                between: Once { left: Cell::new(step), event: Event::Error },
            };
            let failed = operation(&git, &start);
            let again = operation(&git, &start);
            assert!(again.is_ok(), "{name}, step {step}: {failed:?}, then {again:?}");
            assert_eq!(after(git).judge(), Ok(()), "{name}, step {step}");
        }
    }
}

#[test]
fn a_base_that_moves_while_it_is_shipped_keeps_its_checkout_and_is_told() {
    let mut told = 0;
    let git = calm(&landed());
    ship(&git, &landed()).unwrap();
    let steps = usize::MAX - git.between.left.get();
    for step in 0..steps {
        let start = landed();
        let repo = Arc::new(Mutex::new(start.clone()));
        let event = Event::Move(Arc::clone(&repo));
        let git = SimGit { repo, between: Once { left: Cell::new(step), event } };
        let answer = ship(&git, &start).unwrap();
        let end = after(git);
        let moved = format!("{:?}", ShipResult::BaseMoved(tip(&end, BASE)));
        assert!(answer == "Shipped" || answer == moved, "step {step}: {answer}");
        told += usize::from(answer == moved);
        assert_eq!(end.judge(), Ok(()), "step {step}: {answer}");
    }
    assert_eq!(told, steps - 1, "each time but after the swap");
}

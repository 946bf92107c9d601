//! One git child.

use super::Fixture;
use crate::engine::ports::git::GitError;
use std::fs::File;
use std::time::{Duration, Instant};

#[test]
fn a_child_over_its_bound_is_ended_with_its_whole_group() {
    let f = Fixture::new();
    let mark = f.repo().join("mark");
    let script = format!("alias.hang=!sleep 100 & echo $! > {}; wait", mark.display());
    let call = f.git.launcher.git("hang").config(script).within(Duration::from_millis(300));
    let start = Instant::now();
    assert!(matches!(call.output(), Err(GitError::TimedOut { .. })));
    assert!(start.elapsed() < Duration::from_secs(5));
    let pid = super::read(&mark);
    // the signal has been sent to all of them; each of them dies in its own time
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    while stat().is_ok_and(|stat| !stat.contains(" Z ")) {
        assert!(start.elapsed() < Duration::from_secs(5), "process {pid} outlives its bound");
        std::thread::yield_now();
    }
}

#[test]
fn no_variable_of_git_is_inherited_and_the_identity_is_scheds_own() {
    let f = Fixture::new();
    let text = f.git.launcher.git("e").config("alias.e=!env").line().unwrap();
    assert!(text.contains("GIT_TERMINAL_PROMPT=0") && text.contains("LC_ALL=C"));
    assert!(text.contains("GIT_COMMITTER_NAME=sched") && text.contains("GIT_OPTIONAL_LOCKS=0"));
    assert!(!text.lines().any(|l| l.starts_with("HOME=") || l.starts_with("CARGO")));
}

#[test]
fn a_child_holds_the_lock_that_it_was_given() {
    let f = Fixture::new();
    let path = f.repo().join("tick.lock");
    let lock = File::create(&path).unwrap();
    fs4::FileExt::try_lock(&lock).unwrap();
    let git = f.git.holding(lock.into());
    let ready = f.directory.path().join("ready");
    let script = format!("alias.w=!touch {}; sleep 0.5", ready.display());
    let other = File::open(&path).unwrap();
    std::thread::scope(|scope| {
        let child = scope.spawn(move || {
            let super::GitCommand { launcher } = git;
            let call = launcher.git("w").config(script);
            let output = call.output();
            drop(launcher);
            output
        });
        while !ready.exists() {
            std::thread::yield_now();
        }
        assert!(fs4::FileExt::try_lock(&other).is_err());
        assert_eq!(child.join().unwrap().unwrap().code, Some(0));
    });
    // a child that another test starts just now has the descriptor until it executes
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs4::FileExt::try_lock(&other).is_err() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
}

#[test]
fn a_background_process_that_keeps_the_output_open_does_not_hold_the_call_up() {
    let f = Fixture::new();
    let call = f.git.launcher.git("w").config("alias.w=!sleep 3 & echo done");
    let start = Instant::now();
    assert_eq!(call.line().unwrap(), "done");
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_git_that_somebody_killed_is_no_failure_of_the_repository() {
    let f = Fixture::new();
    let call = f.git.launcher.git("k").config("alias.k=!kill -KILL $PPID");
    assert_eq!(call.output().err(), Some(GitError::Killed { command: "k".into() }));
}

//! Identity and signals against real processes: each test is one rule of 3-engine.md.

use super::identity::process;
use super::liveness::UNRECORDED;
use super::stat::{arguments, stat};
use super::*;
use crate::domain::event::DispatchStarted;
use crate::domain::ids::{DispatchId, JournalId};
use crate::engine::ports::{Life, Processes};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A process that is ended when the test is.
struct Subject(Child);

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `setsid` becomes the command in a session of its own, with the same number.
fn subject(script: &str, environment: &[(&str, String)]) -> Subject {
    let mut command = Command::new("setsid");
    command.args(["sh", "-c", &format!("{script}\nexec sleep 600")]).stdout(Stdio::null());
    command.env_remove("SCHED_DISPATCH").envs(environment.iter().cloned());
    let child = command.spawn().unwrap();
    let pid = child.id();
    until("the command is there", || {
        arguments(pid).is_some_and(|words| words[0] == "sleep")
            && stat(pid).is_some_and(|stat| stat.session == pid)
    });
    Subject(child)
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(20), "waited in vain: {what}");
        std::thread::yield_now();
    }
}

fn dispatch() -> DispatchId {
    DispatchId(uuid::Uuid::now_v7())
}

fn tagged(id: DispatchId) -> [(&'static str, String); 1] {
    [("SCHED_DISPATCH", id.to_string())]
}

/// As the journal would have it, without the handle, which would decide alone.
fn started(subject: &Subject, dispatch: DispatchId) -> DispatchStarted {
    let mut process = process(subject.0.id()).unwrap();
    process.handle = None;
    let supervisor = crate::domain::event::Process { pid: 1, ..process.clone() };
    DispatchStarted { dispatch, process_group: process.pid, process, supervisor }
}

fn system() -> SystemProcesses {
    SystemProcesses::new(Path::new("/nonexistent"), Path::new("sched"), "/usr/bin:/bin")
}

/// Whoever was killed before cannot end by this signal any more.
fn assert_untouched(subject: &mut Subject) {
    let pid = Pid::from_raw(i32::try_from(subject.0.id()).unwrap()).unwrap();
    kill_process(pid, Signal::USR1).unwrap();
    assert_eq!(ended(subject).signal(), Some(10), "it was signalled");
}

fn ended(subject: &mut Subject) -> ExitStatus {
    until("it has ended", || subject.0.try_wait().unwrap().is_some());
    subject.0.wait().unwrap()
}

#[test]
fn a_recorded_process_is_alive_and_another_start_time_is_somebody_else() {
    let id = dispatch();
    let mut subject = subject("", &tagged(id));
    let mut started = started(&subject, id);
    assert_eq!(system().command(&started), Life::Alive);
    started.process.start_time += 1;
    system().signal(&started, true);
    assert_untouched(&mut subject);
}

#[test]
fn the_handle_decides_alone_where_there_is_one() {
    let id = dispatch();
    let subject = subject("", &tagged(dispatch()));
    let mut started = started(&subject, id);
    let Some(handle) = process(subject.0.id()).unwrap().handle else { return };
    assert_eq!(system().command(&started), Life::Gone, "its environment names another");
    started.process.handle = Some(handle);
    assert_eq!(system().command(&started), Life::Alive);
    started.process.handle = Some(handle + 1);
    assert_eq!(system().command(&started), Life::Gone);
}

#[test]
fn no_two_processes_have_one_handle() {
    let (one, two) = (subject("", &[]), subject("", &[]));
    let handle = |subject: &Subject| process(subject.0.id()).unwrap().handle;
    assert!(handle(&one).is_none() || handle(&one) != handle(&two));
    assert_eq!(handle(&one), handle(&one));
}

#[test]
fn an_environment_that_names_another_dispatch_or_journal_refutes() {
    let (id, journal) = (dispatch(), JournalId(uuid::Uuid::now_v7()));
    let mut environment = tagged(id).to_vec();
    environment.push(("SCHED_JOURNAL", journal.to_string()));
    let subject = subject("", &environment);
    let other = JournalId(uuid::Uuid::now_v7());
    let mut started = started(&subject, id);
    assert_eq!(system().of_journal(Some(journal)).command(&started), Life::Alive);
    assert_eq!(system().of_journal(Some(other)).command(&started), Life::Gone);
    started.dispatch = dispatch();
    assert_eq!(system().of_journal(Some(journal)).command(&started), Life::Gone);
}

#[test]
fn a_silent_environment_leaves_it_to_group_and_session() {
    let subject = subject("", &[]);
    let mut started = started(&subject, dispatch());
    assert_eq!(system().command(&started), Life::Alive);
    started.process_group += 1;
    assert_eq!(system().command(&started), Life::Gone);
}

#[test]
fn a_zombie_is_gone() {
    let id = dispatch();
    let mut subject = subject("", &tagged(id));
    let started = started(&subject, id);
    subject.0.kill().unwrap();
    until("it is a zombie", || stat(subject.0.id()).is_some_and(|stat| stat.is_dead()));
    assert_eq!(system().command(&started), Life::Gone);
    subject.0.wait().unwrap();
    assert_eq!(system().command(&started), Life::Gone);
}

#[test]
fn another_host_is_unknown_and_another_boot_is_gone() {
    let id = dispatch();
    let mut subject = subject("", &tagged(id));
    let mut there = started(&subject, id);
    there.process.host = "elsewhere".into();
    assert_eq!(system().command(&there), Life::Unknown);
    assert_eq!(system().supervisor(&there.process), Life::Unknown);
    assert!(!system().rebooted_since(&there.process));
    system().signal(&there, true);
    let mut then = started(&subject, id);
    then.process.boot_id = "before".into();
    assert_eq!(system().command(&then), Life::Gone);
    assert!(system().rebooted_since(&then.process));
    system().signal(&then, true);
    assert_untouched(&mut subject);
}

#[test]
fn a_stopped_process_acts_on_term() {
    let id = dispatch();
    let mut subject = subject("", &tagged(id));
    let pid = Pid::from_child(&subject.0);
    kill_process(pid, Signal::STOP).unwrap();
    until("it is stopped", || stat(subject.0.id()).unwrap().state == 'T');
    system().signal(&started(&subject, id), false);
    assert_eq!(ended(&mut subject).signal(), Some(15));
}

#[test]
fn a_signal_reaches_the_whole_group_and_where_no_start_time_is_known_the_leader_alone() {
    for (unrecorded, survives) in [(false, false), (true, true)] {
        let id = dispatch();
        let mut subject = subject("sleep 601 &", &tagged(id));
        let mut started = started(&subject, id);
        let child = super::stat::children(subject.0.id())[0];
        if unrecorded {
            started.process.start_time = UNRECORDED;
        }
        system().signal(&started, true);
        assert_eq!(ended(&mut subject).signal(), Some(9));
        let lives = || stat(child).is_some_and(|stat| !stat.is_dead());
        if survives {
            assert!(lives());
            // what the leader left is recognised by environment and group, and ended
            assert_eq!(system().command(&started), Life::Alive);
            system().signal(&started, true);
        }
        until("the child is gone", || !lives());
        assert_eq!(system().command(&started), Life::Gone);
    }
}

#[test]
fn what_a_dead_leader_left_is_never_recognised_by_its_group_alone() {
    let id = dispatch();
    let script = "env -u SCHED_DISPATCH sleep 601 &\nSCHED_DISPATCH=other sleep 602 &";
    let mut subject = subject(script, &tagged(id));
    let started = started(&subject, id);
    let children = super::stat::children(subject.0.id());
    until("both are there", || {
        children.iter().all(|pid| arguments(*pid).is_some_and(|words| words[0] == "sleep"))
    });
    subject.0.kill().unwrap();
    ended(&mut subject);
    assert_eq!(system().command(&started), Life::Gone);
    system().signal(&started, true);
    for pid in children {
        assert!(stat(pid).is_some_and(|stat| !stat.is_dead()), "somebody else was ended");
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }
}

#[test]
fn a_supervisor_that_became_a_tick_is_gone() {
    let mut command = Command::new("sh");
    command.args(["-c", "read line; exec sleep 600", "supervise"]).stdin(Stdio::piped());
    let mut child = Subject(command.env_remove("SCHED_DISPATCH").spawn().unwrap());
    let recorded = process(child.0.id()).unwrap();
    assert_eq!(system().supervisor(&recorded), Life::Alive);
    drop(child.0.stdin.take());
    until("it became another", || system().supervisor(&recorded) == Life::Gone);
    assert!(child.0.try_wait().unwrap().is_none());
}

#[test]
fn the_family_spares_other_dispatches_and_supervisors_and_what_descends_from_them() {
    let (id, other) = (dispatch(), dispatch());
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("supervise"), "sleep 603 & wait").unwrap();
    let script = format!(
        "cd {}\nsleep 601 &\nenv -u SCHED_DISPATCH setsid sleep 604 &\n\
         SCHED_DISPATCH={other} sh -c 'env -u SCHED_DISPATCH sleep 602 & wait' &\n\
         env -u SCHED_DISPATCH sh supervise {other} &",
        dir.path().display()
    );
    let mut environment = tagged(id).to_vec();
    environment.push(("SUBJECT", id.to_string()));
    let subject = subject(&script, &environment);
    let last = |pid: &u32| arguments(*pid).and_then(|words| words.last().cloned());
    let everybody = || super::stat::all().into_iter().filter(|pid| marked(*pid, id));
    let in_family = || -> std::collections::BTreeSet<String> {
        let family = super::leftovers::family(subject.0.id(), id);
        family.iter().filter_map(|one| last(&one.pid)).collect()
    };
    until("all are there", || {
        let words: Vec<_> = everybody().filter_map(|pid| last(&pid)).collect();
        ["601", "602", "603", "604"].iter().all(|word| words.iter().any(|w| w == word))
    });
    // a process that is just becoming its command has no whole name yet
    let expected = std::collections::BTreeSet::from(["601".to_owned(), "604".to_owned()]);
    until("only these two are in the family", || in_family() == expected);
    for pid in everybody() {
        super::pinned::Pinned::open(pid).iter().for_each(|pinned| pinned.signal(Signal::KILL));
    }
}

/// Whether a process comes from the subject of one test, whatever it calls itself.
fn marked(pid: u32, id: DispatchId) -> bool {
    super::stat::environment(pid, "SUBJECT") == Some(id.to_string())
}

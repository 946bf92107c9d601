//! The engine against ports that answer as they are told to, where the order of its looks decides.

use sched::domain::command::{Command, Enqueue, NewIssue};
use sched::domain::event::{
    DispatchStarted, EnvironmentRecorded, Event, Exit, JournalCreated, Process, Verdict, Writer,
};
use sched::domain::fact::{Fact, Input, TickSeen};
use sched::domain::ids::{DispatchId, JournalId};
use sched::engine::Session;
use sched::engine::ports::{Clock, Life, Processes, Runs};
use sched::engine::tick::{World, tick};
use sched::journal::line::sha256_hex;
use sched::journal::{Directory, Files};
use sched::os::SystemClock;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

const CONFIG: &str = "[agent]\ncommand = [\"job\"]\nworkdir = \"none\"\n";

/// A supervisor that writes its receipt just before somebody sees that it is gone.
#[derive(Default)]
struct Leaving {
    has_left: AtomicBool,
}

impl Processes for Leaving {
    fn command(&self, _: &DispatchStarted) -> Life {
        Life::Gone
    }
    fn supervisor(&self, _: &Process) -> Life {
        self.has_left.store(true, SeqCst);
        Life::Gone
    }
    fn rebooted_since(&self, _: &Process) -> bool {
        false
    }
    fn signal(&self, _: &DispatchStarted, _: bool) {}
    fn start_supervisor(&self, _: DispatchId) -> Result<(), String> {
        Ok(())
    }
    fn can_execute(&self, _: &str, _: &str) -> bool {
        true
    }
}

impl Runs for Leaving {
    fn prepare(&self, _: DispatchId) -> Result<(), String> {
        Ok(())
    }
    fn tried(&self, _: DispatchId) -> bool {
        true
    }
    fn claimed(&self, _: DispatchId) -> bool {
        true
    }
    fn ran(&self, _: DispatchId) -> bool {
        true
    }
    fn ran_up(&self, _: DispatchId) -> Option<u64> {
        None
    }
    fn receipt(&self, _: DispatchId) -> Option<Exit> {
        let exit = Exit { ran: true, code: Some(0), ..Exit::default() };
        self.has_left.load(SeqCst).then_some(exit)
    }
    fn output_tail(&self, _: DispatchId) -> String {
        String::new()
    }
}

/// A scheduler whose one issue is at work.
fn at_work<'a>(dir: &std::path::Path, clock: &'a SystemClock) -> Session<'a> {
    let created = JournalCreated {
        journal: JournalId(clock.unique()),
        place: Directory::new(dir).place().unwrap(),
        draft: None,
    };
    let environment = EnvironmentRecorded {
        path: "/bin".into(),
        repository: None,
        config: dir.join("sched.toml").display().to_string(),
    };
    let mut session = Session::create(dir, clock, &Command::Create(created, environment)).unwrap();
    let config = Some((sha256_hex(CONFIG.as_bytes()), Ok(CONFIG.to_owned())));
    let seen = TickSeen { config, ..TickSeen::default() };
    session.transact(&Input::Fact(Fact::Config(seen))).unwrap();
    let issue = NewIssue {
        id: "1".into(),
        title: None,
        prompt: None,
        profile: None,
        tier: None,
        priority: None,
        deps: Vec::new(),
        batch: None,
    };
    let work = Enqueue { issues: vec![issue], ..Enqueue::default() };
    session.transact(&Input::Command(Command::Enqueue(work))).unwrap();
    session.transact(&Input::Fact(Fact::Tick(TickSeen::default()))).unwrap();
    let dispatch = *session.state.dispatches.keys().next().unwrap();
    let by = clock.by(Writer::Supervisor, &clock.now());
    let process = |pid| Process {
        pid,
        start_time: 1,
        boot_id: by.boot.clone(),
        host: by.host.clone(),
        handle: None,
    };
    let (process, supervisor) = (process(10), process(9));
    let started = DispatchStarted { dispatch, process, process_group: 10, supervisor };
    session.transact(&Input::Fact(Fact::Starting(started))).unwrap();
    session
}

#[test]
fn a_receipt_that_is_written_while_its_supervisor_goes_is_found() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), SystemClock::inside(None));
    let mut session = at_work(dir.path(), &clock);
    let leaving = Leaving::default();
    let world = World {
        processes: &leaving,
        runs: &leaving,
        git: None,
        seen: &|_| TickSeen::default(),
        told_to_leave: &|| false,
    };
    let lines = tick(&mut session, &world).unwrap().lines;
    let exited = lines.iter().flatten().find_map(|event| match event {
        Event::DispatchExited(e) => Some(e.verdict),
        _ => None,
    });
    assert_eq!(exited, Some(Verdict::Done), "{lines:?}");
}

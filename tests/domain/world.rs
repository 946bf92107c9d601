//! A journal in memory: every decision is made twice, written as a line, read back and folded,
//! as the engine does it.

use sched::audit::invariants::Audit;
use sched::domain::apply::retire;
use sched::domain::command::{Command, Enqueue, NewBatch, NewIssue, Post, Target};
use sched::domain::config::Config;
use sched::domain::event::{
    By, DispatchStarted, Entry, EnvironmentRecorded, Event, Exit, Ground, JournalCreated,
    OutputRange, Place, Process, Reclaim, Reclaimed, VERSION, Writer,
};
use sched::domain::fact::{
    BranchResult, Fact, Input, LandResult, RebaseResult, Remains, Seen, ShipResult, TickSeen,
};
use sched::domain::ids::{BootId, CommitId, DispatchId, JournalId, Unit};
use sched::domain::refusal::Refusal;
use sched::domain::rules::{Ids, decide};
use sched::domain::state::{Batch, Dispatch, Issue, State};
use sched::domain::time::{Now, Timestamp};
use sched::domain::{apply, fold};
use sched::journal::line::sha256_hex;
use uuid::Uuid;

/// What can be given.
pub trait Given {
    fn input(self) -> Input;
}

impl Given for Command {
    fn input(self) -> Input {
        Input::Command(self)
    }
}

impl Given for Fact {
    fn input(self) -> Input {
        Input::Fact(self)
    }
}

impl Given for Input {
    fn input(self) -> Input {
        self
    }
}

pub struct World {
    pub state: State,
    pub now: Now,
    pub lines: Vec<Vec<Event>>,
    replayed: State,
    audit: Audit,
    /// Whether somebody else's lines are among them, of which the audit may say what it likes.
    foreign: bool,
    drawn: u128,
}

pub const ONE_SLOT: &str = "[scheduler]\nmax_slots = 1\n[ship]\nmode = \"none\"\n";
pub const GATE: &str = "[[gate]]\nid = \"unit\"\ncommand = [\"true\"]\n";
pub const TWO_GATES: &str = "[[gate]]\nid = \"unit\"\ncommand = [\"true\"]\n\
     [[gate]]\nid = \"lint\"\ncommand = [\"true\"]\n";
pub const SUITE: &str = "[suite]\ncommand = [\"true\"]\n";
pub const JOB: &str = "[agent]\ncommand = [\"job\"]\nworkdir = \"none\"\n";

impl World {
    pub fn new(config: &str) -> Self {
        Config::parse(config).unwrap();
        let now =
            Now { wall: Timestamp::from_millis(1_000_000), up: 1_000_000, boot: "boot".into() };
        let mut world = World {
            state: State::default(),
            replayed: State::default(),
            audit: Audit::new(),
            foreign: false,
            now,
            lines: Vec::new(),
            drawn: 0,
        };
        let place = Place { machine: "m".into(), inode: 1, birth: 1 };
        let created = JournalCreated { journal: JournalId(Uuid::nil()), place, draft: None };
        let environment = EnvironmentRecorded {
            path: "/usr/bin".into(),
            repository: Some("/repo".into()),
            config: "/sched.toml".into(),
        };
        world.given(Command::Create(created, environment));
        world.configure(config);
        world
    }

    pub fn configure(&mut self, text: &str) -> String {
        let digest = sha256_hex(text.as_bytes());
        let config = Some((digest, Ok(text.to_owned())));
        self.given(Fact::Config(TickSeen { config, ..TickSeen::default() }))
    }

    /// One decision, one line; its text, or nothing.
    pub fn given(&mut self, input: impl Given) -> String {
        self.try_given(input).unwrap_or_else(|refusal| panic!("refused: {refusal:?}"))
    }

    pub fn refused(&mut self, input: impl Given) -> String {
        match self.try_given(input) {
            Err(refusal) => refusal.message,
            Ok(line) => panic!("not refused: {line}"),
        }
    }

    pub fn try_given(&mut self, input: impl Given) -> Result<String, Refusal> {
        let input = input.input();
        self.drawn += 1;
        let seed = Uuid::from_u128(self.drawn << 80 | 7 << 76 | self.drawn << 8);
        let decided = decide(&self.state, &input, &self.now, &mut Ids::new(seed));
        let again = decide(&self.state, &input, &self.now, &mut Ids::new(seed));
        assert_eq!(decided, again, "the same decision twice");
        let events = decided?;
        if !events.is_empty() {
            self.append(events.clone());
        }
        self.check();
        Ok(line(&events))
    }

    /// Events as somebody else's journal has them.
    pub fn journal(&mut self, events: Vec<Event>) {
        self.foreign = true;
        self.append(events);
    }

    fn append(&mut self, events: Vec<Event>) {
        let at = self.now.wall.max(self.state.head.stamp.at);
        let by = By {
            role: Writer::Tick,
            host: "host".into(),
            boot: self.now.boot.clone(),
            up: self.now.up,
            pid: 1,
            start: 1,
            user: "user".into(),
            version: "0".into(),
            dispatch: None,
        };
        let (seq, id) = (self.state.head.seq + 1, Uuid::from_u128(self.drawn));
        let entry = Entry { v: VERSION, seq, at, wall: None, id, by, events: events.clone() };
        let hash = format!("{seq:064x}");
        fold(&mut self.state, &entry, &hash).unwrap();
        retire(&mut self.state);
        let text = serde_json::to_string(&entry).unwrap();
        let read: Entry = serde_json::from_str(&text).unwrap();
        fold(&mut self.replayed, &read, &hash).unwrap();
        retire(&mut self.replayed);
        assert_eq!(self.state, self.replayed, "the fold of the written line");
        self.lines.push(events);
        self.audit.entry(&entry);
    }

    /// What holds after each line.
    fn check(&self) {
        assert!(self.foreign || self.audit.findings().is_empty(), "{:#?}", self.audit.findings());
        let slots = usize::from(self.state.config().max_slots());
        assert!(self.state.slots.len() <= slots, "{:?}", self.state.slots);
        let tasks = self.state.dispatches.values().filter(|d| d.plan.slot.is_none()).count();
        assert!(tasks <= usize::from(self.state.config().max_tasks()), "{tasks} tasks");
        for dispatch in self.state.dispatches.values().filter(|d| d.plan.slot.is_some()) {
            assert!(self.state.slot_of(&dispatch.unit).is_some(), "{dispatch:?}");
        }
    }

    pub fn wait(&mut self, seconds: u64) -> &mut Self {
        self.now.up += seconds * 1000;
        let millis = self.now.wall.millis() + i64::try_from(seconds).unwrap() * 1000;
        self.now.wall = Timestamp::from_millis(millis);
        self
    }

    /// The machine starts anew: another boot, and its clock counts from there.
    pub fn reboot(&mut self) -> &mut Self {
        self.now.boot = BootId(format!("boot-{}", self.drawn));
        self.now.up = 1_000;
        self
    }

    pub fn tick(&mut self) -> String {
        self.given(Fact::Tick(TickSeen::default()))
    }

    pub fn base(&mut self, commit: &str) -> String {
        let seen = Seen::Value(CommitId::from(commit));
        self.given(Fact::Base { branch: "main".into(), seen })
    }

    /// A started serial batch `b1`, its integration branch made, its first agent planned.
    pub fn batch(config: &str, members: &[&str]) -> Self {
        let mut world = World::new(config);
        world
            .given(enqueue(Some("b1"), &members.iter().map(|m| (*m, &[][..])).collect::<Vec<_>>()));
        world.base("c0");
        world.made("b1");
        world
    }

    pub fn made(&mut self, batch: &str) -> String {
        self.given(Fact::Integration { batch: batch.into(), result: BranchResult::Made })
    }

    pub fn open(&self, unit: &str) -> DispatchId {
        self.dispatch(unit).id
    }

    pub fn dispatch(&self, unit: &str) -> Dispatch {
        let unit: Unit = unit.parse().unwrap();
        let open = self.state.dispatches_of(&unit).next().cloned();
        open.unwrap_or_else(|| panic!("{unit} has no open dispatch"))
    }

    pub fn idle(&self, unit: &str) -> bool {
        let unit: Unit = unit.parse().unwrap();
        self.state.dispatches_of(&unit).next().is_none()
    }

    pub fn start(&mut self, unit: &str) -> String {
        let dispatch = self.open(unit);
        self.given(Fact::Starting(started(dispatch)))
    }

    /// Starts what is planned for a unit, and ends it.
    pub fn run(&mut self, unit: &str, exit: Exit) -> String {
        if !self.dispatch(unit).is_started() {
            self.start(unit);
        }
        self.end(unit, exit)
    }

    pub fn end(&mut self, unit: &str, exit: Exit) -> String {
        let dispatch = self.open(unit);
        self.given(Fact::Ended { dispatch, exit })
    }

    pub fn gone(&mut self, unit: &str, remains: Remains) -> String {
        let dispatch = self.open(unit);
        self.given(Fact::Gone { dispatch, remains })
    }

    pub fn post(&mut self, unit: &str, phase: &str, status: &str) -> String {
        self.post_key(unit, phase, status, &[])
    }

    pub fn post_key(
        &mut self,
        unit: &str,
        phase: &str,
        status: &str,
        keys: &[(&str, &str)],
    ) -> String {
        let dispatch = self.open(unit);
        self.given(milestone(dispatch, phase, status, keys))
    }

    pub fn land(&mut self, member: &str, result: LandResult) -> String {
        self.land_in("b1", member, result)
    }

    pub fn land_in(&mut self, batch: &str, member: &str, result: LandResult) -> String {
        self.given(Fact::Landing { batch: batch.into(), member: member.into(), result })
    }

    /// A member's agent works, its gates pass, it lands as a commit of this name.
    pub fn through(&mut self, member: &str, commit: &str) -> String {
        let unit = format!("batch:b1/{member}");
        self.run(&unit, done(&format!("tip-{member}")));
        while !self.idle(&unit) {
            self.run(&unit, passed());
        }
        self.land(member, LandResult::Landed(commit.into()))
    }

    pub fn ship(&mut self, result: ShipResult) -> String {
        self.given(Fact::Ship { batch: "b1".into(), result })
    }

    pub fn rebase(&mut self, result: RebaseResult) -> String {
        self.given(Fact::Rebase { batch: "b1".into(), result })
    }

    /// The planned removal of trees does all of it.
    pub fn remove_trees(&mut self, unit: &str) -> String {
        let dispatch = self.dispatch(unit);
        let Some(Reclaim::Remove { trees, .. }) = dispatch.plan.reclaim else {
            panic!("no removal")
        };
        let gone = |t: &sched::domain::event::ReclaimTree| Reclaimed {
            unit: t.unit.clone(),
            path: t.path.clone(),
            rescue: None,
            done: true,
            error: None,
        };
        let exit = Exit { reclaimed: trees.iter().map(gone).collect(), ..code(0) };
        self.run(unit, exit)
    }

    pub fn b(&self) -> Batch {
        self.state.batch(&"b1".into()).cloned().unwrap()
    }

    pub fn status(&self) -> &'static str {
        self.b().status.name()
    }

    pub fn issue(&self, id: &str) -> Issue {
        self.state.issue(&id.into()).cloned().unwrap()
    }

    pub fn issue_status(&self, id: &str) -> &'static str {
        self.issue(id).status.name()
    }

    pub fn last(&self) -> &[Event] {
        self.lines.last().unwrap()
    }

    pub fn try_apply(&self, event: impl Into<Event>) -> Result<State, String> {
        let mut state = self.state.clone();
        match apply(&mut state, &event.into(), self.now.wall) {
            Ok(()) => Ok(state),
            Err(illegal) => Err(illegal.to_string()),
        }
    }
}

/// A failing case shows its journal.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let lines: Vec<String> = self.lines.iter().map(|events| line(events)).collect();
            println!("the journal:\n{}\n", lines.join("\n"));
        }
    }
}

/// A line as text: names, and after a colon what a rule is mostly about.
pub fn line(events: &[Event]) -> String {
    let text = |event: &Event| {
        let more = match event {
            Event::DispatchPlanned(e) => e.role.name().to_owned(),
            Event::DispatchExited(e) => e.verdict.name().to_owned(),
            Event::DispatchLost(e) => e.verdict.name().to_owned(),
            Event::DispatchSuperseded(e) => e.reason.clone(),
            Event::StopRequested(e) => e.reason.name().to_owned(),
            Event::StopReasonRaised(e) => e.reason.name().to_owned(),
            Event::MemberEvicted(e) => format!("{}:{}", e.member, e.reason),
            Event::MemberAdvanced(e) => e.to.to_string(),
            Event::MemberRequeued(e) => e.member.to_string(),
            Event::BatchBlocked(e) => e.reason.clone(),
            Event::BatchDissolved(e) => e.0.reason.clone(),
            Event::IssueBlocked(e) => format!("{}:{}", e.issue, e.reason),
            Event::IssueUnblocked(e) => e.issue.to_string(),
            Event::IssueFailed(e) => format!("{}:{}", e.issue, e.reason),
            Event::IssueStopped(e) => e.issue.to_string(),
            Event::IssueDone(e) => e.issue.to_string(),
            _ => return event.name().to_owned(),
        };
        format!("{}:{more}", event.name())
    };
    events.iter().map(text).collect::<Vec<_>>().join(" ")
}

pub fn enqueue(batch: Option<&str>, issues: &[(&str, &[&str])]) -> Command {
    let issue = |(id, deps): &(&str, &[&str])| NewIssue {
        id: (*id).into(),
        title: None,
        prompt: None,
        profile: None,
        tier: None,
        priority: None,
        deps: deps.iter().map(|dep| (*dep).into()).collect(),
        batch: batch.map(Into::into),
    };
    let batches =
        batch.map(|id| NewBatch { id: id.into(), mode: None, priority: None, more: false });
    Command::Enqueue(Enqueue {
        issues: issues.iter().map(issue).collect(),
        batches: batches.into_iter().collect(),
        settled: Default::default(),
    })
}

pub fn started(dispatch: DispatchId) -> DispatchStarted {
    let process = |pid| Process {
        pid,
        start_time: 5,
        boot_id: BootId::from("boot"),
        host: "host".into(),
        handle: None,
    };
    DispatchStarted { dispatch, process: process(10), process_group: 10, supervisor: process(9) }
}

pub fn milestone(
    dispatch: DispatchId,
    phase: &str,
    status: &str,
    keys: &[(&str, &str)],
) -> Command {
    let keys = keys.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let (phase, status) = (phase.to_owned(), status.to_owned());
    Command::Post(Post { dispatch, phase, status, keys, usage: Default::default(), detail: None })
}

pub fn ground(tip: &str) -> Ground {
    Ground {
        tip: Some(tip.into()),
        commits: 1,
        dirty: false,
        tree: true,
        on_branch: true,
        merged: None,
    }
}

pub fn code(code: i32) -> Exit {
    let output = OutputRange { path: "o".into(), bytes: 10, sha256: "0".into() };
    Exit {
        ran: true,
        code: Some(code),
        duration_ms: 100_000,
        output: Some(output),
        ..Exit::default()
    }
}

pub fn done(tip: &str) -> Exit {
    Exit { ground: Some(ground(tip)), ..code(0) }
}

pub fn passed() -> Exit {
    code(0)
}

pub fn failed() -> Exit {
    code(1)
}

pub fn silent(number: i32) -> Exit {
    Exit { output: None, duration_ms: 1_000, ..code(number) }
}

pub fn killed() -> Exit {
    Exit { code: None, signal: Some(9), ..code(0) }
}

pub fn never_ran() -> Exit {
    Exit { ran: false, code: None, ..code(0) }
}

pub fn no_tree(own: bool) -> Exit {
    Exit { worktree_failed: Some("disk".into()), worktree_own: own, ..never_ran() }
}

pub fn no_program() -> Exit {
    Exit { exec_failed: Some("not found".into()), ..never_ran() }
}

pub fn remains() -> Remains {
    Remains { claimed: true, ran: true, ..Remains::default() }
}

pub fn issue(id: &str) -> Target {
    Target::Issue(id.into())
}

pub fn batch(id: &str) -> Target {
    Target::Batch(id.into())
}

pub fn stop(target: Target) -> Command {
    Command::Stop { target, reason: None }
}

pub fn abandon(target: Target) -> Command {
    Command::Abandon { target, reason: None }
}

pub fn resume(target: Target) -> Command {
    Command::ResumeUnit { target, reason: None, base: None }
}

pub fn requeue(id: &str) -> Command {
    Command::Requeue { issue: id.into(), reason: None }
}

pub fn pause() -> Command {
    Command::Pause { reason: None }
}

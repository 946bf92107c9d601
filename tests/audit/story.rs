//! A journal told in events: written with the real encoder, read back from a file and audited.

use sched::audit::invariants::Finding;
use sched::audit::read;
use sched::domain::event::*;
use sched::domain::ids::{BootId, CommitId, DispatchId, IssueId, JournalId, SlotId, Unit};
use sched::domain::time::Timestamp;
use sched::journal::line::{self, GENESIS, sha256_hex};
use uuid::Uuid;

/// Entries so far, and the clock of the next one.
pub struct Story {
    entries: Vec<Entry>,
    clock: i64,
    up: u64,
    boot: BootId,
}

impl Story {
    /// A journal with its first entry.
    pub fn new() -> Self {
        let story = Self { entries: Vec::new(), clock: 1_000_000, up: 1_000, boot: "boot".into() };
        let place = Place { machine: "m".into(), inode: 1, birth: 1 };
        let journal = JournalId(Uuid::nil());
        story.line([JournalCreated { journal, place, draft: None }.into()])
    }

    /// Entry 2 queues a batch `b1` of these members; entry 3 starts it, with the first one's agent
    /// as dispatch 1 in slot 1; entry 4 starts that.
    pub fn batch(members: &[&str]) -> Self {
        Self::batch_of(members, |_| {}).line([started(1)])
    }

    /// The same up to entry 3, with another pinned judgement.
    pub fn batch_of(members: &[&str], pin: impl FnOnce(&mut BatchStarted)) -> Self {
        let mut begun = batch_started("b1");
        pin(&mut begun);
        let first = members[0];
        Self::new().line(formed("b1", members, &[])).line([
            begun.into(),
            assigned("b1", first),
            agent(1, &format!("batch:b1/{first}"), 1),
        ])
    }

    /// Entry 2 queues an issue without a tree; entry 3 plans its agent as dispatch 1 in slot 1;
    /// entry 4 starts that.
    pub fn job() -> Self {
        Self::new().line([queued("1", &[])]).line([job(1, "1", 1)]).line([started(1)])
    }

    /// One more line, a second later.
    pub fn line(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self = self.wait(1_000);
        let by = By {
            role: Writer::Tick,
            host: "host".into(),
            boot: self.boot.clone(),
            up: self.up,
            pid: 1,
            start: 1,
            user: "user".into(),
            version: "0".into(),
            dispatch: None,
        };
        let seq = self.entries.len() as u64 + 1;
        let (at, id) = (Timestamp::from_millis(self.clock), Uuid::from_u128(u128::from(seq)));
        let events = events.into_iter().collect();
        self.entries.push(Entry { v: VERSION, seq, at, wall: None, id, by, events });
        self
    }

    /// Lets time pass, in milliseconds.
    pub fn wait(mut self, ms: u64) -> Self {
        self.clock += i64::try_from(ms).unwrap();
        self.up += ms;
        self
    }

    /// The machine starts anew.
    pub fn reboot(mut self) -> Self {
        self.boot = "another boot".into();
        self.up = 0;
        self
    }

    /// The wall clock alone steps, in milliseconds.
    pub fn step_clock(mut self, ms: i64) -> Self {
        self.clock += ms;
        self
    }

    /// Changes the last entry.
    pub fn last(mut self, change: impl FnOnce(&mut Entry)) -> Self {
        change(self.entries.last_mut().unwrap());
        self
    }

    /// What an audit of the file finds: rule, entries, unit, message. Dispatch 7 is `d7`.
    pub fn findings(&self) -> Vec<(u8, Vec<u64>, String, String)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        std::fs::write(&path, self.text()).unwrap();
        let audited = read::files(&[path]).unwrap();
        assert!(audited.damage.is_none(), "{:?}", audited.damage);
        assert_eq!(audited.entries, self.entries.len() as u64);
        audited.findings.into_iter().map(plain).collect()
    }

    /// The journal's bytes.
    pub fn text(&self) -> Vec<u8> {
        let mut prev = GENESIS.to_owned();
        let mut text = Vec::new();
        for entry in &self.entries {
            let (bytes, hash) = line::encode(entry, &prev).unwrap();
            text.extend(bytes);
            prev = hash;
        }
        text
    }
}

fn plain(finding: Finding) -> (u8, Vec<u64>, String, String) {
    let mut message = finding.message;
    for number in 1..16 {
        message = message.replace(&id(number).to_string(), &format!("d{number}"));
    }
    (finding.rule, finding.entries, finding.unit.unwrap_or_default(), message)
}

/// The id of a dispatch by its number.
pub fn id(number: u128) -> DispatchId {
    DispatchId(Uuid::from_u128(number))
}

fn unit(text: &str) -> Unit {
    text.parse().unwrap()
}

pub fn queued(issue: &str, deps: &[&str]) -> Event {
    queued_in(None, issue, deps)
}

fn queued_in(batch: Option<&str>, issue: &str, deps: &[&str]) -> Event {
    let event = IssueEnqueued {
        issue: issue.into(),
        generation: 1,
        runs: 0,
        title: None,
        prompt: None,
        profile: None,
        tier: None,
        priority: 0,
        deps: deps.iter().map(|dep| IssueId::from(*dep)).collect(),
        batch: batch.map(Into::into),
    };
    event.into()
}

/// A sealed batch, each of whose members has these dependencies.
pub fn formed(batch: &str, members: &[&str], deps: &[(&str, &[&str])]) -> Vec<Event> {
    let form = BatchFormed { batch: batch.into(), mode: Mode::Serial, priority: 10 };
    let of = |issue: &str| deps.iter().find(|(of, _)| *of == issue).map_or(&[][..], |(_, d)| d);
    let issues = members.iter().map(|issue| queued_in(Some(batch), issue, of(issue)));
    let members = members.iter().map(|issue| IssueId::from(*issue)).collect();
    let seal = BatchSealed { batch: batch.into(), members };
    [form.into()].into_iter().chain(issues).chain([seal.into()]).collect()
}

/// Without gates and suite; ships nowhere; dissolves as by default.
pub fn batch_started(batch: &str) -> BatchStarted {
    BatchStarted {
        batch: batch.into(),
        issue: None,
        base: "main".into(),
        base_commit: "c0".into(),
        branch: "integration".into(),
        mode: Mode::Serial,
        worktree_root: "/trees".into(),
        gates: Vec::new(),
        suite: None,
        landing: Landing::Squash,
        dissolve: DissolveSpec { fraction: 1.0 / 3.0, min_evictions: 1, strategy: Strategy::Full },
        ship: ShipMode::None,
    }
}

pub fn suite_pinned(begun: &mut BatchStarted) {
    let report = ReportSpec::ExitCode;
    begun.suite = Some(SuiteSpec { command: vec!["true".into()], timeout_ms: 1, report });
}

pub fn assigned(batch: &str, member: &str) -> Event {
    let (branch, worktree) = ("b".into(), "/trees/1".into());
    MemberAssigned { batch: batch.into(), member: member.into(), n: 1, branch, worktree }.into()
}

/// A plan of any role, to be changed.
pub fn plan(dispatch: u128, of: &str, role: Role) -> DispatchPlanned {
    let commit: CommitId = "tip".into();
    let tree = match role {
        Role::Agent | Role::Gate => {
            let (path, branch) = ("/trees/1".into(), "b".into());
            Tree::Member { path, branch, commit, exact: role == Role::Gate }
        }
        Role::Suite => Tree::Check { path: "/trees/check".into(), commit },
        _ => Tree::None,
    };
    DispatchPlanned {
        dispatch: id(dispatch),
        unit: unit(of),
        role,
        slot: None,
        attempt: 1,
        tier: None,
        profile: None,
        command: vec!["true".into()],
        tree,
        timeout_ms: 1_000,
        stall_timeout_ms: None,
        gate: (role == Role::Gate).then(|| "unit".into()),
        recheck: false,
        baseline: false,
        reclaim: None,
        delay_ms: 0,
        replaces: None,
    }
}

pub fn agent(dispatch: u128, of: &str, slot: u16) -> Event {
    DispatchPlanned { slot: Some(SlotId(slot)), ..plan(dispatch, of, Role::Agent) }.into()
}

/// The agent of an issue without a tree.
pub fn job(dispatch: u128, issue: &str, slot: u16) -> Event {
    let plan = plan(dispatch, &format!("issue:{issue}"), Role::Agent);
    DispatchPlanned { slot: Some(SlotId(slot)), tree: Tree::None, ..plan }.into()
}

pub fn gate(dispatch: u128, of: &str) -> Event {
    plan(dispatch, of, Role::Gate).into()
}

pub fn started(dispatch: u128) -> Event {
    let process = |pid| Process {
        pid,
        start_time: 1,
        boot_id: "boot".into(),
        host: "host".into(),
        handle: None,
    };
    let supervisor = process(9);
    let event = DispatchStarted {
        dispatch: id(dispatch),
        process: process(10),
        process_group: 10,
        supervisor,
    };
    event.into()
}

/// A command that ran and exited.
pub fn code(code: i32) -> Exit {
    Exit { ran: true, code: Some(code), ..Exit::default() }
}

/// The same, with a commit of its own.
pub fn worked(tip: &str) -> Exit {
    let tip = Some(tip.into());
    let (dirty, tree, on_branch, merged) = (false, true, true, None);
    let ground = Ground { tip, commits: 1, dirty, tree, on_branch, merged };
    Exit { ground: Some(ground), ..code(0) }
}

pub fn exited(dispatch: u128, verdict: Verdict, exit: Exit) -> Event {
    DispatchExited { dispatch: id(dispatch), verdict, judged: None, exit }.into()
}

/// An agent or a gate that failed.
pub fn failed(dispatch: u128) -> Event {
    exited(dispatch, Verdict::UnverifiedExit, code(1))
}

pub fn lost(dispatch: u128, verdict: Verdict) -> Event {
    let (judged, ground, output_tail) = (None, None, String::new());
    let (dispatch, ran) = (id(dispatch), verdict != Verdict::NeverRan);
    DispatchLost { dispatch, ran, verdict, judged, ground, output_tail }.into()
}

pub fn expired(dispatch: u128) -> Event {
    DispatchExpired { dispatch: id(dispatch), tried: true }.into()
}

pub fn superseded(dispatch: u128) -> Event {
    DispatchSuperseded { dispatch: id(dispatch), reason: "pause".into() }.into()
}

pub fn released(slot: u16, of: &str) -> Event {
    SlotReleased { slot: SlotId(slot), unit: unit(of) }.into()
}

pub fn milestone(dispatch: u128, of: &str) -> Event {
    let event = MilestonePosted {
        dispatch: id(dispatch),
        unit: unit(of),
        phase: "plan".into(),
        status: "done".into(),
        keys: Default::default(),
        usage: Default::default(),
        detail: None,
    };
    event.into()
}

pub fn stop(dispatch: u128, bound_ms: u64) -> Event {
    stop_for(dispatch, StopReason::Timeout, bound_ms)
}

pub fn stop_for(dispatch: u128, reason: StopReason, bound_ms: u64) -> Event {
    let dispatch = id(dispatch);
    StopRequested { dispatch, pid: Some(10), slot: Some(SlotId(1)), reason, bound_ms }.into()
}

pub fn killed(dispatch: u128, alive_ms: u64) -> Event {
    let (dispatch, slot) = (id(dispatch), Some(SlotId(1)));
    KillEscalated { dispatch, pid: Some(10), slot, alive_ms, group: true }.into()
}

pub fn ineffective(dispatch: u128) -> Event {
    KillIneffective { dispatch: id(dispatch) }.into()
}

pub fn configured(content: &str) -> Event {
    let digest = sha256_hex(content.as_bytes());
    ConfigApplied { digest, content: content.into() }.into()
}

pub fn gates(member: &str, gates: &[&str]) -> Event {
    let gates = gates.iter().map(|gate| (*gate).into()).collect();
    let (batch, member, tip) = ("b1".into(), member.into(), "tip".into());
    GatesPlanned { batch, member, tip, gates, rescue: false }.into()
}

pub fn verified(member: &str) -> Event {
    let (batch, member, tip) = ("b1".into(), member.into(), "tip".into());
    MemberVerified { batch, member, tip, flaky: Vec::new() }.into()
}

pub fn landing(member: &str, dispatch: u128) -> Event {
    let event = LandingPlanned {
        batch: "b1".into(),
        member: member.into(),
        tip: "tip".into(),
        parent: "c0".into(),
        time: Timestamp::from_millis(0),
        dispatch: id(dispatch),
    };
    event.into()
}

pub fn landed(member: &str) -> Event {
    let (batch, member, commit) = ("b1".into(), member.into(), "landed".into());
    MemberLanded { batch, member, commit, outcome: Landed::Landed }.into()
}

/// A member's agent is done, and its landing is planned, without gates.
pub fn done(dispatch: u128, member: &str) -> Vec<Event> {
    let of = format!("batch:b1/{member}");
    vec![
        exited(dispatch, Verdict::Done, worked("tip")),
        gates(member, &[]),
        verified(member),
        released(1, &of),
        landing(member, dispatch),
    ]
}

pub fn evicted(member: &str) -> Event {
    evicted_for(member, "unverified-exit", EvictionKind::Evicted)
}

pub fn handed_back(member: &str) -> Event {
    evicted_for(member, "needs-human", EvictionKind::HandedBack)
}

pub fn evicted_for(member: &str, reason: &str, kind: EvictionKind) -> Event {
    let (batch, member, reason) = ("b1".into(), member.into(), reason.into());
    let (branch, evidence) = (None, Evidence::default());
    MemberEvicted { batch, member, reason, kind, branch, evidence }.into()
}

pub fn advanced(from: &str, to: &str) -> Event {
    MemberAdvanced { batch: "b1".into(), from: Some(from.into()), to: to.into() }.into()
}

pub fn requeued(member: &str) -> Event {
    let (batch, member) = ("b1".into(), member.into());
    MemberRequeued { batch, member, into: None, branch: None }.into()
}

/// A decision about a dissolve: members, evictions, threshold, landed.
pub fn decision(reason: &str, figures: [u32; 4]) -> DissolveDecision {
    let [members, evictions, threshold, landed] = figures;
    let (batch, strategy) = ("b1".into(), Strategy::Full);
    DissolveDecision {
        batch,
        reason: reason.into(),
        strategy,
        members,
        evictions,
        threshold,
        landed,
    }
}

pub fn dissolved(reason: &str, figures: [u32; 4]) -> Event {
    BatchDissolved(decision(reason, figures)).into()
}

pub fn suppressed(figures: [u32; 4]) -> Event {
    DissolveSuppressed(decision("threshold", figures)).into()
}

pub fn validated() -> Event {
    let commit = "landed".into();
    BatchValidated { batch: "b1".into(), commit, suite: SuiteResult::None }.into()
}

pub fn merged() -> Event {
    BatchMerged { batch: "b1".into(), commit: "landed".into() }.into()
}

pub fn batch_done() -> Event {
    BatchDone { batch: "b1".into() }.into()
}

pub fn issue_done(issue: &str, dispatch: Option<u128>) -> Event {
    IssueDone { issue: issue.into(), dispatch: dispatch.map(id) }.into()
}

pub fn blocked(reason: &str) -> Event {
    let reason = reason.into();
    BatchBlocked { batch: "b1".into(), reason, member: None, dispatch: None, detail: None }.into()
}

pub fn resumed(reason: &str) -> Event {
    BatchResumed { batch: "b1".into(), reason: reason.into() }.into()
}

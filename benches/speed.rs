//! `cargo bench`: ratios against what they are compared with, in one run, medians of interleaved
//! rounds. With `SCHED_BENCH_ENTRIES=1000000` the large journal too.

use sched::domain::event::{
    By, DispatchExited, DispatchPlanned, DispatchStarted, Entry, EnvironmentRecorded, Event, Exit,
    IssueDone, IssueEnqueued, JournalCreated, MilestonePosted, Process, Role, SlotReleased, Tree,
    VERSION, Verdict, Writer,
};
use sched::domain::ids::{DispatchId, IssueId, JournalId, SlotId, Unit};
use sched::domain::time::Timestamp;
use sched::journal::head::{self, Acknowledged};
use sched::journal::{line, place};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use uuid::Uuid;

const START: i64 = 1_790_000_000_000;

fn main() {
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    println!("{:<44} {:>12} {:>12} {:>7}  target", "what", "measured", "against", "ratio");
    idle_ticks();
    commits();
    refill();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn say(what: &str, measured: Duration, against: Duration, target: &str) {
    let ratio = measured.as_secs_f64() / against.as_secs_f64();
    println!("{what:<44} {measured:>12.1?} {against:>12.1?} {ratio:>7.2}  {target}");
}

fn timed(command: &mut Command) -> Duration {
    let begun = Instant::now();
    let status = command.stdout(Stdio::null()).status().expect("the program starts");
    let took = begun.elapsed();
    assert!(status.success(), "{command:?}");
    took
}

fn empty_clap() -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--example", "empty_clap"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.is_ok_and(|s| s.success()), "the empty program builds");
    let sched = PathBuf::from(env!("CARGO_BIN_EXE_sched"));
    sched.with_file_name("examples").join("empty_clap")
}

fn idle_ticks() {
    let empty = empty_clap();
    let large = std::env::var("SCHED_BENCH_ENTRIES").ok().and_then(|n| n.parse().ok());
    for entries in [Some(1_000_u64), Some(100_000), large].into_iter().flatten() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = dir.path().join("state");
        write_journal(&state, dir.path(), entries);
        let tick = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_sched"));
            command.arg("tick").arg("--state-dir").arg(&state).current_dir(dir.path());
            command
        };
        let begun = Instant::now();
        timed(&mut tick());
        println!("  (first tick over {entries} entries: {:.2?})", begun.elapsed());
        let mut audit = Command::new(env!("CARGO_BIN_EXE_sched"));
        let took = timed(audit.arg("audit").arg("--state-dir").arg(&state));
        println!("  (audit of {entries} entries: {took:.2?})");
        let (mut ticks, mut empties) = (Vec::new(), Vec::new());
        for _ in 0..60 {
            ticks.push(timed(&mut tick()));
            empties.push(timed(&mut Command::new(&empty)));
        }
        let what = format!("idle tick, {entries} entries");
        say(&what, median(ticks), median(empties), "<= 2.5");
    }
}

fn by() -> By {
    By {
        role: Writer::Tick,
        host: "bench".into(),
        boot: "bench".into(),
        up: 0,
        pid: 1,
        start: 1,
        user: "bench".into(),
        version: "0".into(),
        dispatch: None,
    }
}

/// A journal of a durable job queue: ten entries for each unit, all of them ended.
fn write_journal(state: &Path, dir: &Path, entries: u64) {
    place::make_dir(state).expect("a state directory");
    std::fs::write(dir.join("sched.toml"), "").expect("a configuration");
    let mut writer = Lines::new(state);
    writer.line(vec![
        JournalCreated {
            journal: JournalId(Uuid::now_v7()),
            place: place::place(state).expect("a place"),
            draft: sched::audit::schema::draft(),
        }
        .into(),
        EnvironmentRecorded {
            path: "/usr/bin:/bin".into(),
            repository: None,
            config: dir.join("sched.toml").to_string_lossy().into_owned(),
        }
        .into(),
    ]);
    for unit in 0..entries / 10 {
        one_unit(&mut writer, unit);
    }
    writer.finish(state);
}

fn one_unit(writer: &mut Lines, number: u64) {
    let issue = IssueId(format!("job-{number}"));
    let unit = Unit::Issue(issue.clone());
    let dispatch = DispatchId(Uuid::from_u128(u128::from(number) + 1));
    writer.line(vec![
        IssueEnqueued {
            issue: issue.clone(),
            generation: 1,
            runs: 0,
            title: None,
            prompt: None,
            profile: None,
            tier: None,
            priority: 0,
            deps: Vec::new(),
            batch: None,
        }
        .into(),
    ]);
    writer.line(vec![planned(dispatch, &unit).into()]);
    let process = Process {
        pid: 1,
        start_time: 1,
        boot_id: "bench".into(),
        host: "bench".into(),
        handle: None,
    };
    writer.line(vec![
        DispatchStarted {
            dispatch,
            process: process.clone(),
            process_group: 1,
            supervisor: process,
        }
        .into(),
    ]);
    for step in 0..6 {
        writer.line(vec![
            MilestonePosted {
                dispatch,
                unit: unit.clone(),
                phase: "implement".into(),
                status: format!("step {step}"),
                keys: Default::default(),
                usage: Default::default(),
                detail: None,
            }
            .into(),
        ]);
    }
    let exit = Exit { ran: true, code: Some(0), ..Exit::default() };
    writer.line(vec![
        DispatchExited { dispatch, verdict: Verdict::Done, judged: None, exit }.into(),
        SlotReleased { slot: SlotId(1), unit }.into(),
        IssueDone { issue, dispatch: Some(dispatch) }.into(),
    ]);
}

fn planned(dispatch: DispatchId, unit: &Unit) -> DispatchPlanned {
    DispatchPlanned {
        dispatch,
        unit: unit.clone(),
        role: Role::Agent,
        slot: Some(SlotId(1)),
        attempt: 1,
        tier: None,
        profile: Some("agent".into()),
        command: vec!["true".into()],
        tree: Tree::None,
        timeout_ms: 1000,
        stall_timeout_ms: None,
        gate: None,
        recheck: false,
        baseline: false,
        reclaim: None,
        delay_ms: 0,
        replaces: None,
    }
}

struct Lines {
    out: BufWriter<File>,
    seq: u64,
    length: u64,
    hash: String,
}

impl Lines {
    fn new(state: &Path) -> Self {
        let file = File::create(state.join("journal.jsonl")).expect("a journal");
        Self { out: BufWriter::new(file), seq: 0, length: 0, hash: line::GENESIS.into() }
    }

    fn line(&mut self, events: Vec<Event>) {
        self.seq += 1;
        let entry = Entry {
            v: VERSION,
            seq: self.seq,
            at: Timestamp::from_millis(START + i64::try_from(self.seq).unwrap_or(0)),
            wall: None,
            id: Uuid::from_u128(u128::from(self.seq)),
            by: by(),
            events,
        };
        let (bytes, hash) = line::encode(&entry, &self.hash).expect("a small entry");
        self.out.write_all(&bytes).expect("space");
        self.length += bytes.len() as u64;
        self.hash = hash;
    }

    fn finish(mut self, state: &Path) {
        self.out.flush().expect("space");
        let head = File::create(state.join("head")).expect("a head");
        let at = Acknowledged { seq: self.seq, length: self.length, hash: self.hash };
        head::write(&head, &at).expect("space");
    }
}

/// One commit with `head`, against a bare write and sync of the same bytes.
fn commits() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let state = dir.path().join("state");
    write_journal(&state, dir.path(), 10);
    let journal = sched::journal::Journal::open(&state).expect("a journal");
    let mut locked = journal.lock(Duration::from_secs(1), "bench").expect("the lock");
    let start = sched::journal::Position::start();
    locked.catch_up(&start, |_, _, _| Ok(())).expect("a valid journal");
    let bare = File::create(dir.path().join("bare")).expect("a file");
    let (mut ours, mut bares, mut offset) = (Vec::new(), Vec::new(), 0);
    for round in 0..400_u64 {
        let unit = Unit::Issue("job".into());
        let event = planned(DispatchId(Uuid::from_u128(u128::from(round))), &unit).into();
        let at = Timestamp::from_millis(START + 1_000_000);
        let before = journal.length().expect("a length");
        let begun = Instant::now();
        locked.commit(by(), at, at, Uuid::now_v7(), vec![event]).expect("a commit");
        ours.push(begun.elapsed());
        let length = journal.length().expect("a length") - before;
        let bytes = vec![b'x'; usize::try_from(length).unwrap_or(0)];
        let begun = Instant::now();
        bare.write_all_at(&bytes, offset).expect("space");
        bare.sync_data().expect("a sync");
        bares.push(begun.elapsed());
        offset += length;
    }
    say("one commit", median(ours), median(bares), "<= 1.2");
}

/// From the end of one agent to the start of the next, with no tick from outside in between.
fn refill() {
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("state");
    let config = "[scheduler]\nmax_slots = 1\n[agent]\ncommand = [\"true\"]\nworkdir = \"none\"\n\
                  inherit = []\n";
    std::fs::write(dir.path().join("sched.toml"), config).expect("a configuration");
    let sched = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sched"));
        command.args(args).arg("--state-dir").arg(&state).current_dir(dir.path());
        let _ = timed(&mut command);
    };
    sched(&["init"]);
    sched(&["enqueue", "--issues", "1..60"]);
    sched(&["run", "--until-idle"]);
    let text = std::fs::read_to_string(state.join("journal.jsonl")).expect("a journal");
    let mut ended: Option<i64> = None;
    let mut gaps = Vec::new();
    for line in text.lines() {
        let entry: Entry = serde_json::from_str(line).expect("an entry");
        for event in &entry.events {
            match event {
                Event::DispatchExited(_) => ended = Some(entry.at.millis()),
                Event::DispatchStarted(_) => {
                    let gap = ended.take().map(|at| entry.at.millis() - at);
                    gaps.extend(gap.and_then(|ms| u64::try_from(ms).ok()));
                }
                _ => {}
            }
        }
    }
    let gaps = gaps.into_iter().map(Duration::from_millis).collect();
    say("slot refill", median(gaps), Duration::from_millis(30), "<= 1 (30 ms)");
}

//! The prefix property, on the batch of `sched demo`: whoever commits entry `k` is killed inside
//! the line, before its newline, before `head`, or right behind it, and with it the world is as
//! it was when the journal ended there. Ticked until quiet, all comes to the same end.
//!
//! A sample by default; `SCHED_PREFIX=all` is every entry in every way, and
//! `SCHED_PREFIX=journal-torn@17` one cut.

use crate::bench::{Bench, Outcome, each};
use sched::journal::head::{self, Acknowledged};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// The ways in which a journal can end at an entry.
const CUTS: &[&str] =
    &["journal-torn", "journal-unended", "journal-written", "journal-acknowledged"];

/// Every so many cuts are in the sample: prime to the number of ways.
const STEP: usize = 15;
/// Cuts at a time: one mostly waits for the agent that hangs.
const THREADS: usize = 6;

/// The files of the demo, and whether they can be executed.
const FILES: &[(&str, &str, bool)] = &[
    ("greet.sh", include_str!("../../src/cli/commands/demo/greet.sh"), true),
    ("test.sh", include_str!("../../src/cli/commands/demo/test.sh"), true),
    ("agent.sh", include_str!("../../src/cli/commands/demo/agent.sh"), true),
    ("sched.toml", include_str!("../../src/cli/commands/demo/sched.toml"), false),
];

/// Its members: issue, title, and more. Only the one that hangs has little time: no other is to
/// run out of it on a busy machine.
const MEMBERS: &[(&str, &str, &[&str])] = &[
    ("101", "greet in French", &["--more"]),
    ("102", "greet in French by default", &["--more", "--deps", "101"]),
    ("103", "break the greeting", &["--more"]),
    ("104", "hang and ignore SIGTERM", &["--more", "--profile", "hangs"]),
    ("105", "do nothing", &[]),
];

/// What a dispatch goes through.
const STEPS: &[&str] = &["planned", "started", "exited", "lost", "expired", "superseded"];

/// The demo's repository, with agents and gates that write down their runs. An agent's own
/// commits die of the cut too.
fn demo(cut: &str) -> Bench {
    let bench = Bench::empty("repo");
    fs::create_dir(bench.repository()).unwrap();
    for (name, text, executable) in FILES {
        let path = bench.repository().join(name);
        fs::write(&path, text).unwrap();
        let mode = if *executable { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    bench.first_commit("a greeting, and its test");
    let program = env!("CARGO_BIN_EXE_sched");
    let once = bench.beside("once");
    let agent = format!(
        "export SCHED='{program}' SCHED_CRASH_AT='{cut}' SCHED_CRASH_ONCE='{}'\nexec ./agent.sh",
        once.display()
    );
    let agent = bench.script("agent", &agent);
    let gate = bench.script("gate", "exec ./test.sh");
    fs::write(bench.beside("sched.toml"), config(&agent, &gate)).unwrap();
    bench
}

/// The demo's configuration, with these scripts.
fn config(agent: &Path, gate: &Path) -> String {
    let mut config = include_str!("../../src/cli/commands/demo/sched.toml").to_owned();
    let (agent, gate) = (format!("{agent:?}"), format!("{gate:?}"));
    for (theirs, ours) in [
        ("\"./agent.sh\"", agent.as_str()),
        ("\"./test.sh\"", &gate),
        ("\"3s\"", "\"60s\""),
        ("\"10s\"", "\"60s\""),
    ] {
        assert!(config.contains(theirs), "no {theirs} in {config}");
        config = config.replace(theirs, ours);
    }
    config + &format!("\n[profile.hangs]\ncommand = [{agent}]\ntimeout = \"2s\"\n")
}

/// What an operator whose command was killed does: the same again, and is content when it is
/// told that it has been done.
fn persist(bench: &Bench, variables: &[(&str, &str)], arguments: &[&str]) {
    let mut said = bench.with(variables, arguments);
    if said.status.signal() == Some(9) {
        said = bench.with(&[], arguments);
        let refused = String::from_utf8_lossy(&said.stderr).contains(" already");
        if refused && !variables[0].1.starts_with("journal-torn@") {
            return;
        }
    }
    assert!(said.status.success(), "sched {arguments:?}: {said:?}");
}

/// The whole batch with one cut; with an empty one, undisturbed. How many entries there are.
fn run(bench: &Bench, cut: &str) -> u64 {
    let once = bench.beside("once");
    let variables = [
        ("SCHED_CRASH_AT", cut),
        ("SCHED_CRASH_SUPERVISOR", cut),
        ("SCHED_CRASH_ONCE", once.to_str().unwrap()),
    ];
    let config = bench.beside("sched.toml");
    persist(bench, &variables, &["init", "--config", config.to_str().unwrap()]);
    for (issue, title, more) in MEMBERS {
        let enqueue = ["enqueue", "--batch", "demo", "--issues", issue, "--title", title];
        persist(bench, &variables, &[&enqueue, *more].concat());
    }
    bench.settle(&variables);
    bench.check(cut);
    bench.until("nothing of it is left", || bench.processes("").is_empty());
    check_dispatches(bench, cut)
}

/// Each dispatch was planned once, started at most once and ended once; what ran says so.
fn check_dispatches(bench: &Bench, what: &str) -> u64 {
    let state = bench.repository().join(".git/sched");
    let journal = fs::read_to_string(state.join("journal.jsonl")).unwrap();
    let mut steps: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in journal.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        for event in entry["events"].as_array().unwrap() {
            let step = event["type"].as_str().unwrap().strip_prefix("dispatch-");
            if let Some(step) = step.filter(|step| STEPS.contains(step)) {
                let id = event["data"]["dispatch"].as_str().unwrap();
                steps.entry(id.to_owned()).or_default().push(step.to_owned());
            }
        }
    }
    for (id, steps) in &steps {
        let ended = match steps.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["planned", "started", end] => ["exited", "lost", "superseded"].contains(&end),
            ["planned", end] => ["expired", "superseded"].contains(&end),
            _ => false,
        };
        assert!(ended, "{what}: dispatch {id}: {steps:?}");
    }
    for run in bench.runs() {
        let id = run.rsplit_once(' ').unwrap().1;
        assert!(steps.contains_key(id), "{what}: ran without a plan: {run}");
        assert!(state.join("runs").join(id).join("ran").exists(), "{what}: {run}");
    }
    journal.lines().count() as u64
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct End {
    outcome: Outcome,
    /// What is on the base branch.
    base: String,
    /// Role and issue of each run of a script, in their order.
    runs: Vec<String>,
}

impl End {
    fn of(bench: &Bench) -> Self {
        let what = |run: String| run.rsplit_once(' ').unwrap().0.to_owned();
        Self {
            outcome: bench.outcome(),
            base: bench.git(&["ls-tree", "-r", "main"]),
            runs: bench.runs().into_iter().map(what).collect(),
        }
    }

    /// As far as the demo itself can show it, whose scripts write nothing down.
    fn shown(&self) -> Self {
        let outcome = Outcome { agents: Vec::new(), ..self.outcome.clone() };
        Self { outcome, runs: Vec::new(), base: self.base.clone() }
    }
}

/// What `sched demo` itself comes to, where one process is killed too.
fn real_demo() -> End {
    let bench = Bench::empty("demo/repo");
    fs::create_dir_all(bench.repository().parent().unwrap()).unwrap();
    let dir = bench.beside("demo");
    let demo = bench.command(&["demo"]).arg(&dir).current_dir(&dir).output().unwrap();
    assert!(demo.status.success(), "{demo:?}");
    End::of(&bench)
}

fn cut_at(cut: &str, undisturbed: &End) {
    let bench = demo(cut);
    let entries = run(&bench, cut);
    assert_eq!(&End::of(&bench), undisturbed, "{cut}");
    let seq: u64 = cut.split_once('@').unwrap().1.parse().unwrap();
    let died = bench.beside("once").exists();
    assert!(died || entries < seq, "{cut}: {entries} entries, and nothing died");
}

#[test]
fn a_journal_that_ends_anywhere_comes_to_the_same_outcome() {
    let (calm, entries, real) = std::thread::scope(|scope| {
        let real = scope.spawn(real_demo);
        let bench = demo("");
        let entries = run(&bench, "");
        (End::of(&bench), entries, real.join().unwrap())
    });
    assert_eq!(calm.shown(), real, "this is not the batch of `sched demo`");
    let ran = ["agent 101", "gate 101", "agent 102", "gate 102", "agent 103", "gate 103"];
    assert_eq!(calm.runs, [&ran[..], &["gate 103", "agent 104", "agent 105", "suite "]].concat());
    let all = (1..=entries).flat_map(|seq| CUTS.iter().map(move |cut| format!("{cut}@{seq}")));
    let cuts: Vec<String> = match std::env::var("SCHED_PREFIX").as_deref() {
        Ok("all") => all.collect(),
        Ok(one) => vec![one.to_owned()],
        Err(_) => all.step_by(STEP).collect(),
    };
    let cuts = cuts.into_iter().map(Cut).collect();
    each(cuts, THREADS, |Cut(cut)| cut_at(cut, &calm));
}

/// The journal up to an entry, and `head` with it, over the world as it is.
fn cut_behind(bench: &Bench, lines: &[&str]) {
    let state = bench.repository().join(".git/sched");
    let text = lines.concat();
    let last: serde_json::Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    let (seq, length) = (lines.len() as u64, text.len() as u64);
    let acknowledged = Acknowledged { seq, length, hash: last["hash"].as_str().unwrap().into() };
    fs::write(state.join("journal.jsonl"), text).unwrap();
    let file = fs::OpenOptions::new().write(true).open(state.join("head")).unwrap();
    head::reset(&file, &acknowledged).unwrap();
}

/// Only from the start of the suite on: before it a cut journal plans what has run already, over
/// work that has been done and trees that are gone, and a person is asked.
#[test]
fn a_cut_journal_over_a_later_world_finds_what_was_done_and_does_not_do_it_again() {
    let bench = demo("");
    run(&bench, "");
    let calm = (End::of(&bench), bench.runs());
    let whole = fs::read_to_string(bench.repository().join(".git/sched/journal.jsonl")).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let planned = lines.iter().position(|line| line.contains("\"batch-validating\"")).unwrap();
    for last in (planned + 1..lines.len()).rev() {
        cut_behind(&bench, &lines[..=last]);
        let what = format!("cut behind entry {}", last + 1);
        bench.settle(&[]);
        bench.check(&what);
        bench.until("nothing of it is left", || bench.processes("").is_empty());
        check_dispatches(&bench, &what);
        assert_eq!((End::of(&bench), bench.runs()), calm, "{what}");
    }
}

/// A cut, shown as the command that makes it again.
struct Cut(String);

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SCHED_PREFIX={} cargo nextest run --test recovery prefix", self.0)
    }
}

//! Calls that fail: `strace` makes them do so, at the n-th time that a process makes them.

use super::namespaces::cannot_run;
use super::{Written, assert_not_appended, behind, ended, length};
use crate::bench::{Bench, GATE, WORKS};
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};

const EIO: &str = "Input/output error (os error 5)";

/// Whether calls can be made to fail here; else a test that needs that cannot run.
pub fn can_inject() -> bool {
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let can = tried.as_ref().is_ok_and(|output| output.status.success());
    if !can {
        cannot_run(&format!("`strace` is not installed, or not allowed: {tried:?}"));
    }
    can
}

/// The program with faults in it, each `CALL:error=…:when=…`.
fn with_faults(bench: &Bench, faults: &[&str], arguments: &[&str]) -> Command {
    let calls: Vec<_> = faults.iter().filter_map(|fault| fault.split(':').next()).collect();
    let traced = format!("trace={}", calls.join(","));
    let faults: Vec<_> = faults.iter().map(|fault| format!("inject={fault}")).collect();
    let mut before = vec!["strace", "-o", "/dev/null", "-e", &traced];
    before.extend(faults.iter().flat_map(|fault| ["-e", fault]));
    behind(bench, &before, arguments)
}

fn assert_poisoned(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{what}: {output:?}");
    assert!(said.starts_with("error: cannot sync `"), "{what}: {said}");
    assert!(said.contains(&format!("journal.jsonl`: {EIO}; this process must not")), "{said}");
    assert!(said.contains("\n  check the disk, then run the command again\n"), "{what}: {said}");
}

/// A scheduler that has applied its configuration: each command is one line from now on.
fn ready() -> Bench {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--issues", "1"]);
    bench
}

#[test]
fn a_write_that_fails_once_is_an_error_only_where_it_is_the_journals() {
    if !can_inject() {
        return;
    }
    let bench = ready();
    let mut refused = 0;
    for when in 1..6 {
        let before = Written::of(&bench);
        let fault = format!("pwrite64:error=EIO:when={when}");
        let issue = format!("1{when}");
        let arguments = ["enqueue", "--issues", &issue];
        let output = with_faults(&bench, &[&fault], &arguments).output().unwrap();
        if !output.status.success() {
            refused += 1;
            assert_not_appended(&output, EIO, &fault);
            before.assert_still(&bench, &fault);
            bench.ok(&arguments);
        }
        bench.ok(&["journal", "verify"]);
        bench.ok(&["enqueue", "--issues", &format!("2{when}")]); // `head` may lag until then
    }
    assert_eq!((refused, bench.events("issue-enqueued").len()), (1, 11));
}

#[test]
fn a_call_that_a_signal_interrupts_is_made_again() {
    if !can_inject() {
        return;
    }
    let bench = ready();
    for (n, call) in ["pwrite64", "fdatasync", "flock"].iter().enumerate() {
        let fault = format!("{call}:error=EINTR:when=1+2");
        let issue = format!("1{n}");
        let enqueue = ["enqueue", "--issues", &issue];
        let output = with_faults(&bench, &[&fault], &enqueue).output().unwrap();
        assert!(output.status.success(), "{fault}: {output:?}");
        bench.ok(&["journal", "verify"]);
    }
    assert_eq!(bench.events("issue-enqueued").len(), 4);
}

#[test]
fn a_failed_sync_ends_the_command_and_the_next_one_reads_what_is_there() {
    if !can_inject() {
        return;
    }
    let bench = ready();
    let before = (length(&bench), fs::read(bench.state("head")).unwrap());
    let fault = "fdatasync:error=EIO:when=1";
    let enqueue = ["enqueue", "--issues", "2"];
    let output = with_faults(&bench, &[fault], &enqueue).output().unwrap();
    assert_poisoned(&output, "enqueue");
    assert!(length(&bench) > before.0, "the cache shows the line");
    assert_eq!(fs::read(bench.state("head")).unwrap(), before.1, "it is not acknowledged");
    // who finds it in doubt and cannot make sure of it does nothing at all
    let doubt = Written::of(&bench);
    let output = with_faults(&bench, &[fault], &["tick"]).output().unwrap();
    assert_poisoned(&output, "tick");
    doubt.assert_still(&bench, "tick");
    // it counts: said again, it is refused, and it is done once
    assert_eq!(bench.with(&[], &enqueue).status.code(), Some(3));
    assert_ne!(fs::read(bench.state("head")).unwrap(), before.1);
    bench.settle(&[]);
    ended(&bench, "a sync that failed");
    let mut agents = bench.outcome().agents;
    agents.sort();
    assert_eq!(agents, ["agent 1", "agent 2"]);
}

#[test]
fn a_line_that_can_neither_be_written_nor_cut_off_poisons_the_process() {
    if !can_inject() {
        return;
    }
    let bench = ready();
    let faults = ["pwrite64:error=EIO:when=2", "ftruncate:error=EIO"];
    let output = with_faults(&bench, &faults, &["enqueue", "--issues", "2"]).output().unwrap();
    assert_poisoned(&output, "enqueue");
    bench.ok(&["enqueue", "--issues", "2"]);
    bench.ok(&["journal", "verify"]);
}

#[test]
fn a_tick_whose_sync_fails_pays_nothing_of_that_line_and_the_next_one_goes_on() {
    if !can_inject() {
        return;
    }
    for when in 1..3 {
        let bench = ready();
        let fault = format!("fdatasync:error=EIO:when={when}");
        let output = with_faults(&bench, &[&fault], &["tick"]).output().unwrap();
        if when == 1 {
            assert_poisoned(&output, &fault);
            assert_eq!(bench.git(&["branch", "--list", "sched/*"]), "", "an effect was started");
        }
        bench.settle(&[]);
        ended(&bench, &fault);
        assert_eq!(bench.outcome().agents, ["agent 1"], "{fault}");
        assert_eq!(bench.outcome().base, "1 (#1)\nfirst\n", "{fault}");
    }
}

#[test]
fn a_supervisor_whose_sync_fails_leaves_the_rest_to_a_new_process() {
    if !can_inject() {
        return;
    }
    let bench =
        Bench::new(&format!("while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done; {WORKS}"), GATE);
    bench.ok(&["enqueue", "--issues", "1"]);
    bench.ok(&["tick"]);
    bench.until("the agent runs", || !bench.runs().is_empty());
    let supervisor = bench.processes(" supervise ")[0];
    let calls = bench.beside("calls");
    let mut strace = Command::new("strace");
    strace.args(["-e", "trace=pwrite64,fdatasync,execve"]).arg("-o").arg(&calls);
    strace.args(["-e", "inject=fdatasync:error=EIO:when=1", "-p", &supervisor.to_string()]);
    let mut strace = strace.spawn().unwrap();
    let status = format!("/proc/{supervisor}/status");
    let traced = format!("TracerPid:\t{}\n", strace.id());
    let mut refused = false;
    bench.until("it is traced", || {
        refused = strace.try_wait().unwrap().is_some();
        refused || fs::read_to_string(&status).unwrap().contains(&traced)
    });
    fs::write(bench.beside("go"), "").unwrap();
    if refused {
        cannot_run("`strace` may not attach to a process");
        return bench.settle(&[]);
    }
    // nobody ticks but those who come after it
    bench.until("it has shipped", || bench.is_quiet());
    strace.wait().unwrap();
    let calls = fs::read_to_string(calls).unwrap();
    let after = calls.split("(INJECTED)\n").nth(1).expect("nothing failed");
    assert!(after.starts_with("execve("), "it went on after its sync had failed:\n{calls}");
    ended(&bench, "a supervisor's sync");
    assert_eq!(bench.outcome().agents, ["agent 1"]);
    assert_eq!(bench.outcome().base, "1 (#1)\nfirst\n");
}

/// Whatever a power cut takes, it does not take the one proof of an end that has no line yet, nor
/// leave a proof of work that it takes.
#[test]
fn an_agents_work_is_durable_before_its_receipt_and_that_before_its_line() {
    if !can_inject() {
        return;
    }
    let bench = ready();
    let calls = bench.beside("calls").display().to_string();
    let trace = ["strace", "-f", "-y", "-e", "trace=pwrite64,fsync,fdatasync,syncfs", "-o", &calls];
    behind(&bench, &trace, &["tick"]).output().unwrap();
    let calls = fs::read_to_string(calls).unwrap();
    let (mut unsynced, mut lines) = (BTreeSet::new(), 0);
    let mut first: Vec<(&str, &str)> = Vec::new();
    for (process, call) in calls.lines().filter_map(|line| line.split_once(' ')) {
        let (call, rest) = call.trim_start().split_once('(').unwrap_or_default();
        let file = rest.split('>').next().unwrap_or_default();
        if call == "syncfs" || file.ends_with("/receipt.json") {
            first.push((process, call));
        }
        match (call, file.rsplit('/').next()) {
            ("pwrite64", Some("receipt.json")) => drop(unsynced.insert(process)),
            ("fsync" | "fdatasync", Some("receipt.json")) => drop(unsynced.remove(process)),
            ("pwrite64", Some("journal.jsonl")) => {
                lines += 1;
                assert!(!unsynced.contains(process), "a line over a lost receipt:\n{calls}");
            }
            _ => {}
        }
    }
    assert!(calls.contains("receipt.json") && lines > 4, "{lines} lines:\n{calls}");
    let agents = first.first().expect("there is a receipt").0;
    let of_agent = first.iter().filter(|(process, _)| *process == agents).map(|(_, call)| *call);
    let of_agent: Vec<&str> = of_agent.collect();
    // its space is made durable, then what the agent did, then what is said of it
    assert_eq!(of_agent, ["pwrite64", "fsync", "syncfs", "pwrite64", "fsync"], "{calls}");
}

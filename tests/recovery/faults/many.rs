//! Many at once; a holder of the lock that does not go on; an environment with nothing in it.

use super::syscalls::can_inject;
use super::{Written, behind, ended};
use crate::bench::{Bench, GATE, WORKS, signal};
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Output, Stdio};

const STOP_AT_SYNC: &str = "inject=fdatasync:signal=STOP:when=1";
const CONT: i32 = 18;

fn at_once(count: usize, start: impl Fn(usize) -> Child) -> Vec<Output> {
    let all: Vec<Child> = (0..count).map(start).collect();
    all.into_iter().map(|child| child.wait_with_output().unwrap()).collect()
}

fn start(bench: &Bench, arguments: &[&str]) -> Child {
    let mut command = bench.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn of_twenty_ticks_at_once_each_ends_well_and_nothing_is_done_twice() {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
    bench.ok(&["enqueue", "--issues", "1"]);
    while !bench.is_quiet() {
        for output in at_once(20, |_| start(&bench, &["tick"])) {
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        }
    }
    ended(&bench, "twenty ticks");
    let mut agents = bench.outcome().agents;
    agents.sort();
    assert_eq!(agents, ["agent 1", "agent bad", "agent good"]);
    assert_eq!(bench.events("batch-started").len(), 2);
    assert_eq!(bench.events("member-landed").len(), 2);
}

#[test]
fn of_twenty_that_queue_the_same_issue_at_once_one_does_and_none_of_others_is_lost() {
    let bench = Bench::new(WORKS, GATE);
    let same = at_once(20, |_| start(&bench, &["enqueue", "--issues", "1"]));
    let mut codes: Vec<_> = same.iter().map(|output| output.status.code().unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [[0].as_slice(), &[3; 19]].concat());
    let other = |n: usize| start(&bench, &["enqueue", "--issues", &format!("{}", 100 + n)]);
    assert!(at_once(20, other).iter().all(|output| output.status.success()));
    assert_eq!(bench.events("issue-enqueued").len(), 21);
    bench.ok(&["journal", "verify"]);
}

#[test]
fn whoever_meets_a_stopped_holder_of_the_lock_gives_up_naming_it_and_all_goes_on_after_it() {
    if !can_inject() {
        return;
    }
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--issues", "1"]);
    let strace = ["strace", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", STOP_AT_SYNC];
    let mut enqueue = behind(&bench, &strace, &["enqueue", "--issues", "2"]).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", enqueue.id());
    let pid = || fs::read_to_string(&children).unwrap().trim().parse::<i32>();
    bench.until("it is stopped", || {
        let stat = pid().map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")));
        stat.is_ok_and(|stat| stat.unwrap_or_default().contains(") t "))
            && bench.events("issue-enqueued").len() == 2
    });
    let pid = pid().unwrap();
    let before = Written::of(&bench);
    for arguments in [&["enqueue", "--issues", "3"][..], &["tick"], &["pause"]] {
        let output = bench.with(&[("SCHED_TEST_LOCK_WAIT_MS", "50")], arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(6), "{arguments:?}: {said}");
        let holder = format!("/lock` is held by sched (pid {pid})\n  wait for it, or end that");
        assert!(said.contains(&holder), "{arguments:?}: {said}");
    }
    before.assert_still(&bench, "a stopped holder");
    bench.ok(&["status"]);
    signal(CONT, &[pid]);
    assert!(enqueue.wait().unwrap().success());
    bench.ok(&["enqueue", "--issues", "3"]);
    bench.settle(&[]);
    ended(&bench, "it went on");
    let mut agents = bench.outcome().agents;
    agents.sort();
    assert_eq!(agents, ["agent 1", "agent 2", "agent 3"]);
}

/// Somebody who has never heard of us: `flock` writes no name into the file.
#[test]
fn a_lock_that_a_stranger_holds_is_not_blamed_on_who_had_it_last() {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--issues", "1"]);
    let mut stranger = Command::new("flock");
    stranger.arg(bench.state("lock")).args(["sh", "-c", "echo held; read line; exit 0"]);
    let mut stranger = stranger.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    stranger.stdout.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
    let output = bench.with(&[("SCHED_TEST_LOCK_WAIT_MS", "50")], &["enqueue", "--issues", "2"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(6), "{said}");
    let holder = format!("/lock` is held by flock (pid {})\n", stranger.id());
    assert!(said.contains(&holder), "{said}");
    drop(stranger.stdin.take());
    assert!(stranger.wait().unwrap().success());
    bench.ok(&["enqueue", "--issues", "2"]);
    bench.settle(&[]);
    ended(&bench, "the stranger has left");
}

/// Nobody has a home: not the scheduler, not git, not the agent.
#[test]
fn every_command_works_without_a_home() {
    let bench = Bench::with_settings(WORKS, GATE, "", |_| {});
    let run = |arguments: &[&str]| {
        let output = bench.command(arguments).env_remove("HOME").output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    };
    run(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
    run(&["run", "--until-idle"]);
    for arguments in
        [&["status"][..], &["log"], &["why", "batch:b1/bad"], &["journal", "verify"], &["tick"]]
    {
        run(arguments);
    }
    ended(&bench, "no home");
    assert_eq!(bench.outcome().agents, ["agent good", "agent bad"]);
    assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
}

#[test]
fn ticks_of_cron_alone_bring_a_batch_to_its_end() {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
    let dir = bench.state("");
    let tick = || {
        let mut cron = bench.command(&["tick", "--state-dir", dir.to_str().unwrap()]);
        cron.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        let output = cron.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    };
    bench.until("all is quiet", || {
        tick();
        bench.is_quiet()
    });
    ended(&bench, "cron");
    assert_eq!(bench.outcome().agents, ["agent good", "agent bad"]);
    assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
}

//! A state directory on a disk that is full to its last byte, and then has room again.

use super::{Written, assert_not_appended, ended, length, mount, with_mounts};
use crate::bench::{Bench, GATE, WORKS};
use std::fs::{self, OpenOptions};
use std::io::Write;

const PAGE: u64 = 4096;
/// The longest reason that is taken.
const LONGEST: u64 = 2000;
const WHY: &str = "No space left on device (os error 28)";
/// The agent starts, waits for `go`, prints, and does not mind when that fails.
const PRINTS: &str = "while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done
    head -c 300000 /dev/zero 2>/dev/null; echo printed >>\"$HOME/printed\"";

fn alone(test: &str, body: impl FnOnce()) {
    with_mounts(&format!("faults::full_disk::{test}"), body);
}

/// A scheduler whose state directory is a small disk of its own.
fn on_a_small_disk(agent: &str) -> Bench {
    Bench::with_settings(agent, GATE, "min_free = \"0B\"", |bench| {
        let dir = bench.state("");
        fs::create_dir(&dir).unwrap();
        mount(&["-t", "tmpfs", "-o", "size=1m,mode=700", "none", dir.to_str().unwrap()]);
    })
}

/// Takes every byte that is left.
fn fill(bench: &Bench) {
    let mut file = OpenOptions::new();
    let mut file = file.create(true).append(true).open(bench.state("filler")).unwrap();
    let mut size = 1 << 16;
    while size > 0 {
        if let Err(error) = file.write_all(&vec![b'x'; size]) {
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
            size /= 2;
        }
    }
    let left = rustix::fs::statvfs(bench.state("")).unwrap().f_bavail;
    assert_eq!(left, 0, "it is not full");
}

fn make_room(bench: &Bench) {
    fs::remove_file(bench.state("filler")).unwrap();
}

/// What no space that is kept for small lines can take: hundreds of issues in one line.
fn enqueue_too_much(bench: &Bench) {
    let before = Written::of(bench);
    let output = bench.with(&[], &["enqueue", "--issues", "90000..90499"]);
    assert_not_appended(&output, WHY, "a large line");
    before.assert_still(bench, "a large line");
    bench.ok(&["journal", "verify"]);
}

#[test]
fn a_line_that_does_not_fit_on_a_full_disk_leaves_nothing_and_fits_when_there_is_room() {
    let name = "a_line_that_does_not_fit_on_a_full_disk_leaves_nothing_and_fits_when_there_is_room";
    alone(name, || {
        let bench = on_a_small_disk(WORKS);
        bench.ok(&["enqueue", "--issues", "1"]);
        fill(&bench);
        enqueue_too_much(&bench);
        make_room(&bench);
        bench.ok(&["enqueue", "--issues", "90000..90499"]);
        assert_eq!(bench.status()["issues"].as_array().unwrap().len(), 501);
        bench.ok(&["journal", "verify"]);
    });
}

#[test]
fn on_a_full_disk_a_stop_is_committed_and_paid_and_so_is_the_end() {
    let name = "on_a_full_disk_a_stop_is_committed_and_paid_and_so_is_the_end";
    alone(name, || {
        let bench = on_a_small_disk("while :; do sleep 0.05; done");
        bench.ok(&["enqueue", "--issues", "1"]);
        bench.ok(&["tick"]);
        bench.until("the agent runs", || !bench.runs().is_empty());
        end_a_page(&bench);
        fill(&bench);
        bench.ok(&["stop", "--issue", "1"]);
        bench.until("the stop's end is written", || {
            bench.events("dispatch-exited").iter().any(|exited| exited["verdict"] == "stopped")
        });
        make_room(&bench);
        bench.settle(&[]);
        ended(&bench, "stopped on a full disk");
        assert_eq!(bench.outcome().issues[0].1, "stopped");
    });
}

#[test]
fn half_of_the_space_that_is_kept_is_there_whatever_was_written_or_failed_before() {
    let name = "half_of_the_space_that_is_kept_is_there_whatever_was_written_or_failed_before";
    alone(name, || {
        let bench = on_a_small_disk(WORKS);
        for n in 1..4 {
            // the end comes to lie anywhere in what is kept
            bench.ok(&["enqueue", "--issues", &format!("{n}000..{n}0{:02}", 10 + 20 * n)]);
            fill(&bench);
            enqueue_too_much(&bench);
            fill(&bench); // what it had written and gave back is somebody else's now
            let before = length(&bench);
            bench.ok(&["enqueue", "--issues", &format!("{n}100..{n}199")]);
            let line = length(&bench) - before;
            assert!((16384..32768).contains(&line), "{line}");
            make_room(&bench);
        }
        bench.ok(&["journal", "verify"]);
    });
}

#[test]
fn an_agent_whose_output_finds_no_room_is_judged_by_its_exit_and_the_batch_goes_on_with_room() {
    let name =
        "an_agent_whose_output_finds_no_room_is_judged_by_its_exit_and_the_batch_goes_on_with_room";
    alone(name, || {
        let bench = on_a_small_disk(&format!("{PRINTS}; {WORKS}"));
        bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
        bench.ok(&["tick"]);
        bench.until("the agent runs", || !bench.runs().is_empty());
        fill(&bench);
        fs::write(bench.beside("go"), "").unwrap();
        bench.until("its end is written", || bench.events("dispatch-exited").len() == 1);
        let exited = &bench.events("dispatch-exited")[0];
        assert_eq!((&exited["exit"]["code"], &exited["verdict"]), (&0.into(), &"done".into()));
        assert!(exited["exit"]["output"]["bytes"].as_u64().unwrap() < 300_000, "{exited}");
        // its gate cannot be claimed; nothing starts without
        bench.until("the start of its gate has failed", || {
            fs::read_dir(bench.state("runs")).unwrap().count() == 2
                && bench.processes(" supervise ").is_empty()
        });
        assert_eq!(bench.events("dispatch-started").len(), 1);
        make_room(&bench);
        bench.settle(&[]);
        ended(&bench, "full for a while");
        assert_eq!(bench.outcome().agents, ["agent good", "agent bad"]);
        assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
    });
}

/// Makes the journal end shortly before the end of a page, so that the next line needs another.
fn end_a_page(bench: &Bench) {
    let write = |bytes: u64| {
        let reason = "x".repeat(usize::try_from(bytes).unwrap());
        let before = length(bench);
        bench.ok(&["reprioritize", "--issue", "1", "--priority", "1", "--reason", &reason]);
        length(bench) - before - bytes
    };
    let line = write(1);
    let room = || (2 * PAGE - line - 100 - length(bench) % PAGE) % PAGE;
    while room() > LONGEST {
        write(LONGEST - line);
    }
    write(room());
    let left = PAGE - length(bench) % PAGE;
    assert!(left < 200, "{left} bytes are left in the page");
}

/// Writes until not even a short line fits.
fn exhaust(bench: &Bench) {
    fill(bench);
    for reason in ["x".repeat(2000), String::new()] {
        let mut priorities = 1..;
        let refused = priorities.find_map(|n| {
            let (n, issue) = (n.to_string(), ["--issue", "2", "--reason", &reason]);
            let all = [&["reprioritize", "--priority", &n][..], &issue].concat();
            Some(bench.with(&[], &all)).filter(|output| !output.status.success())
        });
        assert_not_appended(&refused.unwrap(), WHY, "what was kept is used up");
        fill(bench);
    }
}

#[test]
fn when_nothing_fits_ticks_and_supervisors_start_nothing_and_with_room_all_goes_on() {
    let name = "when_nothing_fits_ticks_and_supervisors_start_nothing_and_with_room_all_goes_on";
    alone(name, || {
        let bench = on_a_small_disk(&format!("{PRINTS}; {WORKS}"));
        bench.ok(&["enqueue", "--issues", "1"]);
        bench.ok(&["tick"]);
        bench.until("the agent runs", || !bench.runs().is_empty());
        bench.ok(&["enqueue", "--issues", "2"]);
        exhaust(&bench);
        let before = Written::of(&bench);
        let output = bench.with(&[], &["tick"]);
        assert_not_appended(&output, WHY, "tick");
        fs::write(bench.beside("go"), "").unwrap();
        let holder = || fs::read_to_string(bench.state("lock")).unwrap();
        bench.until("the supervisor tried", || holder().starts_with("sched supervise "));
        before.assert_still(&bench, "on a full disk");
        make_room(&bench);
        bench.settle(&[]);
        ended(&bench, "room again");
        assert_eq!(bench.outcome().agents, ["agent 1", "agent 2"]);
        let base = bench.outcome().base;
        let mut base: Vec<&str> = base.lines().collect();
        base.sort_unstable();
        assert_eq!(base, ["1 (#1)", "2 (#2)", "first"]);
    });
}

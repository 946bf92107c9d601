//! Agents, supervisors and ticks killed from outside; reboots; trees that agents break.

use crate::bench::{Bench, GATE, WORKS, signal};
use std::os::unix::fs::PermissionsExt;

const KILL: i32 = 9;

/// A batch whose agents wait until a file named `go` lies beside the repository.
fn waiting() -> Bench {
    let bench =
        Bench::new(&format!("while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done; {WORKS}"), GATE);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
    bench.ok(&["tick"]);
    bench.until("the agent runs", || !bench.runs().is_empty());
    bench
}

fn go_on(bench: &Bench, variables: &[(&str, &str)]) {
    std::fs::write(bench.beside("go"), "").unwrap();
    bench.settle(variables);
    bench.check("killed");
    let outcome = bench.outcome();
    let of = |id: &str| outcome.issues.iter().find(|row| row.0 == id).unwrap().1.clone();
    assert_eq!((of("good"), of("bad")), ("done".into(), "evicted".into()), "{outcome:?}");
}

#[test]
fn an_agent_outlives_its_supervisor_and_its_work_is_judged() {
    let bench = waiting();
    signal(KILL, &bench.processes(" supervise "));
    go_on(&bench, &[]);
    assert_eq!(bench.outcome().agents, ["agent good", "agent bad"]);
}

#[test]
fn a_reboot_under_an_agent_costs_no_attempt() {
    let bench = waiting();
    let all = bench.processes("");
    signal(KILL, &all);
    go_on(&bench, &[("SCHED_TEST_BOOT_ID", "another")]);
    assert_eq!(bench.outcome().agents, ["agent good", "agent good", "agent bad"]);
}

/// The commit of an agent under a name, and nothing in it: git syncs a branch, not what it names.
#[test]
fn work_that_power_took_from_an_agent_is_done_again() {
    let waits = "touch \"$HOME/worked\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done";
    let bench = Bench::new(&format!("{WORKS} && {{ {waits}; }}"), GATE);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
    bench.ok(&["tick"]);
    bench.until("the agent has committed", || bench.beside("worked").exists());
    signal(KILL, &bench.processes(""));
    let branch = bench.git(&["for-each-ref", "--format=%(refname)", "refs/heads/sched/b1/1-good"]);
    for what in [":work-good", ""] {
        let id = bench.git(&["rev-parse", &format!("{}{what}", branch.trim())]);
        let object = format!(".git/objects/{}/{}", &id[..2], id[2..].trim());
        let object = bench.repository().join(object);
        std::fs::remove_file(&object).unwrap();
        std::fs::write(&object, "").unwrap();
    }
    go_on(&bench, &[("SCHED_TEST_BOOT_ID", "another")]);
    assert_eq!(bench.outcome().agents, ["agent good", "agent good", "agent bad"]);
    assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
    bench.git(&["fsck", "--no-reflogs"]);
}

#[test]
fn a_stop_whose_command_is_killed_before_it_signals_is_signalled_by_the_next_tick() {
    let bench = waiting();
    let died = bench.with(&[("SCHED_CRASH_AT", "pay-signal")], &["stop", "--issue", "good"]);
    assert_eq!(died.status.code(), None, "{died:?}");
    bench.ok(&["tick"]);
    let status = |id: &str| bench.outcome().issues.iter().find(|i| i.0 == id).unwrap().1.clone();
    bench.until("it is stopped", || status("good") == "stopped");
    std::fs::write(bench.beside("go"), "").unwrap();
    bench.settle(&[]);
    bench.check("stopped");
    assert_eq!(status("bad"), "evicted");
}

#[test]
fn unsaved_work_of_a_killed_agent_is_rescued_before_the_next_one_has_its_tree() {
    let once = "test -e \"$HOME/once\" || { touch \"$HOME/once\"; echo precious >unsaved; \
                git checkout -q -b elsewhere; kill -9 $$; }";
    let bench = Bench::new(&format!("{once}; {WORKS}"), GATE);
    bench.ok(&["enqueue", "--issues", "good"]);
    bench.settle(&[]);
    bench.check("rescued");
    assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
    assert_eq!(bench.git(&["ls-tree", "--name-only", "main"]), "sched.toml\nwork-good\n");
    let rescued = bench.git(&["for-each-ref", "--format=%(refname)", "refs/sched/rescue"]);
    let unsaved = format!("{}:unsaved", rescued.lines().next().unwrap());
    assert_eq!(bench.git(&["show", &unsaved]), "precious\n");
    assert!(bench.ok(&["log"]).contains("rescue"));
}

#[test]
fn a_git_child_that_is_killed_is_tried_again_and_nobody_is_asked() {
    let bench = Bench::empty("repository");
    std::fs::create_dir(bench.repository()).unwrap();
    let (agent, gate) = (bench.script("agent", WORKS), bench.script("gate", GATE));
    let config = format!(
        "schema = 1\n[agent]\ncommand = [{agent:?}]\n\
         [[gate]]\nid = \"unit\"\ncommand = [{gate:?}]\n[ship]\nmode = \"merge\"\n"
    );
    std::fs::write(bench.repository().join("sched.toml"), config).unwrap();
    bench.first_commit("first");
    let git = bench.beside("bin/git");
    std::fs::create_dir(git.parent().unwrap()).unwrap();
    let script = "#!/bin/sh\ncase \" $* \" in *\" commit-tree \"*)\n    \
                  mkdir \"$0.killed\" 2>/dev/null && kill -KILL $$ ;;\nesac\n\
                  PATH=${PATH#*:}\nexec git \"$@\"\n";
    std::fs::write(&git, script).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", git.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let init = bench.with(&[("PATH", &path)], &["init"]);
    assert!(init.status.success(), "{init:?}");
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
    bench.settle(&[]);
    bench.check("a killed git");
    assert!(bench.beside("bin/git.killed").exists(), "nothing was killed");
    assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
}

#[test]
fn a_member_stopped_before_its_batch_starts_does_not_stop_the_others() {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "gone,good"]);
    bench.ok(&["stop", "--issue", "gone"]);
    bench.ok(&["tick"]);
    bench.settle(&[]);
    bench.check("stopped before the start");
    assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
}

#[test]
fn work_that_was_done_in_time_and_is_found_late_is_no_timeout() {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
    let once = bench.beside("once");
    let variables = [
        ("SCHED_CRASH_SUPERVISOR", "supervise-receipt"),
        ("SCHED_CRASH_ONCE", once.to_str().unwrap()),
    ];
    bench.with(&variables, &["tick"]);
    bench.until("the supervisor has died behind its receipt", || once.exists());
    bench.until("nothing runs", || bench.processes("").is_empty());
    go_on(
        &bench,
        &[("SCHED_TEST_BOOT_ID", "another"), ("SCHED_TEST_NOW", "2199-01-01T00:00:00.000Z")],
    );
    assert_eq!(bench.outcome().agents, ["agent good", "agent bad"]);
}

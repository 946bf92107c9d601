//! A whole serial batch with real processes: two members land, one is evicted by its gate.

use crate::environment::{TestEnvironment, snapshot_text};

#[test]
fn a_serial_batch_runs_to_its_end() {
    let environment = TestEnvironment::initialized();
    environment.configure(
        "[[gate]]\nid = \"unit\"\n\
         command = [\"sh\", \"-c\", \"echo testing; test ! -e file-103\"]\n\
         [dissolve]\nmin_evictions = 3\n",
    );
    environment.sched(&["enqueue", "--issues", "101..103", "--batch", "b1"]);
    let run = environment.sched(&["run", "--until-idle", "--interval", "200ms"]);
    assert_eq!(run.code, 0, "{}", run.text());
    let status = environment.sched(&["status"]).stdout;
    let (tables, head) = status.split_once("\nentry ").unwrap();
    assert!(head.ends_with(", 0 owed\n"), "{head}");
    snapshot_text("batch_status", tables);
    assert_eq!(
        environment.git(&["ls-tree", "--name-only", "main"]),
        "README\nfile-101\nfile-102\nsched.toml\n"
    );
    let why = environment.sched(&["why", "batch:b1/103"]).stdout;
    let unnumbered: Vec<&str> = why.lines().map(|line| line[6..].trim_end()).collect();
    snapshot_text("batch_why_evicted", &unnumbered.join("\n"));
    let evicted = environment.sched(&["log", "--type", "member-evicted"]);
    assert_eq!(evicted.stdout.lines().count(), 1, "{}", evicted.stdout);
    every_dispatch_can_be_named_by_what_is_printed(&environment, &run.stdout);
    assert_eq!(environment.sched(&["journal", "verify"]).code, 0);
}

fn every_dispatch_can_be_named_by_what_is_printed(environment: &TestEnvironment, out: &str) {
    let started = out.lines().filter(|line| line.contains(" started, pid "));
    let names: Vec<&str> = started.filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert!(!names.is_empty(), "{out}");
    for name in &names {
        let said = environment.sched(&["logs", name]);
        assert_eq!(said.code, 0, "{name}: {}", said.text());
    }
    snapshot_text("batch_logs", &environment.sched(&["logs", names[0]]).text());
}

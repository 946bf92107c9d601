//! What holds for the output of every command.

use crate::environment::TestEnvironment;
use std::process::Stdio;

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let environment = TestEnvironment::initialized();
    for args in [&["log"][..], &["status"], &["status", "--json"], &["man"], &["doctor"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = environment.sched_command(args);
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        drop(command);
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.as_str()), (Some(141), ""), "{args:?}");
    }
}

#[test]
fn with_json_there_is_exactly_one_document_and_its_schema_is_named() {
    let environment = TestEnvironment::new();
    let first = environment.json(&["init", "--json"]);
    assert_eq!(first["schema"], "sched.init/v1");
    environment.agent("agent", "exit 0\n");
    environment.configure("");
    let cases: &[(&[&str], &str)] = &[
        (&["enqueue", "--issues", "1..2", "--batch", "b1"], "sched.enqueue/v1"),
        (&["status"], "sched.status/v1"),
        (&["show", "batch:b1/1"], "sched.show/v1"),
        (&["show", "1"], "sched.show/v1"),
        (&["why", "batch:b1/1"], "sched.why/v1"),
        (&["pause"], "sched.pause/v1"),
        (&["resume"], "sched.resume/v1"),
        (&["reprioritize", "--batch", "b1", "--priority", "3"], "sched.reprioritize/v1"),
        (&["stop", "--issue", "1"], "sched.stop/v1"),
        (&["abandon", "--batch", "b1"], "sched.abandon/v1"),
        (&["tick"], "sched.tick/v1"),
        (&["journal", "verify"], "sched.journal-verify/v1"),
        (&["journal", "replay", "--at", "2"], "sched.status/v1"),
        (&["doctor"], "sched.doctor/v1"),
    ];
    for (args, schema) in cases {
        let said = environment.sched(&[args, &["--json"][..]].concat());
        let document: serde_json::Value = serde_json::from_str(&said.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {}", said.text()));
        assert_eq!(document["schema"], *schema, "{args:?}");
    }
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let environment = TestEnvironment::new();
    let plain = environment.sched(&["status"]);
    assert!(plain.stderr.starts_with("error: "), "{}", plain.stderr);
    let coloured = environment.sched(&["status", "--color", "always"]);
    assert!(coloured.stderr.starts_with("\u{1b}["), "{}", coloured.stderr);
    let never = environment.sched(&["status", "--color", "never"]);
    assert_eq!(never.stderr, plain.stderr);
}

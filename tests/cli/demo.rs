//! `sched demo`: the whole main job, in an environment as empty as cron's.

use crate::environment::TestEnvironment;

#[test]
fn the_demo_lands_two_members_evicts_three_and_survives_a_kill() {
    let environment = TestEnvironment::new();
    let dir = environment.path("demo");
    let mut command = environment.sched_command(&["demo", dir.to_str().unwrap()]);
    let output = command.env_remove("HOME").env("PATH", "/usr/bin:/bin").output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), output.stderr);
    let err = String::from_utf8_lossy(&err);
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    assert!(out.contains("One process was killed with SIGKILL"), "{out}\n{err}");
    assert!(out.contains("greet in French by default (#102)"), "{out}\n{err}");
    // the live view is one of the processes that may be killed: what happened is in the journal
    let log = environment.sched_in("demo/repo", &["log"]).stdout;
    for happened in [
        "member 101 landed as",
        "member 102 landed as",
        "member 103 evicted: gate-failed:unit",
        "member 104 evicted: timeout",
        "member 105 evicted: unverified-exit",
        "batch demo done",
    ] {
        assert_eq!(log.matches(happened).count(), 1, "{happened:?}:\n{log}");
    }
    assert!(dir.join("killed-once").exists());
    let status = environment.sched_in("demo/repo", &["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(status["owed"].as_array().map(Vec::len), Some(0), "{status}");
    assert_eq!(status["batches"][0]["landed"], serde_json::json!(["101", "102"]));
}

#[test]
fn a_directory_with_something_in_it_is_refused() {
    let environment = TestEnvironment::new();
    let said = environment.sched(&["demo", "../repo"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(said.stderr.contains("is not empty"), "{}", said.stderr);
}

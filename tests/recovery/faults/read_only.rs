//! A state directory that may only be read.

use super::{Written, ended, mount, with_mounts};
use crate::bench::{Bench, GATE, WORKS};
use std::process::Stdio;

#[test]
fn on_a_read_only_place_reading_works_and_writing_says_exactly_why_not() {
    let name = "on_a_read_only_place_reading_works_and_writing_says_exactly_why_not";
    with_mounts(&format!("faults::read_only::{name}"), || {
        let bench = Bench::new(WORKS, GATE);
        bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
        bench.settle(&[]);
        bench.ok(&["enqueue", "--issues", "7"]);
        bench.until("no supervisor ticks", || bench.processes(" supervise ").is_empty());
        let dir = bench.state("");
        let dir = dir.to_str().unwrap();
        let mutable: [&[&str]; 5] = [
            &["enqueue", "--issues", "8"],
            &["tick"],
            &["pause"],
            &["stop", "--issue", "7"],
            &["run", "--until-idle"],
        ];
        mount(&["--bind", dir, dir]);
        mount(&["-o", "remount,bind,ro", dir]);
        let before = Written::of(&bench);
        let dispatch = bench.events("dispatch-planned")[0]["dispatch"].clone();
        let readable: [&[&str]; 7] = [
            &["status"],
            &["status", "--json"],
            &["log"],
            &["show", "issue:7"],
            &["logs", dispatch.as_str().unwrap()],
            &["journal", "verify"],
            &["journal", "replay"],
        ];
        for arguments in readable {
            let output = bench.command(arguments).stderr(Stdio::piped()).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
        }
        for arguments in mutable {
            let output = bench.with(&[], arguments);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(5), "{arguments:?}: {said}");
            let (path, rest) = said.split_once("`: ").unwrap();
            assert!(path.starts_with(&format!("error: cannot open `{dir}")), "{said}");
            assert_eq!(rest, "Read-only file system (os error 30)\n", "{arguments:?}");
        }
        before.assert_still(&bench, "read-only");
        let doctor = String::from_utf8(bench.with(&[], &["doctor"]).stdout).unwrap();
        assert!(doctor.contains("error    writable"), "{doctor}");
        assert!(doctor.contains("Read-only file system"), "{doctor}");
        mount(&["-o", "remount,bind,rw", dir]);
        bench.settle(&[]);
        ended(&bench, "writable again");
        assert_eq!(bench.outcome().agents, ["agent good", "agent bad", "agent 7"]);
    });
}

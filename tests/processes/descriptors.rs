//! What the caller of a command has open stays with the caller.

use crate::place::{Place, SCHED};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

/// The processes that have a file open, other than this one.
fn holders(path: &PathBuf) -> Vec<String> {
    let numbers = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let holds = |process: &PathBuf| {
        let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        files.into_iter().any(|file| fs::read_link(file.path()).is_ok_and(|to| to == *path))
    };
    let named = |process: PathBuf| {
        let line = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
        format!("{}: {}", process.display(), line.replace('\0', " "))
    };
    numbers.filter(holds).map(named).collect()
}

/// A tick under `flock`, as people write it into a crontab, and with more left open.
#[test]
fn no_supervisor_and_no_command_inherits_what_the_callers_of_a_tick_have_open() {
    let place = Place::new("echo $$ > $PLACE/pid; while ! test -e $PLACE/end; do sleep 0.02; done");
    let inherited = [place.path("lock-of-cron"), place.path("left-open")];
    let inherited = inherited.map(|path| {
        File::create(&path).unwrap();
        path.canonicalize().unwrap()
    });
    let mut tick = Command::new("sh");
    let script = "lock=$1; exec 7>>\"$2\"; shift 2; exec flock \"$lock\" \"$@\"";
    tick.args(["-c", script, "sh"]).args(&inherited).args([SCHED, "tick", "--state-dir"]);
    assert!(tick.arg(place.path("state")).status().unwrap().success());
    place.pid("pid");
    for path in &inherited {
        assert_eq!(holders(path), [""; 0], "`{}` is still open", path.display());
    }
    let free = Command::new("flock").arg("--nonblock").arg(&inherited[0]).arg("true").status();
    assert!(free.unwrap().success(), "cron's next tick would wait for the agent");
    fs::write(place.path("end"), "").unwrap();
    place.event("issue-done", 1);
}

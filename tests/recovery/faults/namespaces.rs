//! A test in namespaces of its own, where it may mount what it likes and choose process numbers:
//! all of it is gone with the test's last process. And what becomes of a test that cannot run.

use std::process::Command;

/// Names the test that runs in namespaces of its own.
pub const INSIDE: &str = "SCHED_TEST_INSIDE";

/// A test cannot run here: it fails and says why, so that nobody takes it for proof. On a machine
/// that cannot do better, `SCHED_TEST_MAY_SKIP` lets it pass over what it cannot do.
pub fn cannot_run(why: &str) {
    let may_skip = std::env::var_os("SCHED_TEST_MAY_SKIP").is_some();
    assert!(may_skip, "this test cannot run here: {why}; SCHED_TEST_MAY_SKIP=1 passes over it");
    println!("SKIPPED: {why}");
}

/// Runs the test of this name again, in new namespaces, where `body` is what it does. Without
/// the rights for that, or for what `trial` does there, it cannot run.
pub fn in_namespaces(unshare: &[&str], trial: &str, test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some_and(|inside| inside == test) {
        return body();
    }
    let tried = Command::new("unshare").args(unshare).args(["sh", "-c", trial]).output();
    if !tried.as_ref().is_ok_and(|output| output.status.success()) {
        let options = unshare.join(" ");
        return cannot_run(&format!("`unshare {options}`, `{trial}` is not allowed: {tried:?}"));
    }
    let mut inside = Command::new("unshare");
    inside.args(unshare).arg(std::env::current_exe().unwrap());
    let output = inside.args(["--exact", test, "--nocapture"]).env(INSIDE, test).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("\nrunning 1 test\n"), "there is no test `{test}`:\n{said}");
    println!("{said}");
}

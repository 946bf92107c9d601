//! A test in namespaces of its own, where it may mount what it likes and choose process numbers:
//! all of it is gone with the test's last process.

use std::process::Command;

/// Names the test that runs in namespaces of its own.
pub const INSIDE: &str = "SCHED_TEST_INSIDE";

/// Runs the test of this name again, in new namespaces, where `body` is what it does. Without
/// the rights for that, or for what `trial` does there, it says so and does nothing.
pub fn in_namespaces(unshare: &[&str], trial: &str, test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some_and(|inside| inside == test) {
        return body();
    }
    let tried = Command::new("unshare").args(unshare).args(["sh", "-c", trial]).output();
    if !tried.as_ref().is_ok_and(|output| output.status.success()) {
        let options = unshare.join(" ");
        println!("SKIPPED {test}: `unshare {options}`, `{trial}` is not allowed here: {tried:?}");
        return;
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

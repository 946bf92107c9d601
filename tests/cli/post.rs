//! `sched post`.

use crate::environment::{TestEnvironment, snapshot_text};

#[test]
fn a_post_needs_a_dispatch_that_is_open() {
    let environment = TestEnvironment::initialized();
    let id = "0193a7c2-0000-7000-8000-000000000000";
    let post = ["post", "--phase", "plan", "--status", "done"];
    let said = [
        environment.sched(&post),
        environment.sched(&["post", "--check"]),
        environment.sched(&["post"]),
        environment.sched_with("SCHED_DISPATCH", "zz", &post),
        environment.sched_with("SCHED_DISPATCH", id, &post),
        environment.sched_with("SCHED_DISPATCH", id, &["post", "--check"]),
        environment.sched_with("SCHED_DISPATCH", id, &[&post[..], &["--key", "novalue"]].concat()),
    ];
    let text: Vec<String> = said.iter().map(|said| said.text()).collect();
    snapshot_text("post_refused", &text.join("\n"));
}

//! Commands that print without end.

use crate::place::Place;
use std::fs;

const LIMIT: u64 = 1 << 20;
/// Prints 64 MiB if nobody stops it, at most 6 MiB a second.
const PRINTS: &str = "i=0; while test $i -lt 1024; do head -c 65536 /dev/zero; sleep 0.01
    i=$((i+1)); done; echo all > $PLACE/all";

/// The size of the output of a dispatch that was stopped for its size; it is what was said.
fn flooded(place: &Place) -> u64 {
    assert_eq!(place.event("stop-requested", 1)["reason"], "output-limit");
    let exited = place.event("dispatch-exited", 1);
    assert_eq!((&exited["exit"]["signal"], &exited["verdict"]), (&15.into(), &"stopped".into()));
    assert_eq!(place.event("issue-failed", 1)["reason"], "output-limit");
    assert_eq!(
        (place.events("stop-requested").len(), place.events("kill-escalated").len()),
        (1, 0)
    );
    let size = fs::metadata(place.run(1).join("output.log")).unwrap().len();
    assert_eq!(exited["exit"]["output"]["bytes"], size, "something of it still prints");
    size
}

#[test]
fn a_command_that_prints_too_much_is_stopped_near_the_limit() {
    let place = Place::with(PRINTS, "output_limit = \"1MiB\"", "");
    place.tick();
    let size = flooded(&place);
    assert!(size > LIMIT && size < 32 * LIMIT, "{size} bytes");
    assert_eq!(place.text("all"), "");
}

/// A gibibyte that takes no room on the disk: it is read and its digest written all the same.
#[test]
fn a_gibibyte_of_output_is_over_the_default_limit_and_is_accounted_for() {
    let place = Place::new("truncate -s 1073741825 /proc/self/fd/1; exec sleep 600");
    place.tick();
    assert_eq!(flooded(&place), (1 << 30) + 1);
    let output = place.event("dispatch-exited", 1)["exit"]["output"].clone();
    assert_eq!(output["sha256"].as_str().map(str::len), Some(64), "{output}");
}

/// As fast as it can, up to the default limit: a gibibyte and more that is written, so it runs
/// only when `SCHED_TEST_LARGE` is set.
#[test]
fn a_flood_is_stopped_near_the_default_limit() {
    if std::env::var_os("SCHED_TEST_LARGE").is_none() {
        println!("not run: it writes more than 1 GiB; set SCHED_TEST_LARGE to run it");
        return;
    }
    let place = Place::new("cat /dev/zero");
    place.tick();
    let size = flooded(&place);
    assert!(size > 1 << 30 && size < 2 << 30, "{size} bytes");
}

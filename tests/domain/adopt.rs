//! A copied or restored journal, and one that was cut.

use crate::world::*;
use sched::domain::command::Command;
use sched::domain::event::{EnvironmentRecorded, JournalRepaired, Place};
use sched::domain::ids::JournalId;
use sched::domain::rules::named_in;
use uuid::Uuid;

fn adopt(inode: u64, insist: bool) -> Command {
    let place = Place { machine: "m".into(), inode, birth: 1 };
    Command::Adopt { journal: JournalId(Uuid::from_u128(9)), place, insist }
}

#[test]
fn a_journal_at_rest_is_adopted_by_itself() {
    let mut w = World::new("");
    assert!(w.refused(adopt(1, true)).contains("in its own place already"));
    assert_eq!(w.given(adopt(2, false)), "journal-adopted");
}

#[test]
fn unfinished_work_needs_an_operator_and_is_lost_without_a_signal() {
    let mut w = World::batch(GATE, &["1", "2"]);
    w.start("batch:b1/1");
    assert!(w.refused(adopt(2, false)).contains("is a copy of another"));
    let line = w.given(adopt(2, true));
    let expected = "journal-adopted dispatch-lost:host-lost slot-released batch-blocked:adopted";
    assert_eq!(line, expected);
    assert_eq!(w.tick(), "");
    assert_eq!(w.given(resume(batch("b1"))), "operator-acted batch-resumed");
    assert_eq!(w.tick(), "dispatch-planned:agent");
}

#[test]
fn a_dissolve_that_was_under_way_is_made_after_resume() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    w.given(abandon(batch("b1")));
    w.given(adopt(2, true));
    let line = w.given(resume(batch("b1")));
    assert!(line.contains("batch-resumed batch-dissolved:operator"), "{line}");
}

#[test]
fn a_renamed_repository_is_recorded_again_over_whatever_is_under_way() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    let environment = EnvironmentRecorded {
        path: "/bin".into(),
        repository: Some("/renamed".into()),
        config: "/renamed/sched.toml".into(),
    };
    assert_eq!(w.given(Command::Record(environment.clone())), "environment-recorded");
    assert_eq!((w.tick().as_str(), &w.state.environment), ("", &Some(environment)));
}

fn repaired(w: &World, units: &[&str]) -> Command {
    Command::Repaired(JournalRepaired {
        from_seq: w.state.head.seq + 1,
        offset: 9,
        bytes: 9,
        sha256: "0".into(),
        units: units.iter().map(|u| u.parse().unwrap()).collect(),
    })
}

#[test]
fn a_unit_whose_entries_were_cut_off_goes_nowhere() {
    let mut w = World::batch("", &["1", "2"]);
    let cut = repaired(&w, &["batch:b1/1"]);
    let line = w.given(cut);
    assert_eq!(line, "journal-repaired dispatch-superseded:repaired slot-released");
    assert_eq!((w.status(), w.tick()), ("blocked", String::new()));
    w.given(resume(batch("b1")));
    assert_eq!(w.tick(), "dispatch-planned:agent");
}

#[test]
fn work_that_ends_well_is_done_although_its_issue_was_cut() {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("7", &[])]));
    w.tick();
    w.start("issue:7");
    let cut = repaired(&w, &["issue:7"]);
    w.given(cut);
    assert_eq!(w.issue_status("7"), "blocked");
    let line = w.end("issue:7", code(0));
    assert_eq!(line, "issue-unblocked:7 dispatch-exited:done slot-released issue-done:7");
}

#[test]
fn a_repair_holds_back_what_the_damaged_text_names_by_its_dispatch_and_what_is_open() {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("1", &[]), ("2", &[])]));
    w.tick();
    let dispatch = w.start("issue:1");
    let open = w.open("issue:1").to_string();
    assert_eq!(dispatch, "dispatch-started");
    let units = |text: &str, missing| {
        named_in(text, missing, &w.state).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(units(&format!("…\"dispatch\":\"{open}\"…"), false), ["issue:1", "issue:2"]);
    assert_eq!(units("", false), ["issue:1", "issue:2"], "their ends may be what was given up");
}

#[test]
fn a_repair_that_lost_more_than_it_can_read_holds_back_all_that_is_unfinished() {
    let mut w =
        World::new("[scheduler]\nmax_slots = 1\n[agent]\ncommand = [\"x\"]\nworkdir = \"none\"\n");
    w.given(enqueue(None, &[("1", &[]), ("2", &[]), ("3", &[])]));
    w.tick();
    w.run("issue:1", done("t"));
    let units = |missing| {
        named_in("", missing, &w.state).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(units(false), ["issue:2"], "it has an open dispatch");
    assert_eq!(units(true), ["issue:2", "issue:3"]);
}

#[test]
fn a_repair_that_cannot_trust_the_names_it_reads_holds_back_all_that_is_unfinished() {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("1", &[]), ("2", &[])]));
    let units = |text: &str| {
        named_in(text, false, &w.state).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let line = |event: &str, data: &str| {
        format!("{{\"events\":[{{\"type\":\"{event}\",\"data\":{{{data}}}}}]}}\n")
    };
    let planned = line("dispatch-planned", "\"dispatch\":\"d\",\"unit\":\"issue:1\"");
    assert_eq!(units(&planned), ["issue:1"]);
    let queued = line("issue-enqueued", "\"issue\":\"9\"");
    assert_eq!(units(&format!("{queued}{planned}")), ["issue:1"], "9 is gone with its entry");
    for damaged in ["\0\0\0\n", "x\n", &planned.replace("issue:1", "issue:1p"), "{}\n"] {
        assert_eq!(units(damaged), ["issue:1", "issue:2"], "{damaged:?}");
    }
}

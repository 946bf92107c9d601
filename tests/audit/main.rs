//! The audit against journals that break one promise each. Every rule of
//! `sched::audit::invariants::RULES`, and every clause of it, has one that breaks it and only it.

mod dependencies;
mod dispatches;
mod dissolves;
mod evictions;
mod evidence;
mod good;
mod kills;
mod members;
mod slots;
mod story;
mod times;
mod verdicts;

use sched::audit::invariants::RULES;
use std::collections::BTreeSet;
use story::Story;

/// A journal that breaks one clause of a rule.
pub struct Case {
    /// What it breaks.
    pub clause: &'static str,
    /// The journal.
    pub story: fn() -> Story,
    /// What is found, and nothing else: entries, unit, message.
    pub finds: &'static [(&'static [u64], &'static str, &'static str)],
}

const CASES: &[(u8, &[Case])] = &[
    (1, dispatches::STARTS),
    (2, slots::CASES),
    (3, dispatches::ENDS),
    (4, members::CASES),
    (5, evictions::CASES),
    (6, kills::CASES),
    (11, dissolves::CASES),
    (12, dependencies::CASES),
    (13, times::CASES),
    (13, verdicts::CASES),
    (13, evidence::work::CASES),
    (13, evidence::member::CASES),
    (13, evidence::batch::CASES),
    (13, evidence::journal::CASES),
];

#[test]
fn a_journal_that_breaks_one_promise_has_that_finding_and_no_other() {
    let mut wrong = Vec::new();
    for (rule, case) in CASES.iter().flat_map(|(rule, cases)| cases.iter().map(move |c| (rule, c)))
    {
        let found = (case.story)().findings();
        let expected: Vec<_> = case
            .finds
            .iter()
            .map(|(entries, unit, message)| {
                (*rule, entries.to_vec(), (*unit).to_owned(), (*message).to_owned())
            })
            .collect();
        if found != expected || expected.is_empty() {
            wrong.push(format!("{rule}: {}\n  {expected:?}\n  {found:?}", case.clause));
        }
    }
    assert!(wrong.is_empty(), "expected, found:\n{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_journal_that_breaks_it() {
    let broken: BTreeSet<u8> =
        CASES.iter().filter(|(_, cases)| !cases.is_empty()).map(|(rule, _)| *rule).collect();
    assert_eq!(broken, RULES.iter().map(|(rule, _)| *rule).collect());
}

//! Bytes → a JUnit report. Its counts agree with each other, it fits into an event, it reads the
//! same when it is written anew, and no failure is missed that the reader of another crate, which
//! knows only its own way to write such reports, would have seen.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use sched::domain::event::SuiteReport;
use sched::os::junit::parse;

/// How many failing tests are named at most.
const NAMED: usize = 200;
/// What a report may take of an event.
const ROOM: usize = 32 << 10;

/// Checks everything about these bytes.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read = parse(text);
    assert_eq!(read, parse(text), "another answer the second time");
    match read {
        Ok(report) => {
            consistent(&report);
            rewritten(&report);
            compared(text, &report);
        }
        Err(why) => {
            assert!(!why.is_empty() && why.len() <= 600, "{} bytes", why.len());
            assert!(!why.chars().any(char::is_control), "not one line: {why:?}");
        }
    }
}

fn consistent(report: &SuiteReport) {
    let failed = report.failures.len();
    assert!(report.tests >= 1 && report.unreadable.is_none(), "{report:?}");
    assert!(failed <= NAMED && failed <= report.tests as usize, "{report:?}");
    assert!(serde_json::to_string(report).unwrap().len() <= ROOM, "too large for an event");
    assert!(!report.failures.iter().any(|name| name.chars().any(char::is_control)));
}

/// As another tool would write it.
fn rewritten(report: &SuiteReport) {
    let mut suite = TestSuite::new("s");
    let failed = TestCaseStatus::non_success(NonSuccessKind::Failure);
    suite.add_test_cases(report.failures.iter().map(|name| TestCase::new(name, failed.clone())));
    let passed = (report.tests as usize - report.failures.len()).min(50);
    let case = |n| TestCase::new(format!("{n}"), TestCaseStatus::success());
    suite.add_test_cases((0..passed).map(case));
    let mut whole = Report::new("all");
    whole.add_test_suite(suite);
    let again = parse(&whole.to_string().unwrap()).unwrap();
    assert_eq!(again.tests as usize, report.failures.len() + passed);
    assert!(again.failures.len() <= report.failures.len());
    assert_eq!(again.failures.is_empty(), report.failures.is_empty());
}

fn compared(text: &str, report: &SuiteReport) {
    let Ok(theirs) = Report::deserialize_from_str(text) else { return };
    let cases = || theirs.test_suites.iter().flat_map(|suite| &suite.test_cases);
    let failed = cases().filter(|c| matches!(c.status, TestCaseStatus::NonSuccess { .. })).count();
    assert!(report.tests as usize >= cases().count(), "it missed tests");
    assert!(failed == 0 || !report.failures.is_empty(), "it missed a failure");
}

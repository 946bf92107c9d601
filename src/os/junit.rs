//! A suite's JUnit report.

use crate::domain::event::SuiteReport;
use quick_junit::{Report, TestCaseStatus};
use std::path::Path;

/// How many failing tests are named.
const NAMED: usize = 200;
/// The largest report that is read.
const LARGEST: u64 = 64 << 20;

/// Reads a report; what cannot be read is said, and blames nobody.
pub(super) fn read(path: &Path) -> SuiteReport {
    let unreadable = |why: String| SuiteReport {
        tests: 0,
        failures: Vec::new(),
        unreadable: Some(format!("`{}`: {why}", path.display())),
    };
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() > LARGEST => return unreadable("it is too large".into()),
        Ok(_) => {}
        Err(error) => return unreadable(error.to_string()),
    }
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text).unwrap_or_else(unreadable),
        Err(error) => unreadable(error.to_string()),
    }
}

/// What a report's text says.
pub(super) fn parse(text: &str) -> Result<SuiteReport, String> {
    let report = Report::deserialize_from_str(text).map_err(|error| error.to_string())?;
    let mut tests = 0;
    let mut failures = Vec::new();
    for suite in &report.test_suites {
        for case in &suite.test_cases {
            tests += 1;
            if matches!(case.status, TestCaseStatus::NonSuccess { .. }) {
                failures.push(format!("{}::{}", suite.name.as_str(), case.name.as_str()));
            }
        }
    }
    if tests == 0 {
        return Err("it names no test".into());
    }
    failures.truncate(NAMED);
    Ok(SuiteReport { tests, failures, unreadable: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_tests_are_named_and_an_empty_report_is_unreadable() {
        let text = r#"<testsuites name="x" tests="2" failures="1"><testsuite name="s" tests="2"
            failures="1"><testcase name="good" classname="c" time="0.1"/>
            <testcase name="bad" classname="c" time="0.1"><failure message="no"/></testcase>
            </testsuite></testsuites>"#;
        let report = parse(text).unwrap();
        assert_eq!((report.tests, report.failures), (2, vec!["s::bad".to_owned()]));
        assert!(parse("<testsuites name=\"x\"></testsuites>").is_err());
        assert!(parse("not xml").is_err());
    }
}

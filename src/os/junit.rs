//! A suite's JUnit report, by whatever tool it was written: there is no schema that all follow.
//!
//! Every `testcase` counts, however deep its suite lies; it has failed when a `failure` or an
//! `error` is right inside of it. What is cut off, is more than one document, or says that tests
//! failed and names none, is unreadable: nobody is blamed, and nothing passes by it.

use crate::domain::event::SuiteReport;
#[cfg(test)]
use crate::journal::line::LARGEST_EVENT;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::path::Path;

/// How many failing tests are named.
const NAMED: usize = 200;
/// How many bytes all names may have, as JSON: they are a part of one event.
const NAMES: usize = 24 << 10;
/// How many bytes one name may have.
const NAME: usize = 300;
/// How long the reason may be why a report cannot be read.
const REASON: usize = 500;
/// The largest report that is read.
const LARGEST: u64 = 64 << 20;
/// How deep elements may lie in each other.
const DEEPEST: usize = 1000;

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
///
/// # Errors
/// Why it cannot be read, in one short line.
pub fn parse(text: &str) -> Result<SuiteReport, String> {
    let mut reader = Reader::from_str(text);
    let mut found = Found::default();
    loop {
        match reader.read_event().map_err(|error| plain(&error.to_string(), REASON))? {
            Event::Start(element) => found.open(&element)?,
            Event::Empty(element) => {
                found.open(&element)?;
                found.close();
            }
            Event::End(_) => found.close(),
            Event::Eof => return found.report(),
            _ => {}
        }
    }
}

/// An element that is open.
enum Open {
    Suite(String),
    Case { name: String, failed: bool },
    Other,
}

/// What was found so far.
#[derive(Default)]
struct Found {
    open: Vec<Open>,
    ended: bool,
    tests: u32,
    failed: bool,
    failures: Vec<String>,
    /// Bytes of their names.
    named: usize,
    /// Failures by the totals of the document.
    said: u64,
}

impl Found {
    fn open(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        if self.ended {
            return Err("something follows its end".into());
        }
        if self.open.len() >= DEEPEST {
            return Err(format!("its elements lie more than {DEEPEST} deep in each other"));
        }
        let name = element.name();
        let name = name.local_name();
        let opened = match (name.as_ref(), self.open.last_mut()) {
            (b"testsuites" | b"testsuite", None | Some(Open::Suite(_))) => {
                if self.open.is_empty() {
                    let total = |name| attribute(element, name).map(|n| n.parse().unwrap_or(0));
                    self.said = total("failures")?.max(total("errors")?);
                }
                Open::Suite(attribute(element, "name")?)
            }
            (_, None) => return Err("it is no JUnit report".into()),
            (b"testcase", Some(Open::Suite(_))) => {
                Open::Case { name: attribute(element, "name")?, failed: false }
            }
            (b"failure" | b"error", Some(Open::Case { failed, .. })) => {
                *failed = true;
                Open::Other
            }
            _ => Open::Other,
        };
        self.open.push(opened);
        Ok(())
    }

    fn close(&mut self) {
        if let Some(Open::Case { name, failed }) = self.open.pop() {
            self.tests = self.tests.saturating_add(1);
            self.failed |= failed;
            if failed {
                self.name(&name);
            }
        }
        self.ended = self.open.is_empty();
    }

    fn name(&mut self, case: &str) {
        let name = match self.open.last() {
            Some(Open::Suite(suite)) if !suite.is_empty() => {
                plain(&format!("{suite}::{case}"), NAME)
            }
            _ => plain(case, NAME),
        };
        let bytes = serde_json::to_string(&name).map_or(NAME, |json| json.len() + 1);
        if self.failures.len() < NAMED && self.named + bytes <= NAMES {
            self.named += bytes;
            self.failures.push(name);
        }
    }

    fn report(self) -> Result<SuiteReport, String> {
        if !self.ended {
            return Err("it ends before its last element does".into());
        }
        if self.tests == 0 {
            return Err("it names no test".into());
        }
        if self.said > 0 && !self.failed {
            return Err(format!("it says that {} failed, and names none", self.said));
        }
        Ok(SuiteReport { tests: self.tests, failures: self.failures, unreadable: None })
    }
}

/// An attribute's text; empty where there is none.
fn attribute(element: &BytesStart<'_>, name: &str) -> Result<String, String> {
    let short = |error: &dyn std::fmt::Display| plain(&error.to_string(), REASON);
    match element.try_get_attribute(name).map_err(|error| short(&error))? {
        None => Ok(String::new()),
        Some(attribute) => {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            value.map(std::borrow::Cow::into_owned).map_err(|error| short(&error))
        }
    }
}

/// Text from outside as one short line.
fn plain(text: &str, longest: usize) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    text[..text.floor_char_boundary(longest)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> (u32, Vec<String>) {
        let report = parse(text).unwrap();
        (report.tests, report.failures)
    }

    #[test]
    fn failing_tests_are_named_and_an_empty_report_is_unreadable() {
        let text = r#"<testsuites name="x" tests="2" failures="1"><testsuite name="s" tests="2"
            failures="1"><testcase name="good" classname="c" time="0.1"/>
            <testcase name="bad" classname="c" time="0.1"><failure message="no"/></testcase>
            </testsuite></testsuites>"#;
        assert_eq!(counted(text), (2, vec!["s::bad".to_owned()]));
        assert!(parse("<testsuites name=\"x\"></testsuites>").is_err());
        assert!(parse("not xml").is_err());
    }

    #[test]
    fn a_test_that_fails_is_seen_however_deep_its_suite_lies() {
        let deep = r#"<testsuites><testsuite name="a"><testcase name="good"/>
            <testsuite name="b"><testcase name="bad"><error>no</error></testcase></testsuite>
            </testsuite></testsuites>"#;
        assert_eq!(counted(deep), (2, vec!["b::bad".to_owned()]));
        let one = r#"<?xml version="1.0"?><testsuite name="a&amp;b"><testcase name="bad">
            <system-out>x</system-out><failure><![CDATA[</testcase>]]></failure></testcase>
            <testcase name="skipped"><skipped/></testcase></testsuite>"#;
        assert_eq!(counted(one), (2, vec!["a&b::bad".to_owned()]));
    }

    #[test]
    fn a_test_that_passed_when_it_was_run_again_has_not_failed() {
        let text = r#"<testsuites><testsuite name="s"><testcase name="flaky">
            <flakyFailure><failure/></flakyFailure></testcase></testsuite></testsuites>"#;
        assert_eq!(counted(text), (1, Vec::new()));
    }

    #[test]
    fn what_is_more_than_one_report_or_less_is_unreadable() {
        let one = r#"<testsuites><testsuite name="s"><testcase name="t"/></testsuite>"#;
        assert!(parse(one).is_err(), "cut off");
        let one = format!("{one}</testsuites>");
        assert!(parse(&one).is_ok());
        assert!(parse(&format!("{one}{one}")).is_err(), "two reports");
        let torn = r#"<testsuites failures="1"><testsuite name="s"><testcase name="t"/>
            </testsuite></testsuites>"#;
        assert_eq!(parse(torn).unwrap_err(), "it says that 1 failed, and names none");
    }

    #[test]
    fn whatever_a_report_names_fits_into_an_event() {
        let case = |n| {
            let name = "\u{1F980}\u{1}".repeat(2000);
            format!("<testcase name=\"{n}{name}\"><failure/></testcase>")
        };
        let cases: String = (0..300).map(case).collect();
        let report = parse(&format!("<testsuite name=\"s\">{cases}</testsuite>")).unwrap();
        assert_eq!(report.tests, 300);
        assert!((50..=NAMED).contains(&report.failures.len()), "{}", report.failures.len());
        assert!(serde_json::to_string(&report).unwrap().len() < LARGEST_EVENT / 2);
        let why = parse(&format!("<testsuite><{}", "x".repeat(90_000))).unwrap_err();
        assert!(!why.is_empty() && why.len() < 2000, "{} bytes", why.len());
    }
}

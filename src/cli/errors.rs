//! The one place that words errors: what happened, to which thing, why, and what to do.

use super::args::Global;
use crate::domain::refusal::{Refusal, RefusalKind};
use crate::engine::EngineError;
use crate::journal::{Category, JournalError};
use std::io::Write;
use std::panic::PanicHookInfo;

/// An error for a person.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    /// The exit code.
    pub code: u8,
    /// One sentence, lower case.
    pub message: String,
    /// More lines.
    pub details: Vec<String>,
    /// What to do, ending in a command where there is one.
    pub remedy: Option<String>,
}

impl CliError {
    /// An error with an exit code.
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Vec::new(), remedy: None }
    }

    /// Something failed: exit code 1.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(1, message)
    }

    /// Usage or configuration: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(2, message)
    }

    /// No such thing: exit code 4.
    pub fn no_such(message: impl Into<String>) -> Self {
        Self::new(4, message)
    }

    /// Adds a line.
    #[must_use]
    pub fn detail(mut self, line: impl Into<String>) -> Self {
        self.details.push(line.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn remedy(mut self, line: impl Into<String>) -> Self {
        self.remedy = Some(line.into());
        self
    }
}

impl CliError {
    /// What is wrong with a journal that was given as a file. A repair would be made in a state
    /// directory, which may be another one: it is not proposed.
    pub fn of_file(error: JournalError) -> Self {
        let damaged = error.category() == Category::Damaged;
        let said = Self::from(error);
        match damaged {
            true => said.remedy("a file is only read; a repair is made in its state directory"),
            false => said,
        }
    }
}

impl From<Refusal> for CliError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.kind {
            RefusalKind::Failed => 1,
            RefusalKind::Usage => 2,
            RefusalKind::Refused => 3,
            RefusalKind::NoSuch => 4,
            RefusalKind::Place => 5,
        };
        let Refusal { message, details, remedy, .. } = refusal;
        Self { code, message, details, remedy }
    }
}

impl From<JournalError> for CliError {
    fn from(error: JournalError) -> Self {
        let code = match error.category() {
            Category::Failed => 1,
            Category::NoSuch => 4,
            Category::Damaged => 5,
            Category::Locked => 6,
            Category::TooOld => 7,
        };
        let remedy = error.hint();
        Self { code, message: error.to_string(), details: Vec::new(), remedy }
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Journal(error) => error.into(),
            EngineError::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error.to_string())
    }
}

/// Says an error and returns its exit code.
pub(super) fn say(error: &CliError, global: &Global) -> u8 {
    if error.message.is_empty() {
        return error.code;
    }
    let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
    super::output::error_line(&format!("{style}error{style:#}: {}", error.message), global);
    for line in error.details.iter().chain(&error.remedy) {
        super::output::error_line(&format!("  {line}"), global);
    }
    error.code
}

/// Runs the program to its exit code; a panic, which [`say_panic`] has worded, is code 1.
pub(super) fn guarded(run: impl FnOnce() -> u8) -> u8 {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or(1)
}

/// A panic is a defect of this program; it is said as one.
pub(super) fn say_panic(info: &PanicHookInfo<'_>) {
    let text = info.payload_as_str().unwrap_or("unknown");
    if text.contains("failed printing") {
        std::process::exit(141); // the reader of our output has gone
    }
    let place = info.location().map(ToString::to_string);
    let _ = std::io::stderr().write_all(worded(text, place.as_deref()).as_bytes());
}

/// A broken invariant as a person reads it.
fn worded(text: &str, place: Option<&str>) -> String {
    let text = text.strip_prefix("BUG: ").unwrap_or(text);
    let place = place.map_or_else(String::new, |place| format!(" ({place})"));
    format!(
        "error: BUG: {text}{place}\n  this is a defect of sched {}; what stands in the journal is \
         safe, and the next command goes on from there\n  please report it with these lines\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_with_exit_code_1() {
        assert_eq!(guarded(|| panic!("BUG: a test of what a broken invariant becomes")), 1);
        assert_eq!(guarded(|| 3), 3);
    }

    #[test]
    fn a_broken_invariant_is_worded_once() {
        for text in ["BUG: slot 1 is held twice", "slot 1 is held twice"] {
            let said = worded(text, Some("src/x.rs:7:9"));
            assert!(said.starts_with("error: BUG: slot 1 is held twice (src/x.rs:7:9)\n  "));
            assert_eq!(said.lines().count(), 3);
        }
    }
}

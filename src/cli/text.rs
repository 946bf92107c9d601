//! Texts on the command line: bounded, since each becomes part of one event.

use crate::domain::command::LONGEST_TEXT;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use std::ffi::OsStr;

/// A text of at most [`LONGEST_TEXT`] characters. What is longer is refused without repeating it.
#[derive(Debug, Clone, Copy)]
pub struct Text;

impl TypedValueParser for Text {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let name = argument.and_then(clap::Arg::get_long).unwrap_or("text");
        let refuse = |why: String| {
            clap::Error::raw(ErrorKind::ValueValidation, format!("`--{name}` {why}\n"))
                .with_cmd(command)
        };
        let Some(text) = value.to_str() else {
            return Err(refuse("is no UTF-8".into()));
        };
        match text.chars().count() {
            length if length > LONGEST_TEXT => {
                Err(refuse(format!("has {length} characters: at most {LONGEST_TEXT} are allowed")))
            }
            _ => Ok(text.to_owned()),
        }
    }
}

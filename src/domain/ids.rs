//! Identifiers as newtypes: an issue is never mistaken for a batch.
//!
//! Ids of issues and batches become branch names, so their grammar is checked where text
//! enters the program ([`IssueId::parse`], [`BatchId::parse`]); text that already stands in a
//! journal is taken as it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use uuid::Uuid;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}: {expected}")]
pub struct InvalidId {
    /// The text that was given.
    pub text: String,
    /// What it should have been, with its article.
    pub what: &'static str,
    /// The grammar, in words.
    pub expected: &'static str,
}

const NAME_GRAMMAR: &str = "expected 1 to 64 of A-Z a-z 0-9 . _ - starting with a letter or \
     digit, without `..` and not ending in `.lock`";

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && text.len() <= 64
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && !text.contains("..")
        && !text.ends_with('.')
        && !text.ends_with(".lock")
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

text_id!(
    /// An issue: one piece of work.
    IssueId
);
text_id!(
    /// A batch. The implicit batch of a stand-alone issue is `<issue>@<k>`, which no user can type.
    BatchId
);
text_id!(
    /// A gate, as named in the configuration.
    GateId
);
text_id!(
    /// A git commit: 40 or 64 lower-case hex digits.
    CommitId
);
text_id!(
    /// The boot id of a machine (`/proc/sys/kernel/random/boot_id`).
    BootId
);

impl IssueId {
    /// Checks a text that comes from outside.
    ///
    /// # Errors
    /// [`InvalidId`] when the text breaks the grammar of ids.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        checked(text, "an issue id").map(Self)
    }
}

impl BatchId {
    /// Checks a text that comes from outside.
    ///
    /// # Errors
    /// [`InvalidId`] when the text breaks the grammar of ids.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        checked(text, "a batch id").map(Self)
    }

    /// The implicit batch of the `run`-th run of a stand-alone issue.
    pub fn implicit(issue: &IssueId, run: u32) -> Self {
        Self(format!("{issue}@{run}"))
    }
}

impl CommitId {
    /// The first 12 digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

fn checked(text: &str, what: &'static str) -> Result<String, InvalidId> {
    if is_name(text) {
        Ok(text.to_owned())
    } else {
        Err(InvalidId { text: text.to_owned(), what, expected: NAME_GRAMMAR })
    }
}

/// A slot: one of `max_slots` permits, numbered from 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct SlotId(pub u16);

impl fmt::Display for SlotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A journal's own id.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct JournalId(#[schemars(with = "String")] pub Uuid);

/// One attempt to run one command for one unit in one role; the fence for all it does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct DispatchId(#[schemars(with = "String")] pub Uuid);

macro_rules! uuid_id {
    ($name:ident, $what:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0.hyphenated().to_string())
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Uuid::parse_str(text).map(Self).map_err(|_| InvalidId {
                    text: text.to_owned(),
                    what: $what,
                    expected: "expected a UUID",
                })
            }
        }
    };
}

uuid_id!(JournalId, "a journal id");
uuid_id!(DispatchId, "a dispatch id");

/// A unit of work: what holds slots, has dispatches and reaches an outcome.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// A stand-alone issue: `issue:101`.
    Issue(IssueId),
    /// A whole batch: `batch:b1`.
    Batch(BatchId),
    /// An issue inside a batch: `batch:b1/103`.
    Member(BatchId, IssueId),
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Issue(issue) => f.pad(&format!("issue:{issue}")),
            Unit::Batch(batch) => f.pad(&format!("batch:{batch}")),
            Unit::Member(batch, issue) => f.pad(&format!("batch:{batch}/{issue}")),
        }
    }
}

impl FromStr for Unit {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let unit = match text.split_once(':') {
            Some(("issue", issue)) if !issue.is_empty() => Unit::Issue(issue.into()),
            Some(("batch", rest)) if !rest.is_empty() => match rest.split_once('/') {
                Some((batch, issue)) if !batch.is_empty() && !issue.is_empty() => {
                    Unit::Member(batch.into(), issue.into())
                }
                None => Unit::Batch(rest.into()),
                Some(_) => return Err(not_a_unit(text)),
            },
            _ => return Err(not_a_unit(text)),
        };
        Ok(unit)
    }
}

fn not_a_unit(text: &str) -> InvalidId {
    InvalidId {
        text: text.to_owned(),
        what: "a unit",
        expected: "expected `issue:101`, `batch:b1` or `batch:b1/103`",
    }
}

/// Reads what is written as a text, without a copy of the text.
pub(super) fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    struct Text<T>(PhantomData<T>);

    impl<T: FromStr<Err: fmt::Display>> serde::de::Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Text(PhantomData))
}

impl Serialize for Unit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl JsonSchema for Unit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Unit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^(issue:[^/]+|batch:[^/]+(/[^/]+)?)$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_cannot_be_branch_names_are_refused() {
        for good in ["101", "a", "b1", "fix-it", "A.b_c-9", &"x".repeat(64)] {
            assert!(IssueId::parse(good).is_ok(), "{good}");
        }
        for bad in
            ["", "-a", ".a", "a..b", "a.lock", "a.", "a/b", "a b", "ä", "a@1", &"x".repeat(65)]
        {
            assert!(BatchId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_unit_reads_back_as_it_was_written() {
        for text in ["issue:101", "batch:b1", "batch:b1/103"] {
            assert_eq!(text.parse::<Unit>().unwrap().to_string(), text);
        }
        for text in ["", "issue:", "batch:/1", "batch:b1/", "101", "slot:1"] {
            assert!(text.parse::<Unit>().is_err(), "{text}");
        }
    }
}

//! What can be wrong with a configuration. Never holds a value of `env`.

/// Why a `sched.toml` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is too long to be journaled as one entry.
    #[error("the configuration is {found} bytes long: expected at most {expected}")]
    TooLong {
        /// The bound in bytes.
        expected: usize,
        /// Its length in bytes.
        found: usize,
    },
    /// The text is not TOML.
    #[error("line {line}: not TOML: {message}")]
    Syntax {
        /// Where, from 1.
        line: usize,
        /// What the TOML parser says, without a piece of the source.
        message: String,
    },
    /// A key that means nothing here.
    #[error("line {line}: unknown key `{key}`: {}", instead(.nearest, .known))]
    UnknownKey {
        /// Where, from 1.
        line: usize,
        /// Its path.
        key: String,
        /// The known key that is most like it.
        nearest: Option<String>,
        /// All keys that are known in that place.
        known: Vec<String>,
    },
    /// Something the design has and this version cannot do.
    #[error("line {line}: `{what}` is not available in this version")]
    Unavailable {
        /// Where, from 1.
        line: usize,
        /// The key's path, with its value where another value would do.
        what: String,
    },
    /// A value of the wrong kind, or out of its range.
    #[error("line {line}: `{key}`: expected {expected}, found {found}")]
    Wrong {
        /// Where, from 1.
        line: usize,
        /// The key's path.
        key: String,
        /// What would be right.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A key that must be there and is not.
    #[error("line {line}: `{key}` is missing: expected {expected}")]
    Missing {
        /// Where its table begins, from 1.
        line: usize,
        /// Its path.
        key: String,
        /// What would be right.
        expected: String,
    },
    /// A literal that would put a secret into the journal.
    #[error("line {line}: `{key}` looks like a secret: put its name in `inherit`")]
    Secret {
        /// Where, from 1.
        line: usize,
        /// Its path; never its value.
        key: String,
    },
}

fn instead(nearest: &Option<String>, known: &[String]) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("expected one of `{}`", known.join("`, `")),
    }
}

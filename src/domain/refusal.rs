//! Why a command or a fact is not accepted. Nothing is committed then.

/// What kind of refusal it is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// It failed: exit code 1.
    Failed,
    /// The request itself is wrong: exit code 2.
    Usage,
    /// Superseded, fenced, stopping, or it makes no sense now: exit code 3.
    Refused,
    /// There is no such thing: exit code 4.
    NoSuch,
    /// Not in this place: exit code 5.
    Place,
}

/// What happened, why, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// One sentence, lower case, naming the thing.
    pub message: String,
    /// More lines.
    pub details: Vec<String>,
    /// What to do, ending in a command where there is one.
    pub remedy: Option<String>,
}

impl Refusal {
    fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: Vec::new(), remedy: None }
    }

    /// The request itself is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(RefusalKind::Usage, message)
    }

    /// Superseded, fenced, stopping, or it makes no sense now.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(RefusalKind::Refused, message)
    }

    /// There is no such thing.
    pub fn no_such(message: impl Into<String>) -> Self {
        Self::new(RefusalKind::NoSuch, message)
    }

    /// The journal belongs to another place.
    pub fn place(message: impl Into<String>) -> Self {
        Self::new(RefusalKind::Place, message)
    }

    /// Adds a line of detail.
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

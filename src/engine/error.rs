//! What can go wrong between the domain and the world.

use crate::domain::refusal::Refusal;
use crate::journal::JournalError;

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The rules.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

//! BYTES: one locked, append-only, hash-chained file. Knows nothing about scheduling.
//!
//! Read in this order: [`mod@line`] (one entry's bytes), [`scan`] (reading, and what damage is),
//! [`head`] (what has been acknowledged), [`Journal`] and [`Locked`] (reading and committing).
//! Rotation into segments, seals and proofs are not here yet: there is one active file.

mod append;
pub mod disk;
mod error;
mod files;
pub mod head;
pub mod line;
mod lock;
mod open;
pub mod place;
mod repair;
pub mod scan;
pub mod upcast;

pub use append::{Committed, Locked};
pub use error::{Category, JournalError};
pub use files::{Access, Directory, Files, Held};
pub use lock::FileLock;
pub use open::{Journal, Position, open_if_there};
pub use repair::Repair;

/// The active file's name.
pub const ACTIVE: &str = "journal.jsonl";
/// The file that remembers what has been acknowledged.
pub const HEAD: &str = "head";
/// The journal's lock.
pub const LOCK: &str = "lock";
/// The tick's lock.
pub const TICK_LOCK: &str = "tick.lock";
/// The lock for making and removing trees.
pub const WORKTREE_LOCK: &str = "worktree.lock";
/// Where cut bytes go.
pub const QUARANTINE: &str = "quarantine";

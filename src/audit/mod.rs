//! Reads the past. [`verify`]: is every byte as it was written? [`invariants`]: did the scheduler
//! keep its promises? Shares no logic with `apply` and `rules`.

pub mod invariants;
pub mod read;
pub mod schema;
pub mod verify;

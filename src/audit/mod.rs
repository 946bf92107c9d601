//! Reads the past: is every byte as it was written? Shares no logic with `apply` and `rules`.

pub mod schema;
pub mod verify;

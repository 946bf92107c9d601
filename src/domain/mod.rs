//! The pure part: no clock, no I/O, no randomness.
pub mod event;
pub mod ids;
pub mod time;

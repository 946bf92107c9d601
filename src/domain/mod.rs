//! The pure part: no clock, no I/O, no randomness, no hash-ordered collections.
//!
//! Read in this order: [`event`] (what can happen), [`state`] (what it amounts to), [`apply()`]
//! (event → state), [`rules`] (state and input → events), [`owed()`] (state → effects).

pub mod apply;
pub mod command;
pub mod config;
pub mod effect;
pub mod event;
pub mod fact;
pub mod ids;
pub mod owed;
pub mod refusal;
pub mod rules;
pub mod state;
pub mod time;

pub use apply::{apply, fold};
pub use owed::{owed, rests, wants};
pub use rules::decide;

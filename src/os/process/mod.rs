//! Processes: who they are, whether they live, signals to them, and what they leave behind.
//!
//! A pid alone is nobody: numbers are used again. Everything here answers for one recorded
//! [`Process`](crate::domain::event::Process) and never touches anybody else. Reading order:
//! [`stat`] (what `/proc` says), [`identity`] (who), [`pinned`] (held so that it cannot become
//! somebody else), [`liveness`] (whether it still is the one), [`leftovers`] (what it left),
//! [`signal`] (TERM and KILL), [`start`] (a supervisor of its own).

pub(super) mod identity;
pub(super) mod leftovers;
mod liveness;
pub(super) mod pinned;
mod signal;
mod start;
pub(super) mod stat;
#[cfg(test)]
mod tests;

pub use identity::{own_process, start_time};
pub use start::{SystemProcesses, installed_program, reap_supervisors};

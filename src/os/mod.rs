//! The real world behind [`crate::engine::ports`]. Decides nothing, and never reads or writes
//! the journal.

pub mod child;
mod clock;
pub mod git;
mod identity;
mod job;
mod junit;
mod processes;
mod runs;

pub use clock::SystemClock;
pub use identity::{own_process, start_time};
pub use job::SystemJob;
pub use processes::{SystemProcesses, installed_program};
pub use runs::SystemRuns;

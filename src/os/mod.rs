//! The real world behind [`crate::engine::ports`]. Decides nothing, and never reads or writes
//! the journal.

pub mod child;
mod clock;
pub mod git;
mod job;
pub mod junit;
mod process;
mod runs;

pub use clock::SystemClock;
pub use job::SystemJob;
pub use process::{SystemProcesses, installed_program, own_process, reap_supervisors, start_time};
pub use runs::SystemRuns;

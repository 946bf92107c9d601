//! The shell around the domain: look, decide, commit, pay. Names no concrete operating system
//! type ([`ports`]), prints nothing, and holds no rule about scheduling.
//!
//! Read [`session`] (a journal and its state), [`tick`], then [`supervise`].

mod briefing;
mod error;
pub mod home;
mod look;
mod past;
mod pay;
pub mod ports;
mod reclaim;
pub mod session;
pub mod supervise;
pub mod tick;

pub use briefing::{Surroundings, job_plan};
pub use error::EngineError;
pub use home::Home;
pub use look::can_execute;
pub use past::{Past, past};
pub use reclaim::reclaim;
pub use session::Session;

//! The shell around the domain: look, decide, commit, pay. Names no concrete operating system
//! type ([`ports`]), prints nothing, and holds no rule about scheduling.

pub mod ports;

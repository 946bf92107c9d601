//! `sched`: a batch scheduler that keeps no state of its own, only a journal.
pub mod audit;
pub mod cli;
pub mod crash;
pub mod domain;
pub mod engine;
pub mod import;
pub mod journal;
pub mod os;
pub mod projection;

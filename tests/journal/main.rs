//! The journal's bytes: what a writer leaves, what a crash leaves, what damage is.

mod checkpoints;
mod damage;
mod faults;
mod files;
mod fixtures;
mod support;
mod tails;
mod writers;

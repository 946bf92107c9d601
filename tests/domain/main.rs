//! The rules of the domain: given facts and commands, the line that follows.
#![allow(missing_docs)]

mod adopt;
mod batch_lines;
mod dissolve;
mod gates;
mod leaving;
mod lost;
mod pause;
mod properties;
mod queue;
mod recover;
mod ship;
mod slots;
mod status_edges;
mod stop;
mod unreadable;
mod verdicts;
mod world;

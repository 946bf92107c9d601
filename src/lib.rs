//! `sched`: a batch scheduler that keeps no state of its own, only a journal.
//!
//! ```text
//! journal ──fold──▶ state ──owed──▶ effects
//!    ▲                │                │
//!    └──one append◀─rules◀───facts─────┘
//! ```
//!
//! Three laws hold everywhere:
//!
//! 1. Nothing is state unless a line of the journal says so. Caches and evidence can be deleted.
//! 2. A transition and its consequences are one line: there is no moment between to crash in.
//! 3. Recovery is replay: a command after a crash folds the journal and pays what is owed, exactly
//!    as it would have without the crash.
//!
//! Read on in this order: [`domain`] (what can happen and what follows from it, pure), [`journal`]
//! (how it is written and what damage means), [`engine`] (the tick: look, decide, commit, pay),
//! [`os`] (the world behind the engine's ports), [`cli`] (the commands). [`projection`] is a cache,
//! [`audit`] reads the past without the rules, [`crash`] kills the program for tests.

pub mod audit;
pub mod cli;
pub mod crash;
pub mod domain;
pub mod engine;
pub mod import;
pub mod journal;
pub mod os;
pub mod projection;

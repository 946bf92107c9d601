//! `[scheduler]`: bounds and places that hold for all units.

use super::LATER;
use super::error::ConfigError;
use super::table::Table;
use super::value::Value;
use crate::domain::event::{Landing, Mode};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const KEYS: &[&str] = &[
    "max_slots",
    "max_tasks",
    "base_branch",
    "worktree_root",
    "kill_escalation",
    "spawn_grace",
    "tick_gap",
    "min_free",
    "output_limit",
    "member_parallelism",
    "landing",
    "mode",
    "push",
];

/// `[scheduler]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Scheduler {
    pub(super) max_slots: u16,
    pub(super) max_tasks: u16,
    pub(super) base_branch: String,
    pub(super) worktree_root: String,
    pub(super) kill_escalation: Duration,
    pub(super) spawn_grace: Duration,
    pub(super) tick_gap: Duration,
    pub(super) min_free: u64,
    pub(super) output_limit: u64,
    pub(super) landing: Landing,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            max_slots: 3,
            max_tasks: 2,
            base_branch: "main".to_owned(),
            worktree_root: "../{repo}.worktrees".to_owned(),
            kill_escalation: Duration::from_secs(120),
            spawn_grace: Duration::from_secs(30),
            tick_gap: Duration::from_secs(5 * 60),
            min_free: 256 << 20,
            output_limit: 1 << 30,
            landing: Landing::Squash,
        }
    }
}

/// Reads `[scheduler]`.
pub(super) fn read(file: &Table<'_>) -> Result<Scheduler, ConfigError> {
    let mut read = Scheduler::default();
    let Some(table) = file.table("scheduler")? else { return Ok(read) };
    table.check(KEYS, LATER)?;
    table.set(&mut read.max_slots, "max_slots", |v| v.number(1..=256))?;
    table.set(&mut read.max_tasks, "max_tasks", |v| v.number(1..=256))?;
    table.set(&mut read.base_branch, "base_branch", branch)?;
    table.set(&mut read.worktree_root, "worktree_root", root)?;
    table.set(&mut read.kill_escalation, "kill_escalation", Value::duration)?;
    table.set(&mut read.spawn_grace, "spawn_grace", Value::duration)?;
    table.set(&mut read.tick_gap, "tick_gap", Value::duration)?;
    table.set(&mut read.min_free, "min_free", Value::size)?;
    table.set(&mut read.output_limit, "output_limit", Value::size)?;
    table.set(&mut read.landing, "landing", |v| {
        v.one_of(&[
            ("squash", Landing::Squash),
            ("rebase", Landing::Rebase),
            ("merge", Landing::Merge),
        ])
    })?;
    only_serial(&table)?;
    Ok(read)
}

/// Refuses what needs another version. `member_parallelism` bounds parallel batches alone: it is
/// checked, and means nothing as long as batches are serial.
fn only_serial(table: &Table<'_>) -> Result<(), ConfigError> {
    table.set(&mut 1_u16, "member_parallelism", |v| v.number(1..=256))?;
    table.set(&mut Mode::Serial, "mode", |v| {
        match v.one_of(&[("serial", Mode::Serial), ("parallel", Mode::Parallel)])? {
            Mode::Parallel if !v.source.lenient => Err(v.unavailable("\"parallel\"")),
            mode => Ok(mode),
        }
    })?;
    table.set(&mut false, "push", |v| match v.boolean()? {
        true if !v.source.lenient => Err(v.unavailable("true")),
        push => Ok(push),
    })
}

/// A branch's name as git takes it (`git check-ref-format`), without `refs/heads/`.
fn branch(value: &Value<'_>) -> Result<String, ConfigError> {
    let expected = "a branch's name, like \"main\"";
    let name = value.text(expected)?;
    let banned = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let good = name.split('/').all(part)
        && !name.contains(banned)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.starts_with('-')
        && !name.starts_with("refs/")
        && !name.ends_with('.')
        && name != "HEAD"
        && name != "@";
    if good { Ok(name.to_owned()) } else { Err(value.wrong(expected)) }
}

fn root(value: &Value<'_>) -> Result<String, ConfigError> {
    let expected = "a directory, like \"../{repo}.worktrees\"";
    let text = value.text(expected)?;
    if text.trim().is_empty() || text.starts_with('~') || value.has_nul() {
        return Err(value.wrong(expected));
    }
    Ok(text.to_owned())
}

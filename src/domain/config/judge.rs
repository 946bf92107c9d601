//! What a batch is judged by: gates, suite, dissolve, shipping, procedures.

use super::error::ConfigError;
use super::table::Table;
use super::value::Value;
use super::{LATER, is_name};
use crate::domain::event::{GateSpec, ReportSpec, ShipMode, Strategy, SuiteSpec};
use crate::domain::ids::GateId;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const GATE_TIMEOUT: Duration = Duration::from_secs(10 * 60);
const SUITE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const GATE_ID: &str = "1 to 64 of A-Z a-z 0-9 . _ - starting with a letter or digit";

/// `[dissolve]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Dissolve {
    /// Share of the members that may be evicted.
    #[serde(with = "exact")]
    pub(super) fraction: f64,
    /// How many evictions are always tolerated.
    pub(super) min_evictions: u32,
    /// What happens with the rest.
    pub(super) strategy: Strategy,
}

impl Default for Dissolve {
    fn default() -> Self {
        Self { fraction: 1.0 / 3.0, min_evictions: 1, strategy: Strategy::Full }
    }
}

/// Reads all `[[gate]]`, in order.
pub(super) fn gates(file: &Table<'_>) -> Result<Vec<GateSpec>, ConfigError> {
    let mut gates: Vec<GateSpec> = Vec::new();
    let Some(value) = file.get("gate") else { return Ok(gates) };
    for value in value.list("a list of tables, each written `[[gate]]`")? {
        let table = value.table()?;
        let gate = gate(&table)?;
        if gates.iter().any(|other| other.id == gate.id) {
            return Err(table.need("id", GATE_ID)?.wrong("an id that no other gate has"));
        }
        gates.push(gate);
    }
    Ok(gates)
}

fn gate(table: &Table<'_>) -> Result<GateSpec, ConfigError> {
    table.check(&["id", "command", "timeout", "inconclusive_codes", "retries"], LATER)?;
    let id = table.need("id", GATE_ID)?;
    let name = id.text(GATE_ID)?;
    if !is_name(name) {
        return Err(id.wrong(GATE_ID));
    }
    let mut timeout = GATE_TIMEOUT;
    table.set(&mut timeout, "timeout", Value::duration)?;
    let mut gate = GateSpec {
        id: GateId::from(name),
        command: table.need("command", "a program and its arguments")?.command()?,
        timeout_ms: timeout.as_millis() as u64,
        inconclusive_codes: Vec::new(),
        retries: 1,
    };
    table.set(&mut gate.inconclusive_codes, "inconclusive_codes", Value::codes)?;
    table.set(&mut gate.retries, "retries", |v| v.number(0..=10))?;
    Ok(gate)
}

/// Reads `[suite]`.
pub(super) fn suite(file: &Table<'_>) -> Result<Option<SuiteSpec>, ConfigError> {
    let Some(table) = file.table("suite")? else { return Ok(None) };
    table.check(&["command", "timeout", "report"], LATER)?;
    let command = table.need("command", "a program and its arguments")?.command()?;
    let mut timeout = SUITE_TIMEOUT;
    table.set(&mut timeout, "timeout", Value::duration)?;
    let report = table.table("report")?.map_or(Ok(ReportSpec::ExitCode), |table| report(&table))?;
    Ok(Some(SuiteSpec { command, timeout_ms: timeout.as_millis() as u64, report }))
}

fn report(table: &Table<'_>) -> Result<ReportSpec, ConfigError> {
    let format = table.need("format", "one of \"junit\", \"exit-code\"")?;
    if !format.one_of(&[("junit", true), ("exit-code", false)])? {
        table.check(&["format"], &[])?;
        return Ok(ReportSpec::ExitCode);
    }
    table.check(&["format", "path"], &[])?;
    let expected = "a path inside the working tree, like \"target/junit.xml\"";
    let path = table.need("path", expected)?;
    let text = path.text(expected)?;
    let outside = text.starts_with('/') || text.split('/').any(|part| part == "..");
    if text.is_empty() || outside || path.has_nul() {
        return Err(path.wrong(expected));
    }
    Ok(ReportSpec::Junit { path: text.to_owned() })
}

/// Reads `[dissolve]`.
pub(super) fn dissolve(file: &Table<'_>) -> Result<Dissolve, ConfigError> {
    let mut dissolve = Dissolve::default();
    let Some(table) = file.table("dissolve")? else { return Ok(dissolve) };
    table.check(&["fraction", "min_evictions", "strategy"], LATER)?;
    table.set(&mut dissolve.fraction, "fraction", Value::fraction)?;
    table.set(&mut dissolve.min_evictions, "min_evictions", |v| v.number(0..=10_000))?;
    table.set(&mut dissolve.strategy, "strategy", |v| {
        let all = [
            ("full", Strategy::Full),
            ("halved", Strategy::Halved),
            ("partial", Strategy::Partial),
        ];
        match v.one_of(&all)? {
            Strategy::Halved if !v.source.lenient => Err(v.unavailable("\"halved\"")),
            Strategy::Partial if !v.source.lenient => Err(v.unavailable("\"partial\"")),
            strategy => Ok(strategy),
        }
    })?;
    Ok(dissolve)
}

/// Reads `[ship]`.
pub(super) fn ship(file: &Table<'_>) -> Result<ShipMode, ConfigError> {
    let mut mode = ShipMode::Merge;
    let Some(table) = file.table("ship")? else { return Ok(mode) };
    table.set(&mut mode, "mode", |v| {
        let all = [
            ("merge", ShipMode::Merge),
            ("push", ShipMode::Push),
            ("command", ShipMode::Command),
            ("none", ShipMode::None),
        ];
        match v.one_of(&all)? {
            ShipMode::Push if !v.source.lenient => Err(v.unavailable("\"push\"")),
            ShipMode::Command if !v.source.lenient => Err(v.unavailable("\"command\"")),
            mode => Ok(mode),
        }
    })?;
    table.check(&["mode"], &[LATER, &["command", "timeout"]].concat())?;
    Ok(mode)
}

/// Reads `[procedures]`: the phases a member's milestones may be of.
pub(super) fn member_phases(file: &Table<'_>) -> Result<Vec<String>, ConfigError> {
    let mut phases = default_phases();
    let Some(table) = file.table("procedures")? else { return Ok(phases) };
    table.check(&["member"], LATER)?;
    let expected = "a list of phases, like [\"plan\", \"implement\", \"review\"]";
    table.set(&mut phases, "member", |v| {
        let list = v.list(expected)?;
        for phase in &list {
            if !is_name(phase.text("a phase")?) {
                return Err(phase.wrong("a phase: letters, digits, `.`, `_` and `-`"));
            }
        }
        if list.is_empty() { Err(v.wrong(expected)) } else { v.texts(expected) }
    })?;
    Ok(phases)
}

/// The phases of a member where `[procedures]` names none.
pub(super) fn default_phases() -> Vec<String> {
    ["plan", "implement", "review"].map(str::to_owned).to_vec()
}

/// A number as text, since JSON readers may lose its last bit.
mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use std::borrow::Cow;

    pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        <Cow<'de, str>>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

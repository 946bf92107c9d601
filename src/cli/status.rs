//! `sched status`: slots, queue, batches, what is owed, what waits and for what; what needs a
//! person first, each with the command that answers it.

use super::context::{Context, last_tick};
use super::errors::CliError;
use super::output;
use super::prose::short;
use crate::domain::effect::Effect;
use crate::domain::event::{EvictionKind, Role};
use crate::domain::ids::{CommitId, DispatchId, IssueId, SlotId, Unit};
use crate::domain::owed;
use crate::domain::rules::{threshold, waiting_for};
use crate::domain::state::{Batch, BatchStatus, Issue, IssueStatus, State};
use crate::domain::time::{Now, Timestamp};
use serde::Serialize;

/// What `status --json` prints.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: &'static str,
    head: HeadRow,
    paused: bool,
    last_tick: Option<Timestamp>,
    slots: Vec<SlotRow>,
    issues: Vec<IssueRow>,
    batches: Vec<BatchRow>,
    leases: [(); 0],
    builds: [(); 0],
    owed: Vec<OwedRow>,
    waiting: Vec<WaitingRow>,
    attention: Vec<AttentionRow>,
}

#[derive(Debug, Serialize)]
struct HeadRow {
    seq: u64,
    hash: String,
    at: Timestamp,
}

#[derive(Debug, Serialize)]
struct SlotRow {
    id: SlotId,
    unit: Unit,
    role: &'static str,
    dispatch: Option<DispatchId>,
    state: &'static str,
    since: Timestamp,
    pid: Option<u32>,
    phase: Option<String>,
    tier: Option<crate::domain::event::Tier>,
    stop_requested_at: Option<Timestamp>,
    kill_escalated_at: Option<Timestamp>,
}

#[derive(Debug, Serialize)]
struct IssueRow {
    id: IssueId,
    status: IssueStatus,
    batch: Option<String>,
    deps: Vec<IssueId>,
    requested_tier: crate::domain::event::Tier,
    attempts: u32,
    reason: Option<String>,
    branch: Option<String>,
}

#[derive(Debug, Serialize)]
struct EvictionRow {
    member: IssueId,
    kind: EvictionKind,
    reason: String,
    at: Timestamp,
}

#[derive(Debug, Serialize)]
struct IntegrationRow {
    branch: String,
    head: Option<CommitId>,
}

#[derive(Debug, Serialize)]
struct BatchRow {
    id: String,
    status: BatchStatus,
    mode: crate::domain::event::Mode,
    members: Vec<IssueId>,
    current: Option<IssueId>,
    landed: Vec<IssueId>,
    evictions: Vec<EvictionRow>,
    blocked_reason: Option<String>,
    integration: Option<IntegrationRow>,
    threshold: Option<u32>,
}

#[derive(Debug, Serialize)]
struct OwedRow {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatch: Option<DispatchId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<String>,
}

#[derive(Debug, Serialize)]
struct WaitingRow {
    unit: Unit,
    r#for: String,
    since: Timestamp,
}

/// Something that needs a person.
#[derive(Debug, Serialize)]
pub struct AttentionRow {
    /// Which unit; `scheduler` for the whole.
    pub unit: String,
    /// What kind.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The command that answers it.
    pub remedy: String,
}

pub(super) fn run(context: &Context) -> Result<u8, CliError> {
    context.reading()?.show(|reading| {
        let session = &reading.session;
        print(context, &session.state, last_tick(&session.dir()))
    })
}

/// Prints a state, now or as it was.
///
/// # Errors
/// When nobody reads it.
pub fn print(
    context: &Context,
    state: &State,
    last_tick: Option<Timestamp>,
) -> Result<u8, CliError> {
    let document = document(state, last_tick);
    if context.global.json {
        output::json(&document)?;
    } else {
        for text in tables(&document) {
            output::line(&text, &context.global)?;
        }
    }
    Ok(0)
}

/// The present as the journal's head knows it: what is shown is a function of the journal.
fn head_now(state: &State) -> Now {
    let stamp = state.head.stamp.clone();
    Now { wall: stamp.at, up: stamp.up, boot: stamp.boot }
}

/// The document of a state.
pub fn document(state: &State, last_tick: Option<Timestamp>) -> Document {
    let head = &state.head;
    Document {
        schema: "sched.status/v1",
        head: HeadRow { seq: head.seq, hash: head.hash.clone(), at: head.stamp.at },
        paused: state.health.pause.is_some(),
        last_tick,
        slots: state.slots.iter().map(|(id, held)| slot(state, *id, &held.unit)).collect(),
        issues: state.issues.values().map(|issue| issue_row(state, issue)).collect(),
        batches: batches(state).map(batch_row).collect(),
        leases: [],
        builds: [],
        owed: owed(state, &head_now(state)).iter().map(owed_row).collect(),
        waiting: state.issues.values().filter_map(|issue| waiting_row(state, issue)).collect(),
        attention: attention(state),
    }
}

fn batches(state: &State) -> impl Iterator<Item = &Batch> {
    state.batches.values().map(AsRef::as_ref).filter(|b| b.issue.is_none())
}

fn slot(state: &State, id: SlotId, unit: &Unit) -> SlotRow {
    let held = &state.slots[&id];
    let open = state.dispatches_of(unit).next();
    let stop = open.and_then(|d| d.stop.as_ref());
    let word = match open {
        None => "judging",
        Some(d) if d.stop.is_some() => "stopping",
        Some(d) if d.is_started() => "started",
        Some(_) => "planned",
    };
    SlotRow {
        id,
        unit: unit.clone(),
        role: open.map_or("agent", |d| d.plan.role.name()),
        dispatch: open.map(|d| d.id),
        state: word,
        since: held.since.at,
        pid: open.and_then(|d| d.started.as_ref()).map(|s| s.process.pid),
        phase: open.and_then(|d| d.phase.clone()),
        tier: open.and_then(|d| d.plan.tier),
        stop_requested_at: stop.map(|s| s.requested.at),
        kill_escalated_at: stop.and_then(|s| s.escalated.as_ref()).map(|at| at.at),
    }
}

fn issue_row(state: &State, issue: &Issue) -> IssueRow {
    let batch = issue.batch.as_ref().and_then(|b| state.batch(b));
    let member = batch.and_then(|b| b.member(&issue.id));
    let unit = batch.map_or_else(|| issue.unit(), |b| b.member_unit(&issue.id));
    let agent = state.dispatches_of(&unit).find(|d| d.plan.role == Role::Agent);
    let counted = member.map_or(issue.tally.attempts, |m| m.tally.attempts);
    let blocked = issue.block.as_ref().map(|b| b.reason.clone());
    IssueRow {
        id: issue.id.clone(),
        status: issue.status,
        batch: batch.filter(|b| b.issue.is_none()).map(|b| b.id.to_string()),
        deps: issue.deps.clone(),
        requested_tier: issue.requested_tier(),
        attempts: agent.map_or(counted, |d| d.plan.attempt),
        reason: blocked.or_else(|| issue.reason.clone()),
        branch: issue.branch.clone(),
    }
}

fn batch_row(batch: &Batch) -> BatchRow {
    let members = u32::try_from(batch.members.len()).unwrap_or(u32::MAX);
    BatchRow {
        id: batch.id.to_string(),
        status: batch.status,
        mode: batch.mode,
        members: batch.members.iter().map(|m| m.issue.clone()).collect(),
        current: batch.current.clone(),
        landed: batch.landed().map(|m| m.issue.clone()).collect(),
        evictions: batch
            .evictions
            .iter()
            .map(|e| EvictionRow {
                member: e.member.clone(),
                kind: e.kind,
                reason: e.reason.clone(),
                at: e.at,
            })
            .collect(),
        blocked_reason: batch.block.as_ref().map(|b| b.reason.clone()),
        integration: batch.pinned.as_ref().map(|_| IntegrationRow {
            branch: batch.integration_branch(),
            head: batch.integration.clone(),
        }),
        threshold: batch.pinned.as_ref().map(|p| threshold(members, &p.dissolve)),
    }
}

fn owed_row(effect: &Effect) -> OwedRow {
    let (dispatch, batch) = match effect {
        Effect::Start { dispatch } | Effect::Signal { dispatch, .. } => (Some(*dispatch), None),
        Effect::CreateIntegration { batch, .. }
        | Effect::Rebase { batch, .. }
        | Effect::Ship { batch, .. } => (None, Some(batch.to_string())),
        Effect::Land(land) => (None, Some(land.batch.to_string())),
    };
    OwedRow { kind: effect.kind(), dispatch, batch }
}

fn waiting_row(state: &State, issue: &Issue) -> Option<WaitingRow> {
    let what = waiting_for(state, issue)?;
    Some(WaitingRow { unit: issue.unit(), r#for: what, since: issue.queued.at })
}

/// Everything that needs a person, the most urgent first.
pub fn attention(state: &State) -> Vec<AttentionRow> {
    let mut rows = Vec::new();
    if let Some(pause) = &state.health.pause {
        let message = match &pause.reason {
            Some(reason) => format!("paused: {reason}"),
            None => "paused".to_owned(),
        };
        rows.push(row("scheduler", "paused", message, "sched resume"));
    }
    for (profile, suspended) in &state.health.profiles {
        let message = format!("profile `{profile}` cannot be executed: {}", suspended.reason);
        // lifted by itself when the program is found; at once by this
        rows.push(row("scheduler", "host-fault", message, "sched resume"));
    }
    if state.health.spawn.is_some() {
        let message = "supervisors do not come up; trials go on".to_owned();
        rows.push(row("scheduler", "spawn-failing", message, "sched doctor"));
    }
    for (code, subjects) in &state.health.conditions {
        for (subject, condition) in subjects {
            let unit = if subject.is_empty() { "scheduler" } else { subject };
            rows.push(row(unit, code, condition.message.clone(), "sched doctor"));
        }
    }
    let config = state.config();
    let queued = state.issues.values().filter(|i| i.status == IssueStatus::Queued);
    for issue in queued.clone() {
        rows.extend(waits_in_vain(state, issue));
    }
    for issue in queued.filter(|i| config.profile(i.profile()).is_none()) {
        let (unit, code) =
            (issue.unit().to_string(), format!("profile-missing:{}", issue.profile()));
        let message = format!("its profile `{}` is not configured", issue.profile());
        rows.push(row(&unit, &code, message, &format!("sched abandon --issue {}", issue.id)));
    }
    for batch in state.batches.values().filter(|b| b.status == BatchStatus::Forming) {
        let message = "left open by --more: it starts when it is sealed".to_owned();
        let remedy = format!("sched enqueue --batch {}", batch.id);
        rows.push(row(&batch.unit().to_string(), "batch-open", message, &remedy));
    }
    rows.extend(state.issues.values().filter_map(|issue| blocked_issue(issue)));
    rows.extend(state.batches.values().filter_map(|batch| blocked_batch(batch)));
    rows
}

/// An issue whose dependency left its batch waits until somebody queues that again.
fn waits_in_vain(state: &State, issue: &Issue) -> Option<AttentionRow> {
    let parked = |dep: &&IssueId| state.issue(dep).is_some_and(|i| i.status.is_parked());
    let dep = issue.deps.iter().find(parked)?;
    let status = state.issue(dep)?.status.name();
    let (unit, code) = (issue.unit().to_string(), format!("dep-parked:{dep}"));
    let message = format!("waits for issue {dep}, which is {status}");
    Some(row(&unit, &code, message, &format!("sched requeue --issue {dep}")))
}

fn row(unit: &str, code: &str, message: String, remedy: &str) -> AttentionRow {
    let (unit, code, remedy) = (unit.to_owned(), code.to_owned(), remedy.to_owned());
    AttentionRow { unit, code, message, remedy }
}

fn blocked_issue(issue: &Issue) -> Option<AttentionRow> {
    let block = issue.block.as_ref()?;
    let unit = issue.unit().to_string();
    let detail = block.detail.as_ref().map_or_else(String::new, |d| format!(" ({d})"));
    let message = format!("blocked on {}{detail}", block.reason);
    let remedy = match block.reason.strip_prefix("dep-failed:") {
        Some(dep) => format!("sched enqueue --issues {dep}"),
        None => format!("sched resume --issue {}", issue.id),
    };
    Some(row(&unit, &block.reason, message, &remedy))
}

fn blocked_batch(batch: &Batch) -> Option<AttentionRow> {
    let block = batch.block.as_ref()?;
    let detail = block.detail.as_ref().map_or_else(String::new, |d| format!(" ({d})"));
    let logs = block
        .dispatch
        .map_or_else(String::new, |dispatch| format!("; see: sched logs {}", short(&dispatch)));
    let message = format!("blocked on {}{detail}{logs}", block.reason);
    let remedy = match &batch.issue {
        Some(issue) => format!("sched resume --issue {issue}"),
        None => format!("sched resume --batch {}", batch.id),
    };
    Some(row(&batch.unit().to_string(), &block.reason, message, &remedy))
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| v.to_string())
}

fn tables(document: &Document) -> Vec<String> {
    let mut out = Vec::new();
    let attention: Vec<Vec<String>> = document
        .attention
        .iter()
        .map(|r| vec![r.unit.clone(), r.message.clone(), r.remedy.clone()])
        .collect();
    out.extend(output::table("NEEDS YOU", &["unit", "what", "answer"], &attention));
    let slots: Vec<Vec<String>> = document
        .slots
        .iter()
        .map(|s| {
            let dispatch = s.dispatch.as_ref().map(short);
            vec![
                s.id.to_string(),
                s.unit.to_string(),
                s.role.to_owned(),
                s.state.to_owned(),
                text(dispatch),
                text(s.pid),
                text(s.phase.clone()),
                s.since.to_string(),
            ]
        })
        .collect();
    let head = ["slot", "unit", "role", "state", "dispatch", "pid", "phase", "since"];
    out.extend(output::table("SLOTS", &head, &slots));
    out.extend(batch_table(document));
    let issues: Vec<Vec<String>> = document
        .issues
        .iter()
        .map(|i| {
            let wait = document.waiting.iter().find(|w| w.unit == Unit::Issue(i.id.clone()));
            let what = i.reason.clone().or(wait.map(|w| format!("waits for {}", w.r#for)));
            let status = i.status.name().to_owned();
            vec![
                i.id.to_string(),
                status,
                text(i.batch.clone()),
                i.attempts.to_string(),
                text(what),
            ]
        })
        .collect();
    out.extend(output::table("ISSUES", &["issue", "status", "batch", "attempts", "why"], &issues));
    if out.is_empty() {
        out.push("nothing is queued and nothing runs".to_owned());
    }
    let owed = document.owed.len();
    out.push(format!(
        "entry {}, last tick {}, {owed} owed",
        document.head.seq,
        document.last_tick.map_or_else(|| "never".to_owned(), |at| at.to_string()),
    ));
    out
}

fn batch_table(document: &Document) -> Option<String> {
    let rows: Vec<Vec<String>> = document
        .batches
        .iter()
        .map(|b| {
            let total = b.members.len();
            vec![
                b.id.clone(),
                b.status.name().to_owned(),
                text(b.current.clone()),
                format!("{}/{total}", b.landed.len()),
                format!("{}/{total}", b.evictions.len()),
                text(b.blocked_reason.clone()),
            ]
        })
        .collect();
    let head = ["batch", "status", "current", "landed", "left", "blocked on"];
    output::table("BATCHES", &head, &rows)
}

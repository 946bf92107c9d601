//! Events as one line of prose each.

use crate::domain::event::{Event, EvictionKind, Evidence, Exit, Role};
use crate::domain::ids::{DispatchId, Unit};
use serde_json::Value;

/// The beginning of a dispatch's id: up to here also those of one entry differ.
pub(super) fn short(dispatch: &DispatchId) -> String {
    dispatch.to_string().get(..23).unwrap_or_default().to_owned()
}

/// A condition's code, and of what it is; the scheduler as a whole has no name.
fn condition(code: &str, subject: &str) -> String {
    if subject.is_empty() { code.to_owned() } else { format!("{code} {subject}") }
}

fn because(reason: &Option<String>) -> String {
    reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"))
}

/// One event as one line.
pub fn event(event: &Event) -> String {
    let text = journal(event)
        .or_else(|| scheduler(event))
        .or_else(|| queue(event))
        .or_else(|| dispatch(event))
        .or_else(|| member(event))
        .or_else(|| batch(event));
    text.unwrap_or_else(|| event.name().replace('-', " "))
}

fn journal(event: &Event) -> Option<String> {
    Some(match event {
        Event::JournalCreated(e) => format!("journal {} created", e.journal),
        Event::JournalAdopted(e) => {
            format!("journal {} adopted from {} at entry {}", e.journal, e.from.journal, e.from.seq)
        }
        Event::JournalRepaired(e) => {
            let units: Vec<String> = e.units.iter().map(Unit::to_string).collect();
            format!(
                "journal repaired: {} bytes from entry {} on went to quarantine; blocked: {}",
                e.bytes,
                e.from_seq,
                if units.is_empty() { "nothing".into() } else { units.join(", ") }
            )
        }
        Event::TailQuarantined(e) => {
            format!("{} bytes of a write that never finished went to quarantine", e.bytes)
        }
        Event::HeadUnreadable(_) => "head was unreadable: acknowledged length unknown".into(),
        Event::EnvironmentRecorded(e) => {
            format!("environment recorded, configuration {}", e.config)
        }
        _ => return None,
    })
}

fn scheduler(event: &Event) -> Option<String> {
    Some(match event {
        Event::ConfigApplied(e) => {
            format!("configuration {} applied", e.digest.get(..12).unwrap_or_default())
        }
        Event::ConditionRaised(e) => format!("{}: {}", condition(&e.code, &e.subject), e.message),
        Event::ConditionCleared(e) => format!("{} is over", condition(&e.code, &e.subject)),
        Event::TickGap(e) => format!("no tick since {}", e.since),
        Event::ClockBehind(e) => format!("the clock is {} ms behind the journal", e.ahead_ms),
        Event::SchedulerPaused(e) => format!("paused{}", because(&e.reason)),
        Event::SchedulerResumed(e) => format!("pause lifted{}", because(&e.reason)),
        Event::DispatchUnhealthy(e) => {
            format!("paused itself: {} in a row", e.verdicts.join(", "))
        }
        Event::SpawnFailing(e) => {
            format!("starting fails ({} in a row), next trial in {} ms", e.count, e.trial_after_ms)
        }
        Event::ProfileSuspended(e) => format!("profile {} suspended: {}", e.profile, e.reason),
        Event::ProfileRestored(e) => format!("profile {} restored", e.profile),
        Event::OperatorActed(e) => {
            let verb = serde_json::to_value(e.verb).ok();
            let verb = verb.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            format!("operator: {verb} {}{}", e.unit, because(&e.reason))
        }
        _ => return None,
    })
}

fn queue(event: &Event) -> Option<String> {
    Some(match event {
        Event::IssueEnqueued(e) => match &e.batch {
            Some(batch) => format!("issue {} queued as a member of batch {batch}", e.issue),
            None => format!("issue {} queued", e.issue),
        },
        Event::BatchFormed(e) => format!("batch {} formed", e.batch),
        Event::BatchSealed(e) => {
            format!("batch {} sealed with {} members", e.batch, e.members.len())
        }
        Event::IssueDone(e) => format!("issue {} done", e.issue),
        Event::IssueFailed(e) => format!("issue {} failed: {}", e.issue, e.reason),
        Event::IssueStopped(e) if e.reason == "stopped" => format!("issue {} stopped", e.issue),
        Event::IssueStopped(e) => format!("issue {} stopped: {}", e.issue, e.reason),
        Event::IssueBlocked(e) => format!("issue {} blocked on {}", e.issue, e.reason),
        Event::IssueUnblocked(e) => format!("issue {} no longer blocked on {}", e.issue, e.reason),
        Event::IssueRequeued(e) => format!("issue {} queued again", e.issue),
        Event::Reprioritized(e) => format!("{} has priority {} now", e.unit, e.priority),
        _ => return None,
    })
}

fn exit_text(exit: &Exit) -> String {
    let how = match (exit.ran, exit.code, exit.signal) {
        (false, ..) => "never ran".to_owned(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, _, Some(signal)) => format!("signal {signal}"),
        _ => "ended".to_owned(),
    };
    format!("{how} after {:.1} s", exit.duration_ms as f64 / 1000.0)
}

fn dispatch(event: &Event) -> Option<String> {
    Some(match event {
        Event::DispatchPlanned(e) => {
            let what = match (&e.gate, e.role) {
                (Some(gate), _) if e.baseline => format!("gate {gate} on the integration tip"),
                (Some(gate), _) if e.recheck => format!("gate {gate} once more"),
                (Some(gate), _) => format!("gate {gate}"),
                (None, Role::Agent) => format!("agent, attempt {}", e.attempt),
                (None, role) => role.name().to_owned(),
            };
            let slot = e.slot.map_or_else(String::new, |slot| format!(" in slot {slot}"));
            format!("{}: {what} planned{slot} ({})", e.unit, short(&e.dispatch))
        }
        Event::DispatchStarted(e) => {
            format!("{} started, pid {}", short(&e.dispatch), e.process.pid)
        }
        Event::DispatchExited(e) => {
            let why = e.exit.exec_failed.as_ref().or(e.exit.worktree_failed.as_ref());
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let how = exit_text(&e.exit);
            format!("{} {}, {how}{why}", short(&e.dispatch), e.verdict.name())
        }
        Event::DispatchLost(e) => {
            let ran = if e.ran { "it ran" } else { "it never ran" };
            format!("{} lost, {ran}: {}", short(&e.dispatch), e.verdict.name())
        }
        Event::DispatchExpired(e) => format!("{} expired: nobody started it", short(&e.dispatch)),
        Event::DispatchSuperseded(e) => {
            format!("{} superseded: {}", short(&e.dispatch), e.reason)
        }
        Event::SupervisionLost(e) => {
            format!("{} has lost its supervisor and runs on", short(&e.dispatch))
        }
        Event::StopRequested(e) => {
            format!("{} asked to stop: {}", short(&e.dispatch), e.reason.name())
        }
        Event::MemberStopRequested(e) => {
            format!("{} is being stopped: {}", e.member, e.reason.name())
        }
        Event::StopReasonRaised(e) => {
            format!("{} stops for a stronger reason: {}", short(&e.dispatch), e.reason.name())
        }
        Event::KillEscalated(e) => {
            format!("{} killed, still alive after {} ms", short(&e.dispatch), e.alive_ms)
        }
        Event::KillIneffective(e) => format!("{} cannot be killed", short(&e.dispatch)),
        Event::SlotReleased(e) => format!("{} gives slot {} back", e.unit, e.slot),
        Event::MilestonePosted(e) => format!("{} reports {} {}", e.unit, e.phase, e.status),
        Event::WorkRescued(e) => format!("unsaved work of {} kept as {}", e.unit, e.reference),
        Event::TreeRemoved(e) => format!("tree {} removed", e.path),
        Event::TreeKept(e) => format!("tree {} kept: {}", e.path, e.reason),
        _ => return None,
    })
}

fn member(event: &Event) -> Option<String> {
    Some(match event {
        Event::MemberAssigned(e) => format!("batch {}: member {} begins", e.batch, e.member),
        Event::GatesPlanned(e) => {
            let (member, tip, gates) = (&e.member, e.tip.short(), e.gates.len());
            let word = if gates == 1 { "gate" } else { "gates" };
            format!("batch {}: member {member} at {tip} goes to {gates} {word}", e.batch)
        }
        Event::MemberVerified(e) => format!("batch {}: member {} verified", e.batch, e.member),
        Event::LandingPlanned(e) => {
            format!("batch {}: member {} lands on {}", e.batch, e.member, e.parent.short())
        }
        Event::MemberLanded(e) => {
            format!("batch {}: member {} landed as {}", e.batch, e.member, e.commit.short())
        }
        Event::MemberAdvanced(e) => format!("batch {} goes on with member {}", e.batch, e.to),
        Event::MemberEvicted(e) => match e.kind {
            EvictionKind::Evicted => {
                format!("batch {}: member {} evicted: {}", e.batch, e.member, e.reason)
            }
            EvictionKind::HandedBack => {
                format!("batch {}: member {} handed back: {}", e.batch, e.member, e.reason)
            }
        },
        Event::EvictionDuplicate(e) => {
            format!("batch {}: member {} had left already", e.batch, e.member)
        }
        Event::MemberRequeued(e) => format!("batch {}: member {} queued again", e.batch, e.member),
        Event::MemberReprompted(e) => {
            let (batch, member) = (&e.batch, &e.member);
            format!("batch {batch}: member {member} followed the wrong procedure ({})", e.milestone)
        }
        Event::MemberAdvanceRecovered(e) => format!(
            "batch {}: the move after member {} had been missed ({} evictions, threshold {})",
            e.batch, e.member, e.evictions, e.threshold
        ),
        _ => return None,
    })
}

fn batch(event: &Event) -> Option<String> {
    Some(match event {
        Event::BatchStarted(e) => {
            format!("batch {} started on {} at {}", e.batch, e.base, e.base_commit.short())
        }
        Event::IntegrationCreated(e) => format!("batch {}: integration branch made", e.batch),
        Event::BatchValidating(e) => {
            format!("batch {}: suite due on {}", e.batch, e.commit.short())
        }
        Event::BatchValidated(e) => format!("batch {} validated", e.batch),
        Event::BatchBlocked(e) => format!("batch {} blocked on {}", e.batch, e.reason),
        Event::BatchResumed(e) => format!("batch {} no longer blocked on {}", e.batch, e.reason),
        Event::RecheckPlanned(e) => format!("batch {}: gate {} is asked again", e.batch, e.gate),
        Event::DissolveSuppressed(e) => format!(
            "batch {} not dissolved over {} landed members ({} of {} evicted, threshold {})",
            e.0.batch, e.0.landed, e.0.evictions, e.0.members, e.0.threshold
        ),
        Event::BatchDissolving(e) => format!("batch {} dissolves: {}", e.0.batch, e.0.reason),
        Event::BatchDissolved(e) => format!(
            "batch {} dissolved: {} ({} of {} evicted, threshold {})",
            e.0.batch, e.0.reason, e.0.evictions, e.0.members, e.0.threshold
        ),
        Event::UnitStopping(e) => format!("{} ends: {}", e.unit, e.reason),
        Event::BatchStopped(e) if e.reason == "stopped" => format!("batch {} stopped", e.batch),
        Event::BatchStopped(e) => format!("batch {} stopped: {}", e.batch, e.reason),
        Event::BatchShipping(e) => {
            format!("batch {}: {} goes {} → {}", e.batch, e.base, e.old.short(), e.new.short())
        }
        Event::BatchRebasing(e) => {
            format!("batch {}: base moved, rebasing onto {}", e.batch, e.onto.short())
        }
        Event::BatchRebased(e) => format!("batch {} rebased, tip {}", e.batch, e.tip.short()),
        Event::BatchMerged(e) => format!("batch {} shipped at {}", e.batch, e.commit.short()),
        Event::BatchDone(e) => format!("batch {} done", e.batch),
        _ => return None,
    })
}

/// What an event knows as evidence, line by line.
pub fn evidence(event: &Event) -> Vec<String> {
    match event {
        Event::MemberEvicted(e) => evidence_lines(&e.evidence),
        Event::BatchBlocked(e) => {
            let logs = e.dispatch.map(|d| format!("output: sched logs {}", short(&d)));
            e.detail.iter().cloned().chain(logs).collect()
        }
        _ => Vec::new(),
    }
}

fn evidence_lines(evidence: &Evidence) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(dispatch) = &evidence.dispatch {
        lines.push(format!("output: sched logs {}", short(dispatch)));
    }
    lines.extend(evidence.exit.iter().map(|exit| format!("end: {exit}")));
    lines.extend(evidence.milestone.iter().map(|m| format!("last milestone: {m}")));
    if !evidence.conflicts.is_empty() {
        lines.push(format!("conflicts: {}", evidence.conflicts.join(", ")));
    }
    let tail = evidence.output.as_deref().unwrap_or_default();
    let last: Vec<&str> = tail.lines().rev().take(5).collect();
    lines.extend(last.into_iter().rev().map(|line| format!("| {line}")));
    lines
}

/// The dispatch that an event is about.
pub fn dispatch_of(event: &Event) -> Option<DispatchId> {
    let value = serde_json::to_value(event).ok()?;
    value.get("data")?.get("dispatch")?.as_str()?.parse().ok()
}

/// Whether an event is about a unit: it names it, or its batch, member or issue.
pub fn mentions(event: &Event, unit: &Unit) -> bool {
    let Ok(value) = serde_json::to_value(event) else { return false };
    let Some(data) = value.get("data") else { return false };
    let text = |key: &str| data.get(key).and_then(Value::as_str);
    let named = unit.to_string();
    if text("unit") == Some(named.as_str()) || text("member") == Some(named.as_str()) {
        return true;
    }
    match unit {
        Unit::Issue(issue) => text("issue") == Some(issue.as_str()),
        Unit::Member(batch, issue) => {
            let members = ["member", "to", "from", "issue"];
            text("batch") == Some(batch.as_str())
                && members.iter().any(|key| text(key) == Some(issue.as_str()))
        }
        Unit::Batch(batch) => {
            let inside = format!("batch:{batch}/");
            text("batch") == Some(batch.as_str())
                || text("unit").is_some_and(|unit| unit.starts_with(&inside))
        }
    }
}

//! Of what becomes of a member: judged, verified, landed, evicted, done.

use crate::audit::invariants::Case;
use crate::audit::invariants::history::{Dispatch, Known, Left};
use crate::domain::event::{
    Event, GatesPlanned, IssueDone, Landed, LandingPlanned, MemberEvicted, MemberLanded,
    MemberVerified, Merge, RecoveredKind, Role, StopReason, Verdict,
};
use crate::domain::ids::{CommitId, GateId, Unit};

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::GatesPlanned(e) => judged(case, e),
        Event::MemberVerified(e) => verified(case, e),
        Event::LandingPlanned(e) => landing(case, e),
        Event::MemberLanded(e) => landed(case, e),
        Event::MemberEvicted(e) => evicted(case, e),
        Event::IssueDone(e) => done(case, e),
        _ => {}
    }
}

fn judged(case: &mut Case<'_>, e: &GatesPlanned) {
    let unit = case.history.member_unit(&e.batch, &e.member);
    let by_agent = |d: &Dispatch| d.role == Role::Agent && d.was(Verdict::Done);
    if !case.history.dispatches_of(&unit).any(by_agent) {
        let message = format!("{unit} goes to its gates, and no agent of it is done");
        return case.found(13, &[], Some(unit), message);
    }
    // where the agent's end stands in the line, its ground names the commit
    let grounds = case.earlier().filter_map(|event| match event {
        Event::DispatchExited(end) => end.exit.ground.as_ref(),
        Event::DispatchLost(end) => end.ground.as_ref(),
        _ => None,
    });
    let shown = grounds.last().and_then(|ground| match &ground.merged {
        Some(Merge::Commit(commit)) => Some(commit),
        Some(Merge::Conflict(_)) => None,
        None => ground.tip.as_ref(),
    });
    if let Some(shown) = shown.filter(|shown| **shown != e.tip) {
        let message = format!("{unit} is judged at {}, and its work is {shown}", e.tip);
        case.found(13, &[], Some(unit), message);
    }
}

fn verified(case: &mut Case<'_>, e: &MemberVerified) {
    let Some(member) = case.history.member(&e.batch, &e.member) else { return };
    let unit = case.history.member_unit(&e.batch, &e.member);
    let Some((tip, gates)) = member.judged.as_ref().filter(|(tip, _)| *tip == e.tip) else {
        let message = format!("{unit} is verified at {}, which was not judged", e.tip);
        return case.found(13, &[], Some(unit), message);
    };
    let lacking: Vec<&GateId> =
        gates.iter().filter(|gate| !passed(case, &unit, gate, tip)).collect();
    for gate in lacking {
        let message = format!("{unit} is verified, and gate {gate} did not pass on {tip}");
        case.found(13, &[], Some(unit.clone()), message);
    }
}

fn passed(case: &Case<'_>, unit: &Unit, gate: &GateId, tip: &CommitId) -> bool {
    let mut gates = gates_of(case, unit, gate);
    gates.any(|d| d.was(Verdict::Passed) && d.commit.as_ref() == Some(tip))
}

/// Dispatches of a gate that asked it of the member's own work.
fn gates_of<'a>(
    case: &'a Case<'_>,
    unit: &Unit,
    gate: &'a GateId,
) -> impl Iterator<Item = &'a Dispatch> {
    let of = move |d: &&Dispatch| d.gate.as_ref() == Some(gate) && !d.baseline;
    case.history.dispatches_of(unit).filter(of)
}

fn landing(case: &mut Case<'_>, e: &LandingPlanned) {
    let Some(member) = case.history.member(&e.batch, &e.member) else { return };
    let unit = case.history.member_unit(&e.batch, &e.member);
    if member.verified.as_ref() != Some(&e.tip) {
        let message = format!("{unit} is to land {}, which was not verified", e.tip);
        return case.found(13, &[], Some(unit), message);
    }
    if !e.dispatch.0.is_nil() && !ended_for(case, &e.dispatch, &unit) {
        let id = e.dispatch;
        let message = format!("{unit} is to land the work of dispatch {id}, which it had not");
        case.found(13, &[], Some(unit), message);
    }
}

/// Whether a dispatch was this unit's, and is over.
fn ended_for(case: &Case<'_>, id: &crate::domain::ids::DispatchId, unit: &Unit) -> bool {
    match case.history.dispatch(id) {
        Known::Here(dispatch) => dispatch.unit == *unit && !dispatch.is_open(),
        Known::Past(_) => true,
        Known::Never => false,
    }
}

fn landed(case: &mut Case<'_>, e: &MemberLanded) {
    let Some(member) = case.history.member(&e.batch, &e.member) else { return };
    let unit = case.history.member_unit(&e.batch, &e.member);
    let recovered = |event: &Event| match event {
        Event::MemberAdvanceRecovered(r) => {
            r.batch == e.batch && r.member == e.member && r.kind == RecoveredKind::Landed
        }
        _ => false,
    };
    let (holds, lacks) = match e.outcome {
        Landed::NoOp => (member.verified.is_some(), "nothing of it was verified"),
        Landed::Landed | Landed::AlreadyLanded => {
            (member.landing.is_some() || case.earlier().any(recovered), "no landing was planned")
        }
    };
    if !holds {
        case.found(13, &[], Some(unit.clone()), format!("{unit} has landed, and {lacks}"));
    }
}

fn evicted(case: &mut Case<'_>, e: &MemberEvicted) {
    let Some(member) = case.history.member(&e.batch, &e.member) else { return };
    let unit = case.history.member_unit(&e.batch, &e.member);
    if let Some(id) = e.evidence.dispatch.filter(|id| !ended_for(case, id, &unit)) {
        let message = format!("{unit} left over dispatch {id}, which it had not");
        case.found(13, &[], Some(unit.clone()), message);
    }
    let operator = || {
        let batch = case.history.batch(&e.batch).and_then(|batch| batch.stopping);
        let issue = case.history.issue(&e.member).and_then(|issue| issue.stopping);
        member.stopping.or(batch).or(issue).is_some()
    };
    let stopped = |reason: StopReason| {
        let mut all = case.history.dispatches_of(&unit);
        all.any(|d| d.stop.as_ref().is_some_and(|stop| stop.reason == reason))
    };
    let named = e.reason.split_once(':');
    let holds = match (e.reason.as_str(), named) {
        (_, Some(("gate-failed", gate))) => {
            gates_of(case, &unit, &GateId::from(gate)).any(|d| d.was(Verdict::Failed))
        }
        (_, Some(("dep-left", dep))) => {
            let dep = case.history.member(&e.batch, &dep.into());
            let how = dep.and_then(|dep| dep.outcome);
            how.is_some_and(|(_, how)| [Left::Evicted, Left::HandedBack].contains(&how))
        }
        ("stopped" | "abandoned", _) => operator(),
        ("timeout", _) => stopped(StopReason::Timeout),
        ("stall", _) => stopped(StopReason::Stall),
        ("output-limit", _) => stopped(StopReason::OutputLimit),
        _ => true,
    };
    if !holds {
        let message = format!("{unit} left for `{}`, which no entry shows", e.reason);
        case.found(13, &[], Some(unit), message);
    }
}

fn done(case: &mut Case<'_>, e: &IssueDone) {
    let shipped = case.history.issue(&e.issue).is_some_and(|issue| issue.satisfied);
    let unit = Unit::Issue(e.issue.clone());
    let by_agent = || {
        let dispatch = e.dispatch.map(|id| case.history.dispatch(&id));
        let here = dispatch.and_then(Known::here);
        here.is_some_and(|d| d.unit == unit && d.role == Role::Agent && d.was(Verdict::Done))
    };
    if !shipped && !by_agent() {
        let message = format!("{unit} is done, and nothing of it is done or has shipped");
        case.found(13, &[], Some(unit), message);
    }
}

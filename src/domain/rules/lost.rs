//! Processes that are gone without a receipt: judged by ground truth (3-engine.md, "lost, and
//! it ran").

use super::draft::Draft;
use super::ended::after_agent;
use super::{gate, start, stop, suite, verdict};
use crate::domain::event::{DispatchLost, Exit, Role, SupervisionLost, Tree, Verdict};
use crate::domain::fact::Remains;
use crate::domain::ids::DispatchId;
use crate::domain::state::Dispatch;

/// The supervisor is gone, the command is not; said once.
pub(super) fn unsupervised(draft: &mut Draft<'_>, id: DispatchId) {
    if draft.dispatch(&id).is_some_and(|d| d.is_started() && !d.supervision_lost) {
        draft.push(SupervisionLost { dispatch: id });
    }
}

/// Supervisor and command are gone, and no receipt was found afterwards either.
pub(super) fn gone(draft: &mut Draft<'_>, id: DispatchId, remains: &Remains) {
    let Some(dispatch) = draft.dispatch(&id).filter(|d| d.is_started()) else { return };
    let verdict = judge(draft, &dispatch, remains);
    let judged = verdict == Verdict::Done && dispatch.plan.role == Role::Agent;
    draft.push(DispatchLost {
        dispatch: id,
        ran: remains.ran || !remains.claimed,
        verdict,
        judged: judged.then(|| "by-work".to_owned()),
        ground: remains.ground.clone(),
        output_tail: remains.output_tail.clone(),
    });
    if verdict == Verdict::NeverRan {
        start::note_spawn_failure(draft);
    }
    follow(draft, &dispatch, verdict, remains);
}

fn judge(draft: &Draft<'_>, dispatch: &Dispatch, remains: &Remains) -> Verdict {
    if verdict::is_stopped(dispatch, remains.ran || !remains.claimed) {
        return Verdict::Stopped;
    }
    if remains.claimed && !remains.ran {
        return Verdict::NeverRan;
    }
    let in_tree = dispatch.plan.tree != Tree::None;
    let gates = draft.state.batch_of(&dispatch.unit).and_then(|b| b.pinned.as_ref());
    let has_gates = gates.is_some_and(|p| !p.gates.is_empty());
    let verdict = match dispatch.plan.role {
        Role::Agent | Role::Fix if in_tree => {
            verdict::lost_agent(remains.ground.as_ref(), has_gates)
        }
        _ => Verdict::Lost,
    };
    if verdict == Verdict::Lost && remains.rebooted { Verdict::HostLost } else { verdict }
}

fn follow(draft: &mut Draft<'_>, dispatch: &Dispatch, verdict: Verdict, remains: &Remains) {
    let batch = draft.state.batch_of(&dispatch.unit).map(|b| b.id.clone());
    match dispatch.plan.role {
        Role::Agent => {
            let ground = remains.ground.clone();
            let exit = Exit { ran: remains.ran, ground, ..Exit::default() };
            after_agent(draft, dispatch, verdict, Some(&exit));
        }
        Role::Gate => {
            if let Some((batch, gate)) = batch.zip(dispatch.plan.gate.clone()) {
                gate::answered(draft, &batch, dispatch, &gate, verdict);
            }
        }
        Role::Suite => {
            if let Some(batch) = batch {
                suite::answered(draft, &batch, dispatch, verdict, None);
            }
        }
        _ => stop::conclude_unit(draft, &dispatch.unit), // else needed still, and planned again
    }
}

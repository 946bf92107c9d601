//! A copied or restored state directory must not become a second scheduler over the same
//! processes and trees.

use super::draft::Draft;
use super::member;
use crate::domain::event::{DispatchLost, JournalAdopted, JournalPoint, Place, Verdict};
use crate::domain::ids::{BatchId, JournalId};
use crate::domain::refusal::Refusal;

/// Takes a journal over in a new place: by itself when nothing is live, owed, held, queued or
/// unfinished, otherwise only when an operator insists.
pub(super) fn adopt(
    draft: &mut Draft<'_>,
    journal: JournalId,
    place: &Place,
    insist: bool,
) -> Result<(), Refusal> {
    let Some(known) = draft.state.journal.clone() else {
        return Err(Refusal::place("the journal has no first entry"));
    };
    if known.place == *place {
        return Err(Refusal::refused("this state directory is in its own place already"));
    }
    if !draft.state.is_at_rest() && !insist {
        return Err(Refusal::place("this state directory is a copy of another, or was restored")
            .detail("work in it is unfinished: a second scheduler over it would do it twice")
            .remedy("if the other one is gone for good:  sched init --adopt"));
    }
    let seq = draft.state.head.seq.saturating_sub(1);
    let from = JournalPoint { journal: known.journal, seq, hash: draft.state.head.hash.clone() };
    draft.push(JournalAdopted { journal, place: place.clone(), from });
    lose_everything(draft);
    Ok(())
}

/// Every open dispatch belongs to another place: lost without a signal, its batch blocked.
fn lose_everything(draft: &mut Draft<'_>) {
    let open: Vec<_> = draft.state.dispatches.values().cloned().collect();
    for dispatch in open {
        if dispatch.is_started() {
            draft.push(DispatchLost {
                dispatch: dispatch.id,
                ran: true,
                verdict: Verdict::HostLost,
                judged: Some("foreign".into()),
                ground: None,
                output_tail: String::new(),
            });
            draft.release_slot(&dispatch.unit);
        } else {
            super::start::supersede(draft, dispatch.id, "foreign");
        }
    }
    let held: Vec<_> = draft.state.slots.values().map(|s| s.unit.clone()).collect();
    held.iter().for_each(|unit| draft.release_slot(unit));
    let unfinished: Vec<BatchId> = draft.state.batches.keys().cloned().collect();
    unfinished.iter().for_each(|id| member::block(draft, id, "adopted", None, None, None));
}

//! Milestones: refused unless their dispatch is at work.

use super::draft::Draft;
use super::stop;
use crate::domain::command::{LONGEST_TEXT, Post};
use crate::domain::event::{MilestonePosted, StopReason, Tree};
use crate::domain::ids::DispatchId;
use crate::domain::refusal::Refusal;
use crate::domain::state::State;
use std::collections::BTreeMap;

/// How many milestones one dispatch may post.
const MILESTONES: u32 = 1_000;
const WORD: usize = 64;

/// Whether a dispatch may still report; `post --check` only asks this.
pub fn may_post(state: &State, id: DispatchId) -> Result<(), Refusal> {
    let Some(dispatch) = state.dispatch(&id) else {
        return Err(Refusal::refused(format!("dispatch {id} is over"))
            .detail("it ended or was replaced; whatever it still does is not counted"));
    };
    if dispatch.stop.is_some() {
        return Err(Refusal::refused(format!("dispatch {id} is being stopped"))
            .detail("leave now: nothing it does from here on is counted"));
    }
    if !dispatch.is_started() {
        return Err(Refusal::refused(format!("dispatch {id} has not started")));
    }
    Ok(())
}

pub(super) fn post(draft: &mut Draft<'_>, post: &Post) -> Result<(), Refusal> {
    may_post(&draft.state, post.dispatch)?;
    let Some(dispatch) = draft.dispatch(&post.dispatch) else { return Ok(()) };
    if dispatch.milestones >= MILESTONES {
        let message = format!("dispatch {} has posted {MILESTONES} milestones", post.dispatch);
        return Err(Refusal::refused(message).detail("that is the limit of one dispatch"));
    }
    draft.push(MilestonePosted {
        dispatch: post.dispatch,
        unit: dispatch.unit.clone(),
        phase: clean(&post.phase, WORD),
        status: clean(&post.status, WORD),
        keys: clean_map(&post.keys),
        usage: clean_map(&post.usage),
        detail: post.detail.as_deref().map(|text| clean(text, LONGEST_TEXT)),
    });
    let in_tree = dispatch.plan.tree != Tree::None;
    let wrong = draft.dispatch(&post.dispatch).is_some_and(|d| d.said.wrong.is_some());
    if wrong && in_tree {
        stop::request(draft, post.dispatch, StopReason::WrongProcedure);
    }
    Ok(())
}

/// Text from agents is data: no control characters, bounded.
fn clean(text: &str, limit: usize) -> String {
    let plain = text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c });
    plain.filter(|c| !c.is_control()).take(limit).collect()
}

fn clean_map(map: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    map.iter().take(32).map(|(k, v)| (clean(k, WORD), clean(v, LONGEST_TEXT))).collect()
}

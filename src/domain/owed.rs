//! state → effects: what the journal promises and the world does not show yet; and what the
//! engine should look at. Both come from the state, never from "what just happened".

use super::effect::{Effect, Land, Probe};
use super::event::Role;
use super::rules::{NeedKind, front, may_start, needs};
use super::state::{Batch, BatchStatus, Dispatch, Rebasing, State};
use super::time::Now;
use std::collections::BTreeSet;
use std::time::Duration;

/// Everything that is owed, in the order in which it is best paid.
pub fn owed(state: &State, now: &Now) -> Vec<Effect> {
    let mut effects: Vec<Effect> = state.dispatches.values().filter_map(|d| signal(d)).collect();
    effects.extend(state.batches.values().filter_map(|b| batch_effect(state, b)));
    effects.extend(state.dispatches.values().filter_map(|d| start(state, d, now)));
    effects
}

fn signal(dispatch: &Dispatch) -> Option<Effect> {
    let stop = dispatch.stop.as_ref()?;
    let process = dispatch.started.clone()?;
    Some(Effect::Signal { dispatch: dispatch.id, process, kill: stop.escalated.is_some() })
}

/// A planned dispatch is to be started, once its integration branch is there and its delay over.
fn start(state: &State, dispatch: &Dispatch, now: &Now) -> Option<Effect> {
    if dispatch.is_started() {
        return None;
    }
    let delay = Duration::from_millis(dispatch.plan.delay_ms);
    let batch = state.batch_of(&dispatch.unit);
    let waits = dispatch.plan.role == Role::Agent && batch.is_some_and(|b| b.integration.is_none());
    let due = dispatch.planned.remaining(delay, now).is_zero() && !waits;
    due.then_some(Effect::Start { dispatch: dispatch.id })
}

fn batch_effect(state: &State, batch: &Batch) -> Option<Effect> {
    match batch.status {
        BatchStatus::Executing if batch.integration.is_none() => Some(Effect::CreateIntegration {
            batch: batch.id.clone(),
            branch: batch.integration_branch(),
            commit: batch.base_commit.clone()?,
        }),
        BatchStatus::Executing => land(state, batch),
        BatchStatus::Rebasing => {
            let Rebasing { from, onto, .. } = batch.rebasing.clone()?;
            let landed = batch.landed().filter_map(|m| {
                let (commit, how) = m.landed.clone()?;
                (how == super::event::Landed::Landed).then(|| (m.issue.clone(), commit))
            });
            Some(Effect::Rebase {
                batch: batch.id.clone(),
                branch: batch.integration_branch(),
                tip: batch.integration.clone()?,
                from,
                onto,
                landed: landed.collect(),
                judged: batch.judged().map(|(_, judging)| judging.tip.clone()),
            })
        }
        BatchStatus::Shipping => {
            let (old, new) = batch.shipping.clone()?;
            let base = batch.pinned.as_ref()?.base.clone();
            Some(Effect::Ship { batch: batch.id.clone(), base, old, new })
        }
        _ => None,
    }
}

fn land(state: &State, batch: &Batch) -> Option<Effect> {
    let member = batch.members.iter().find(|m| m.landing.is_some() && m.outcome.is_none())?;
    let pinned = batch.pinned.clone()?;
    let landing = pinned.landing;
    let title = state.issue(&member.issue).map_or(member.issue.as_str(), |i| i.title()).to_owned();
    Some(Effect::Land(Box::new(Land {
        batch: batch.id.clone(),
        pinned,
        member: member.issue.clone(),
        title,
        plan: member.landing.clone()?,
        landing,
    })))
}

/// Whether nothing can happen until the journal, the configuration or the disk changes.
pub fn rests(state: &State, now: &Now) -> bool {
    let health = &state.health;
    health.spawn.is_none()
        && health.conditions.is_empty()
        && state.is_at_rest()
        && owed(state, now).is_empty()
        && wants(state, now).is_empty()
}

/// What the engine should look at, each once.
pub fn wants(state: &State, now: &Now) -> Vec<Probe> {
    let mut probes = BTreeSet::new();
    let grace = state.config().spawn_grace();
    for dispatch in state.dispatches.values() {
        if dispatch.is_started() {
            probes.insert(Probe::Alive(dispatch.id));
        } else {
            let late = grace + Duration::from_millis(dispatch.plan.delay_ms);
            if dispatch.planned.remaining(late, now).is_zero() {
                probes.insert(Probe::Late(dispatch.id));
            }
        }
    }
    for batch in state.batches.values() {
        if batch.status == BatchStatus::Executing && batch.integration.is_some() {
            probes.insert(Probe::Integration(batch.id.clone()));
        }
        let base = batch.pinned.as_ref().map(|p| p.base.as_str());
        let waits = batch.status == BatchStatus::Shipping && batch.shipping.is_none();
        let first = |base| front(state, base).is_some_and(|b| b.id == batch.id);
        if let Some(base) = base.filter(|base| waits && first(base)) {
            probes.insert(Probe::Base(base.to_owned()));
        }
    }
    if wants_base(state, now) {
        probes.insert(Probe::Base(state.config().base_branch().to_owned()));
    }
    probes.extend(state.health.profiles.keys().cloned().map(Probe::Program));
    probes.into_iter().collect()
}

/// Whether the next thing that would take a free slot has to know where the base branch is.
fn wants_base(state: &State, now: &Now) -> bool {
    let free = usize::from(state.config().max_slots()) > state.slots.len();
    if !free || may_start(state).is_err() {
        return false;
    }
    let first = needs(state, now).into_iter().find(super::rules::Need::takes_slot);
    first.is_some_and(|n| matches!(n.kind, NeedKind::StartBatch(_) | NeedKind::StartIssue(_)))
}

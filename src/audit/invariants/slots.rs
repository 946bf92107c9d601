//! Rule 2: a slot is held by one unit at a time, and there are no more than configured.

use super::Case;
use crate::domain::event::{DispatchPlanned, Event, Role, SlotReleased};
use crate::domain::ids::SlotId;

/// The roles of which `max_slots` bounds how many are at work.
fn needs_slot(role: Role) -> bool {
    [Role::Agent, Role::Fix, Role::Review, Role::Ship, Role::Report].contains(&role)
}

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::DispatchPlanned(e) => match (e.slot, needs_slot(e.role)) {
            (Some(slot), true) => taken(case, e, slot),
            (Some(slot), false) => {
                let message = format!("role {} takes no slot, and has slot {slot}", e.role.name());
                case.found(2, &[], Some(e.unit.clone()), message);
            }
            (None, true) => {
                let message = format!("role {} takes a slot, and has none", e.role.name());
                case.found(2, &[], Some(e.unit.clone()), message);
            }
            (None, false) => {}
        },
        Event::SlotReleased(e) => released(case, e),
        _ => {}
    }
}

fn taken(case: &mut Case<'_>, e: &DispatchPlanned, slot: SlotId) {
    let history = case.history;
    let unit = || Some(e.unit.clone());
    if let Some(held) = history.slots.get(&slot) {
        if held.unit != e.unit {
            let message = format!("slot {slot} is held by {} and given to {}", held.unit, e.unit);
            case.found(2, &[held.since], unit(), message);
        }
        return;
    }
    let mut others = history.slots.iter();
    if let Some((other, held)) = others.find(|(_, held)| held.unit == e.unit) {
        let message = format!("{} holds slot {other} and is given slot {slot}", e.unit);
        case.found(2, &[held.since], unit(), message);
    }
    let (held, allowed) = (history.slots.len() + 1, history.settings.max_slots);
    if let Some(allowed) = allowed.filter(|allowed| held > *allowed) {
        let since: Vec<u64> = history.slots.values().map(|held| held.since).collect();
        let message = format!("{held} slots are held, and max_slots is {allowed}");
        case.found(2, &since, unit(), message);
    }
}

fn released(case: &mut Case<'_>, e: &SlotReleased) {
    let unit = Some(e.unit.clone());
    match case.history.slots.get(&e.slot) {
        Some(held) if held.unit == e.unit => {}
        Some(held) => {
            let message = format!("slot {} is held by {}, not by {}", e.slot, held.unit, e.unit);
            case.found(2, &[held.since], unit, message);
        }
        None => {
            let message = format!("slot {} is released by {} and held by nobody", e.slot, e.unit);
            case.found(2, &[], unit, message);
        }
    }
}

/// A slot is not free while the dispatch that it was taken for is at work.
pub(super) fn line(case: &mut Case<'_>) {
    let history = case.history;
    for event in &case.entry.events {
        let Event::SlotReleased(e) = event else { continue };
        if history.slots.get(&e.slot).is_some_and(|held| held.unit == e.unit) {
            continue; // taken again
        }
        let works = history.dispatches_of(&e.unit).find(|d| d.slot == Some(e.slot) && d.is_open());
        if let Some(works) = works {
            let message = format!("slot {} is released while its dispatch is open", e.slot);
            case.found(2, &[works.last_entry()], Some(e.unit.clone()), message);
        }
    }
}

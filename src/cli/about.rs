//! Which events are about a unit: those that name it, and those of its dispatches. How a dispatch
//! began and ended names the dispatch only.

use super::prose;
use crate::domain::event::Event;
use crate::domain::ids::{DispatchId, Unit};
use std::collections::BTreeSet;

/// A unit, followed from the first entry on.
pub struct About {
    names: Vec<Unit>,
    dispatches: BTreeSet<DispatchId>,
}

impl About {
    /// A unit by all its names.
    pub fn new(names: Vec<Unit>) -> Self {
        Self { names, dispatches: BTreeSet::new() }
    }

    /// Whether an event is about the unit; each is asked once, in order.
    pub fn takes(&mut self, event: &Event) -> bool {
        let named = self.names.iter().any(|unit| prose::mentions(event, unit));
        if let (true, Event::DispatchPlanned(plan)) = (named, event) {
            self.dispatches.insert(plan.dispatch);
        }
        named || prose::dispatch_of(event).is_some_and(|id| self.dispatches.contains(&id))
    }
}

//! Rule 13: every decision names its evidence, and the evidence is there.
//!
//! For each event that rests on an earlier one, that one is looked for: a landing on its plan, a
//! plan on the commit that passed, a commit that passed on the answer of each gate, a stop on a
//! process that runs, a merge on what was to be shipped. The verdict over a dispatch is in
//! [`super::verdicts`].

mod batch;
mod journal;
mod member;
mod work;

use super::Case;
use crate::domain::event::Event;

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    work::event(case, event);
    member::event(case, event);
    batch::event(case, event);
    journal::event(case, event);
}

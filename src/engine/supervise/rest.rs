//! After the last line of a supervisor: it waits out the back-off which that line set, and which
//! nobody else would end.

use crate::domain::ids::Unit;
use crate::domain::rules::back_off;
use crate::engine::ports::since;
use crate::engine::session::Session;
use std::time::Duration;

/// A back-off longer than this is left to the next tick.
const LONGEST: Duration = Duration::from_secs(90);
/// How soon it is noticed that we are told to leave.
const LOOK: Duration = Duration::from_millis(100);

/// Waits for the end of a unit's back-off. Whether a tick is due for it now.
pub fn wait_out(session: &Session<'_>, unit: Option<&Unit>, told: &dyn Fn() -> bool) -> bool {
    let clock = session.clock();
    let due = unit.and_then(|unit| back_off(&session.state, unit, &clock.now()));
    let Some(due) = due.filter(|due| *due <= LONGEST) else { return false };
    let begun = clock.up();
    loop {
        let left = due.saturating_sub(since(clock, begun));
        if left.is_zero() {
            return true;
        }
        if told() {
            return false;
        }
        clock.sleep(left.min(LOOK));
    }
}

//! Rule 13, first half: `at` never decreases, and how much time passed between two entries.

use super::Case;
use crate::domain::event::Entry;
use crate::domain::ids::BootId;
use crate::domain::time::Timestamp;

/// When an entry was committed, on both clocks.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    pub(super) seq: u64,
    at: Timestamp,
    boot: BootId,
    up: u64,
}

impl Moment {
    pub(super) fn of(entry: &Entry) -> Self {
        Self { seq: entry.seq, at: entry.at, boot: entry.by.boot.clone(), up: entry.by.up }
    }

    /// Milliseconds from here to a later entry: by `up` within one boot, else by `at`. Negative
    /// when a clock went back.
    pub(super) fn until(&self, entry: &Entry) -> i128 {
        if self.boot == entry.by.boot {
            i128::from(entry.by.up) - i128::from(self.up)
        } else {
            i128::from(entry.at.millis()) - i128::from(self.at.millis())
        }
    }
}

/// Times of a line against the line before.
pub(super) fn line(case: &mut Case<'_>) {
    let (at, wall) = (case.entry.at, case.entry.wall);
    let Some(before) = &case.history.last else { return };
    let (seq, earlier) = (before.seq, before.at);
    if at < earlier {
        case.found(13, &[seq], None, format!("its time {at} is before {earlier}"));
    } else if let Some(wall) = wall.filter(|wall| at != earlier || *wall >= at) {
        let message = format!(
            "it says that the clock was behind at {wall}, but its time {at} repeats no earlier one"
        );
        case.found(13, &[seq], None, message);
    }
}

//! Of what is said about the journal, the configuration, trees and the scheduler as a whole.

use crate::audit::invariants::Case;
use crate::domain::event::{
    ConfigApplied, DispatchUnhealthy, Event, JournalAdopted, ProfileSuspended, Verdict,
};
use crate::journal::line::sha256_hex;
use std::collections::BTreeSet;

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::ConfigApplied(e) => configured(case, e),
        Event::JournalAdopted(e) => adopted(case, e),
        Event::JournalRepaired(e) if e.from_seq != case.entry.seq => {
            let message = format!("entries from {} on were cut, and this is behind", e.from_seq);
            case.found(13, &[], None, message);
        }
        Event::DispatchUnhealthy(e) => unhealthy(case, e),
        Event::ProfileSuspended(e) => suspended(case, e),
        Event::WorkRescued(e) => {
            let rescued = |found: &Found<'_>| found.rescue == Some(e.reference.as_str());
            reclaimed(case, &e.path, "rescued", rescued);
        }
        Event::TreeRemoved(e) => reclaimed(case, &e.path, "removed", |found| found.done),
        _ => {}
    }
}

fn configured(case: &mut Case<'_>, e: &ConfigApplied) {
    if sha256_hex(e.content.as_bytes()) != e.digest {
        let message = format!("the configuration is not the one of digest {}", e.digest);
        case.found(13, &[], None, message);
    }
}

fn adopted(case: &mut Case<'_>, e: &JournalAdopted) {
    let known = case.history.journal;
    if known.is_some_and(|known| known != e.from.journal) {
        let message = format!("journal {} is adopted, and this was another", e.from.journal);
        case.found(13, &[], None, message);
    }
}

/// The scheduler pauses by itself after bad ends in a row of different units.
fn unhealthy(case: &mut Case<'_>, e: &DispatchUnhealthy) {
    let units: BTreeSet<_> = e.units.iter().collect();
    if e.verdicts.len() < 2 || units.len() < 2 || e.units.len() != e.verdicts.len() {
        let message = "the scheduler pauses by itself, and two bad ends are not named".to_owned();
        case.found(13, &[], None, message);
    }
}

fn suspended(case: &mut Case<'_>, e: &ProfileSuspended) {
    let fault = |event: &Event| match event {
        Event::DispatchExited(end) => end.verdict == Verdict::HostFault,
        _ => false,
    };
    if !case.earlier().any(fault) {
        let message = format!("profile {} is suspended, and no end shows why", e.profile);
        case.found(13, &[], None, message);
    }
}

/// What a dispatch that ends in this line says of one tree.
struct Found<'a> {
    rescue: Option<&'a str>,
    done: bool,
}

fn reclaimed(case: &mut Case<'_>, path: &str, what: &str, holds: impl Fn(&Found<'_>) -> bool) {
    let ends = case.earlier().filter_map(|event| match event {
        Event::DispatchExited(end) => Some(&end.exit.reclaimed),
        _ => None,
    });
    let mut trees = ends.flatten().filter(|tree| tree.path == path);
    let shown = trees.any(|tree| holds(&Found { rescue: tree.rescue.as_deref(), done: tree.done }));
    drop(trees);
    if !shown {
        let message = format!("tree `{path}` is {what}, and no end of a dispatch says so");
        case.found(13, &[], None, message);
    }
}

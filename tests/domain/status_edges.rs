//! The two status machines: each edge allowed, each other one refused.

use crate::world::*;
use sched::domain::event::{BatchSealed, BatchValidating, IssueDone, MemberVerified};
use sched::domain::state::{BatchStatus as B, IssueStatus as I};

const ISSUE: &[I] = &[
    I::Queued,
    I::Dispatched,
    I::Waiting,
    I::Working,
    I::Verified,
    I::Landed,
    I::Shipped,
    I::Done,
    I::Evicted,
    I::HandedBack,
    I::Blocked,
    I::Failed,
    I::Stopped,
];

fn issue_edges() -> Vec<(I, I)> {
    let mut edges = vec![
        (I::Queued, I::Dispatched),
        (I::Dispatched, I::Done),
        (I::Dispatched, I::Queued),
        (I::Queued, I::Waiting),
        (I::Waiting, I::Working),
        (I::Working, I::Verified),
        (I::Verified, I::Landed),
        (I::Landed, I::Shipped),
        (I::Shipped, I::Done),
        (I::Working, I::Waiting),
        (I::Landed, I::Evicted),
        (I::Landed, I::Queued),
        (I::Evicted, I::Queued),
        (I::HandedBack, I::Queued),
    ];
    for from in [I::Waiting, I::Working, I::Verified] {
        edges.extend([I::Evicted, I::HandedBack, I::Queued].map(|to| (from, to)));
    }
    for from in ISSUE.iter().filter(|s| !matches!(s, I::Done | I::Failed | I::Stopped)) {
        edges.extend([(*from, I::Failed), (*from, I::Stopped)]);
        if *from != I::Blocked {
            edges.push((*from, I::Blocked));
        }
    }
    edges
}

#[test]
fn an_issue_moves_along_the_edges_of_the_design_and_no_other() {
    let edges = issue_edges();
    for from in ISSUE {
        for to in ISSUE {
            let (found, expected) = (from.may_become(*to), edges.contains(&(*from, *to)));
            assert_eq!(found, expected, "{} → {}", from.name(), to.name());
        }
    }
}

const BATCH: &[B] = &[
    B::Forming,
    B::Ready,
    B::Executing,
    B::Validating,
    B::Attributing,
    B::Fixing,
    B::Evicting,
    B::Reviewing,
    B::Shipping,
    B::AwaitingMerge,
    B::Rebasing,
    B::Merged,
    B::Done,
    B::Dissolving,
    B::Dissolved,
    B::Blocked,
    B::Stopped,
];

fn batch_edges() -> Vec<(B, B)> {
    let mut edges = vec![
        (B::Forming, B::Ready),
        (B::Ready, B::Executing),
        (B::Executing, B::Validating),
        (B::Executing, B::Shipping),
        (B::Validating, B::Reviewing),
        (B::Validating, B::Shipping),
        (B::Reviewing, B::Shipping),
        (B::Shipping, B::AwaitingMerge),
        (B::AwaitingMerge, B::Merged),
        (B::Shipping, B::Merged),
        (B::Merged, B::Done),
        (B::Validating, B::Attributing),
        (B::Attributing, B::Fixing),
        (B::Attributing, B::Evicting),
        (B::Fixing, B::Validating),
        (B::Evicting, B::Validating),
        (B::Shipping, B::Rebasing),
        (B::AwaitingMerge, B::Rebasing),
        (B::Rebasing, B::Validating),
        (B::Rebasing, B::Shipping),
        // `resume` of `suite-unattributed` or `gate-baseline-red` on a base that moved
        (B::Validating, B::Rebasing),
        (B::Executing, B::Rebasing),
        (B::Rebasing, B::Executing),
        (B::Dissolving, B::Dissolved),
    ];
    for from in BATCH.iter().copied() {
        let over = matches!(from, B::Done | B::Dissolved | B::Stopped);
        if !over && !matches!(from, B::Merged | B::Dissolving) {
            edges.extend([(from, B::Dissolving), (from, B::Dissolved)]);
        }
        if !over {
            edges.push((from, B::Stopped));
        }
        if !over && from != B::Blocked {
            edges.push((from, B::Blocked));
        }
    }
    edges
}

#[test]
fn a_batch_moves_along_the_edges_of_the_design_and_no_other() {
    let edges = batch_edges();
    for from in BATCH {
        for to in BATCH {
            let (found, expected) = (from.may_become(*to), edges.contains(&(*from, *to)));
            assert_eq!(found, expected, "{} → {}", from.name(), to.name());
        }
    }
}

#[test]
fn a_refused_edge_names_kind_id_from_and_to() {
    let w = World::batch("", &["1"]);
    let done = w.try_apply(IssueDone { issue: "1".into(), dispatch: None }).unwrap_err();
    let expected = "`issue-done` cannot happen to issue 1: working, expected an edge to done";
    assert_eq!(done, expected);
    let sealed = BatchSealed { batch: "b1".into(), members: Vec::new() };
    let expected = "`batch-sealed` cannot happen to batch b1: executing, expected an edge to ready";
    assert_eq!(w.try_apply(sealed).unwrap_err(), expected);
    let other = BatchValidating { batch: "b9".into(), commit: "c".into() };
    let expected = "`batch-validating` cannot happen to batch b9: it does not exist, expected a \
         formed batch";
    assert_eq!(w.try_apply(other).unwrap_err(), expected);
    let (batch, member) = ("b1".into(), "9".into());
    let stranger = MemberVerified { batch, member, tip: "t".into(), flaky: Vec::new() };
    let expected = "`member-verified` cannot happen to issue 9: no member of batch b1, expected a \
         member";
    assert_eq!(w.try_apply(stranger).unwrap_err(), expected);
}

//! Pays what is owed. Doing it twice is harmless; the result comes back as a fact.

use super::ports::git::{Git, GitError, LandRequest, RebaseRequest, ShipRequest};
use super::ports::{Clock, Processes, Runs};
use crate::crash;
use crate::domain::effect::{Effect, Land};
use crate::domain::fact::Fact;
use crate::domain::ids::BatchId;
use std::time::Duration;

/// How often something of git whose lock somebody holds, or that somebody killed, is tried within
/// one tick.
const TRIES: u32 = 5;
const BETWEEN: Duration = Duration::from_millis(100);

/// Who can pay.
pub(super) struct Hands<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) processes: &'a dyn Processes,
    pub(super) runs: &'a dyn Runs,
    pub(super) git: Option<&'a dyn Git>,
}

/// What came of a payment.
pub(super) enum Paid {
    /// Nothing more to say.
    Done,
    /// A fact.
    Fact(Box<Fact>),
    /// It has to be tried again by a later tick; why.
    Later(String),
}

impl Hands<'_> {
    pub(super) fn pay(&self, effect: &Effect) -> Paid {
        match effect {
            Effect::Start { dispatch } => {
                crash::point("pay-start");
                let started = self
                    .runs
                    .prepare(*dispatch)
                    .and_then(|()| self.processes.start_supervisor(*dispatch));
                crash::point("paid-start");
                match started {
                    Ok(()) => Paid::Done,
                    Err(why) => Paid::Later(why),
                }
            }
            Effect::Signal { process, kill, .. } => {
                crash::point("pay-signal");
                self.processes.signal(process, *kill);
                Paid::Done
            }
            other => self.pay_git(other),
        }
    }

    /// A lock file of git's, and a git that was killed, is tried again before it is anybody's
    /// error.
    fn patiently<T>(&self, mut act: impl FnMut() -> Result<T, GitError>) -> Result<T, GitError> {
        for _ in 1..TRIES {
            match act() {
                Err(GitError::Locked { .. } | GitError::Killed { .. }) => self.clock.sleep(BETWEEN),
                done => return done,
            }
        }
        act()
    }

    fn pay_git(&self, effect: &Effect) -> Paid {
        let Some(git) = self.git else {
            return Paid::Later("there is no git repository here".into());
        };
        match effect {
            Effect::CreateIntegration { batch, branch, commit } => {
                crash::point("pay-integration");
                let done = self.patiently(|| git.create_branch(branch, commit));
                crash::point("paid-integration");
                fact(batch, done, |batch, result| Fact::Integration { batch, result })
            }
            Effect::Land(land) => {
                crash::point("pay-land");
                let request = land_request(land);
                let done = self.patiently(|| git.land(&request));
                crash::point("paid-land");
                let member = land.member.clone();
                fact(&land.batch, done, |batch, result| Fact::Landing { batch, member, result })
            }
            Effect::Rebase { batch, branch, tip, from, onto, landed, judged } => {
                let request = RebaseRequest {
                    branch: branch.clone(),
                    tip: tip.clone(),
                    from: from.clone(),
                    onto: onto.clone(),
                    landed: landed.clone(),
                    judged: judged.clone(),
                };
                crash::point("pay-rebase");
                let done = self.patiently(|| git.rebase(&request));
                crash::point("paid-rebase");
                fact(batch, done, |batch, result| Fact::Rebase { batch, result })
            }
            Effect::Ship { batch, base, old, new } => {
                crash::point("pay-ship");
                let (base, old, new) = (base.clone(), old.clone(), new.clone());
                let request = ShipRequest { base, old, new };
                let done = self.patiently(|| git.ship(&request));
                crash::point("paid-ship");
                fact(batch, done, |batch, result| Fact::Ship { batch, result })
            }
            Effect::Start { .. } | Effect::Signal { .. } => Paid::Done,
        }
    }
}

fn fact<T>(
    batch: &BatchId,
    done: Result<T, GitError>,
    make: impl FnOnce(BatchId, T) -> Fact,
) -> Paid {
    match done {
        Ok(result) => Paid::Fact(Box::new(make(batch.clone(), result))),
        Err(error @ GitError::Locked { .. }) => Paid::Later(error.to_string()),
        Err(error) => {
            let message = error.to_string();
            Paid::Fact(Box::new(Fact::Failed { batch: batch.clone(), message }))
        }
    }
}

/// Everything that the landing's one possible commit is made from.
fn land_request(land: &Land) -> LandRequest {
    let (seq, hash) = &land.plan.planned_by;
    let trailer = |name: &str, value: String| (name.to_owned(), value);
    LandRequest {
        branch: land.pinned.branch.clone(),
        tip: land.plan.tip.clone(),
        parent: land.plan.parent.clone(),
        time: land.plan.time,
        landing: land.landing,
        issue: land.member.clone(),
        title: land.title.clone(),
        trailers: vec![
            trailer("Sched-Batch", land.batch.to_string()),
            trailer("Sched-Member", land.member.to_string()),
            trailer("Sched-Dispatch", land.plan.dispatch.to_string()),
            trailer("Sched-Journal", format!("{seq}:{hash}")),
        ],
    }
}

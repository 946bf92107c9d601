//! (state, command | fact, now) → events: the transition and everything that follows from it.
//!
//! Every rule writes into a [`Draft`], a copy of the state to which each event is applied as it
//! is drafted: a rule always sees the state that its own events make, and whatever it drafts is
//! accepted by `apply` by construction. At the end `fill` plans whatever has a permit now, so
//! that whichever line frees a permit plans the next dispatch.

mod adopt;
mod bounds;
mod conditions;
mod dissolve;
mod draft;
mod ended;
mod enqueue;
mod fill;
mod gate;
mod lost;
mod member;
mod named;
mod needs;
mod operator;
mod plan;
mod post;
mod recover;
mod resume;
mod ship;
mod start;
mod stop;
mod suite;
mod tick;
mod verdict;

pub use bounds::{back_off, dispatch_due, next_due};
pub use dissolve::threshold;
pub use draft::{Draft, Ids};
pub use named::named_in;
pub use needs::{Need, NeedKind, is_held, may_start, needs, waiting_for};
pub use post::may_post;
pub(in crate::domain) use ship::front;
pub use stop::is_overdue;

use super::command::Command;
use super::event::Event;
use super::fact::{Fact, Input};
use super::refusal::Refusal;
use super::state::State;
use super::time::Now;

/// Decides what follows from a command or a fact. No events: nothing follows.
///
/// # Errors
/// [`Refusal`] when a command makes no sense now; a fact that has become stale is no error.
pub fn decide(
    state: &State,
    input: &Input,
    now: &Now,
    ids: &mut Ids,
) -> Result<Vec<Event>, Refusal> {
    let mut draft = Draft::new(state, now, ids);
    match input {
        Input::Command(command) => command_rule(&mut draft, command)?,
        Input::Fact(fact) => {
            fact_rule(&mut draft, fact)?;
            if !matches!(fact, Fact::Config(_)) {
                fill::fill(&mut draft);
            }
        }
    }
    Ok(draft.into_events())
}

fn command_rule(draft: &mut Draft<'_>, command: &Command) -> Result<(), Refusal> {
    match command {
        Command::Create(created, environment) => {
            draft.push(created.clone());
            draft.push(environment.clone());
            Ok(())
        }
        Command::Record(environment) => {
            draft.push(environment.clone());
            Ok(())
        }
        Command::Enqueue(work) => enqueue::enqueue(draft, work),
        Command::Pause { reason } => operator::pause(draft, reason.clone()),
        Command::Resume { reason } => operator::resume(draft, reason.clone()),
        Command::ResumeUnit { target, reason, base } => {
            resume::resume_unit(draft, target, reason.clone(), base.as_ref())
        }
        Command::Abandon { target, reason } => operator::abandon(draft, target, reason.clone()),
        Command::Stop { target, reason } => operator::stop(draft, target, reason.clone()),
        Command::Requeue { issue, reason } => operator::requeue(draft, issue, reason.clone()),
        Command::Reprioritize { target, priority, reason } => {
            operator::reprioritize(draft, target, *priority, reason.clone())
        }
        Command::Post(post) => post::post(draft, post),
        Command::Adopt { journal, place, insist } => adopt::adopt(draft, *journal, place, *insist),
        Command::Repaired(repaired) => {
            draft.push(repaired.clone());
            repaired.units.iter().for_each(|unit| start::hold_back_unit(draft, unit));
            Ok(())
        }
    }
}

fn fact_rule(draft: &mut Draft<'_>, fact: &Fact) -> Result<(), Refusal> {
    match fact {
        Fact::Tick(seen) => tick::tick(draft, seen),
        Fact::Config(seen) => tick::config(draft, seen),
        Fact::Base { branch, seen } => ship::base_seen(draft, branch, seen),
        Fact::Starting(started) => return start::starting(draft, started),
        Fact::NotStarted { dispatch, tried } => start::not_started(draft, *dispatch, *tried),
        Fact::Ended { dispatch, exit } => ended::ended(draft, *dispatch, exit),
        Fact::Gone { dispatch, remains } => lost::gone(draft, *dispatch, remains),
        Fact::Unsupervised { dispatch } => lost::unsupervised(draft, *dispatch),
        Fact::Unreadable { dispatch } => conditions::unreadable(draft, *dispatch),
        Fact::Stalled { dispatch } => stop::stalled(draft, *dispatch),
        Fact::Flooded { dispatch } => stop::flooded(draft, *dispatch),
        Fact::Integration { batch, result } => start::integration(draft, batch, result),
        Fact::IntegrationSeen { batch, landings } => recover::found(draft, batch, landings),
        Fact::Landing { batch, member, result } => member::landing(draft, batch, member, result),
        Fact::Rebase { batch, result } => ship::rebased(draft, batch, result),
        Fact::Ship { batch, result } => ship::shipped(draft, batch, result),
        Fact::Program { profile, found } => conditions::program(draft, profile, *found),
        Fact::Failed { batch, message } => {
            member::block(draft, batch, "reconcile-error", None, None, Some(message.clone()));
        }
    }
    Ok(())
}

//! What can happen: every event, by family, and the entry that carries events.
//!
//! An event is one fact in the past tense. Its JSON form is `{"type": "<kebab-case>", "data": {…}}`
//! and is a contract (`journal-schema/v1/`). Unknown *fields* of a known event are accepted.
//! Several events that happen together stand in one entry ([`crate::journal`] knows its bytes).

mod batch;
mod dispatch;
mod entry;
mod exit;
mod journal;
mod pinned;
mod queue;
mod scheduler;

pub use batch::*;
pub use dispatch::*;
pub use entry::*;
pub use exit::*;
pub use journal::*;
pub use pinned::*;
pub use queue::*;
pub use scheduler::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema version that this program writes.
pub const VERSION: u32 = 1;

/// The digest of the checked-in schema files of that version.
pub const SCHEMA_DIGEST: &str = include_str!("../../../journal-schema/v1/DIGEST");

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// One fact. Named in kebab-case, past tense.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "type", content = "data")]
        pub enum Event {
            $($(#[$doc])* #[serde(rename = $text)] $name($name),)+
        }

        impl Event {
            /// The names of all events, sorted as declared.
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            /// The event's name.
            pub fn name(&self) -> &'static str {
                match self { $(Event::$name(_) => $text,)+ }
            }

            /// The JSON Schema of each event's data, by name.
            pub fn data_schemas() -> Vec<(&'static str, schemars::Schema)> {
                vec![$(($text, schemars::schema_for!($name)),)+]
            }
        }

        $(impl From<$name> for Event {
            fn from(data: $name) -> Self { Event::$name(data) }
        })+
    };
}

events! {
    /// The first entry of every journal.
    JournalCreated = "journal-created",
    /// The journal goes on in another place, as a journal of its own.
    JournalAdopted = "journal-adopted",
    /// Bytes from a damaged entry on were cut off on an operator's word.
    JournalRepaired = "journal-repaired",
    /// A write that never finished was cut off.
    TailQuarantined = "tail-quarantined",
    /// Both slots of `head` were unreadable: the acknowledged length was unknown.
    HeadUnreadable = "head-unreadable",
    /// The search path for dispatches, recorded at `init`.
    EnvironmentRecorded = "environment-recorded",

    /// A configuration came into force.
    ConfigApplied = "config-applied",
    /// A condition that lasts began, or lasts still.
    ConditionRaised = "condition-raised",
    /// A condition that lasted is over.
    ConditionCleared = "condition-cleared",
    /// No tick came for longer than `tick_gap`.
    TickGap = "tick-gap",
    /// The clock is behind a stamp of the journal.
    ClockBehind = "clock-behind",
    /// An operator paused the scheduler.
    SchedulerPaused = "scheduler-paused",
    /// An operator lifted a pause.
    SchedulerResumed = "scheduler-resumed",
    /// The scheduler paused itself: a wall, not bad issues.
    DispatchUnhealthy = "dispatch-unhealthy",
    /// Starting is suspended: supervisors do not come up.
    SpawnFailing = "spawn-failing",
    /// Starting works again.
    SpawnRecovered = "spawn-recovered",
    /// A profile cannot be executed and is suspended.
    ProfileSuspended = "profile-suspended",
    /// A suspended profile can be executed again.
    ProfileRestored = "profile-restored",
    /// An operator asked for something; the rest of the line is what follows.
    OperatorActed = "operator-acted",

    /// An issue was queued.
    IssueEnqueued = "issue-enqueued",
    /// A batch was formed.
    BatchFormed = "batch-formed",
    /// A batch takes no more members and is ready.
    BatchSealed = "batch-sealed",
    /// An issue is done.
    IssueDone = "issue-done",
    /// An issue has failed.
    IssueFailed = "issue-failed",
    /// An issue was stopped by an operator.
    IssueStopped = "issue-stopped",
    /// An issue cannot go on by itself.
    IssueBlocked = "issue-blocked",
    /// What blocked an issue is gone.
    IssueUnblocked = "issue-unblocked",
    /// A parked issue was queued again.
    IssueRequeued = "issue-requeued",
    /// A unit's priority was changed.
    Reprioritized = "reprioritized",

    /// A command is to be run.
    DispatchPlanned = "dispatch-planned",
    /// The command's process exists and has not run one instruction of the command.
    DispatchStarted = "dispatch-started",
    /// The command ended, or never ran.
    DispatchExited = "dispatch-exited",
    /// Supervisor and command are gone without a receipt.
    DispatchLost = "dispatch-lost",
    /// Planned too long ago and never started.
    DispatchExpired = "dispatch-expired",
    /// Replaced, or its unit is over, before it started.
    DispatchSuperseded = "dispatch-superseded",
    /// The supervisor died; the command runs on.
    SupervisionLost = "supervision-lost",
    /// A stop was decided.
    StopRequested = "stop-requested",
    /// A stop of a member's agent was decided.
    MemberStopRequested = "member-stop-requested",
    /// A stronger reason for a stop under way.
    StopReasonRaised = "stop-reason-raised",
    /// SIGTERM was not enough.
    KillEscalated = "kill-escalated",
    /// SIGKILL was not enough.
    KillIneffective = "kill-ineffective",
    /// A unit gave its slot back.
    SlotReleased = "slot-released",
    /// An agent reported.
    MilestonePosted = "milestone-posted",
    /// Unsaved work was put on a rescue ref.
    WorkRescued = "work-rescued",
    /// A tree was removed.
    TreeRemoved = "tree-removed",
    /// A tree could not be removed and is left to the operator.
    TreeKept = "tree-kept",

    /// A batch began; what it is judged by is pinned here.
    BatchStarted = "batch-started",
    /// The integration branch was made.
    IntegrationCreated = "integration-created",
    /// A member became current.
    MemberAssigned = "member-assigned",
    /// A member's tip is pinned and goes to the gates.
    GatesPlanned = "gates-planned",
    /// A member passed all gates.
    MemberVerified = "member-verified",
    /// A member's landing is fixed: one possible commit.
    LandingPlanned = "landing-planned",
    /// A member's work is on the integration branch.
    MemberLanded = "member-landed",
    /// The batch goes on with its next member.
    MemberAdvanced = "member-advanced",
    /// A member left the batch.
    MemberEvicted = "member-evicted",
    /// A second resolution of a member, which changed nothing.
    EvictionDuplicate = "eviction-duplicate",
    /// A member went back to the queue.
    MemberRequeued = "member-requeued",
    /// A member followed the wrong procedure and is started once more.
    MemberReprompted = "member-reprompted",
    /// A move that an older engine missed is made up for.
    MemberAdvanceRecovered = "member-advance-recovered",
    /// The batch's suite is due.
    BatchValidating = "batch-validating",
    /// The suite passed, or there is none.
    BatchValidated = "batch-validated",
    /// A batch cannot go on by itself.
    BatchBlocked = "batch-blocked",
    /// A blocked batch goes on.
    BatchResumed = "batch-resumed",
    /// A gate is asked once more for a blocked batch.
    RecheckPlanned = "recheck-planned",
    /// The threshold was passed, but members have landed.
    DissolveSuppressed = "dissolve-suppressed",
    /// The batch ends as soon as its agents are gone.
    BatchDissolving = "batch-dissolving",
    /// The batch is over, undone.
    BatchDissolved = "batch-dissolved",
    /// A unit is stopped as soon as its agents are gone.
    UnitStopping = "unit-stopping",
    /// The batch was stopped by an operator.
    BatchStopped = "batch-stopped",
    /// The base branch goes from `old` to `new`.
    BatchShipping = "batch-shipping",
    /// The base moved: the landed commits go onto it.
    BatchRebasing = "batch-rebasing",
    /// The landed commits are on the new base.
    BatchRebased = "batch-rebased",
    /// The batch's work is on the base branch, or shipped as configured.
    BatchMerged = "batch-merged",
    /// The batch is over, done.
    BatchDone = "batch-done",
}

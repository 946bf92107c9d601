//! The arguments. The help texts are the documentation.

use super::text::Text;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// When output has colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// The state directory (default: `$SCHED_STATE_DIR`, or `<git common dir>/sched`, or `.sched`
    /// above the current directory)
    #[arg(long, global = true, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// The configuration file (default: the one named at `init`)
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    /// Say more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Say less
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
}

/// Runs batches of work, gates them, lands them or evicts them, and ships the whole. All state
/// is one journal; a command that starts after a crash folds it and pays what is owed.
#[derive(Debug, Parser)]
#[command(name = "sched", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Example:\n  sched init && sched enqueue --issues 101,102 --batch b1\n  \
                  sched run --until-idle")]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// An issue or a batch.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub struct TargetArgs {
    /// The issue
    #[arg(long, value_name = "N")]
    pub issue: Option<String>,
    /// The batch
    #[arg(long, value_name = "B")]
    pub batch: Option<String>,
}

/// An issue, a batch, or neither.
#[derive(Debug, Clone, Args)]
#[group(required = false, multiple = false)]
pub struct OptionalTarget {
    /// The issue
    #[arg(long, value_name = "N")]
    pub issue: Option<String>,
    /// The batch
    #[arg(long, value_name = "B")]
    pub batch: Option<String>,
}

/// How strong an agent is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierArg {
    /// For work without judgement.
    Mechanical,
    /// The usual one.
    Mid,
    /// For hard work.
    Strong,
}

/// How members of a batch work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// One at a time.
    Serial,
    /// Several at a time.
    Parallel,
}

/// What is queued.
#[derive(Debug, Clone, Args)]
pub struct EnqueueArgs {
    /// The issues: ids, and ranges of numbers, as in `101,105..109`; without them `--batch` seals a
    /// batch that was left open by `--more`
    #[arg(long, value_name = "LIST", required_unless_present = "batch")]
    pub issues: Option<String>,
    /// What each of them needs to be done before
    #[arg(long, value_name = "LIST")]
    pub deps: Option<String>,
    /// How strong an agent is asked for
    #[arg(long, value_enum)]
    pub tier: Option<TierArg>,
    /// High first (default: 0 for an issue, 10 for a batch)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// The batch they are members of
    #[arg(long, value_name = "B")]
    pub batch: Option<String>,
    /// How its members work
    #[arg(long, value_enum, requires = "batch")]
    pub mode: Option<ModeArg>,
    /// More members are to come: do not seal the batch yet
    #[arg(long, requires = "batch")]
    pub more: bool,
    /// The title of a single issue
    #[arg(long, value_name = "TEXT", value_parser = Text)]
    pub title: Option<String>,
    /// What the agents are told instead of the profile's prompt
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// The profile that does the work
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
}

/// What an agent reports.
#[derive(Debug, Clone, Args)]
pub struct PostArgs {
    /// Only ask whether this dispatch may still report
    #[arg(long, conflicts_with_all = ["phase", "status"])]
    pub check: bool,
    /// The phase: `plan`, `implement`, `review` …
    #[arg(long, value_name = "P", value_parser = Text, required_unless_present = "check")]
    pub phase: Option<String>,
    /// Where it stands: `started`, `done`, `partial`, `blocked` …
    #[arg(long, value_name = "S", value_parser = Text, required_unless_present = "check")]
    pub status: Option<String>,
    /// A fact
    #[arg(long, value_name = "K=V", value_parser = Text)]
    pub key: Vec<String>,
    /// What was used, as in `cost_usd=0.42,tokens=81234`
    #[arg(long, value_name = "K=V,…", value_parser = Text)]
    pub usage: Option<String>,
    /// A short text
    #[arg(long, value_name = "TEXT", value_parser = Text)]
    pub detail: Option<String>,
}

/// The journal itself.
#[derive(Debug, Clone, Subcommand)]
pub enum JournalCommand {
    /// Is every byte as it was written? Finds all damage, and changes nothing
    #[command(after_help = "Example:\n  sched journal verify --json")]
    Verify {
        /// Journal files (default: the one in the state directory)
        files: Vec<PathBuf>,
    },
    /// The state as it was at an entry or a time
    #[command(after_help = "Example:\n  sched journal replay --at 42 --json")]
    Replay {
        /// An entry's number, or a time like 2026-11-30T01:30:53.123Z (default: the end)
        #[arg(long, value_name = "SEQ|TIME")]
        at: Option<String>,
        /// A journal file (default: the one in the state directory)
        file: Option<PathBuf>,
    },
    /// Give up everything from an entry on; the bytes go to quarantine
    #[command(after_help = "Example:\n  sched journal repair --from-seq 42 --yes")]
    Repair {
        /// The first entry that is given up
        #[arg(long, value_name = "N")]
        from_seq: u64,
        /// Really do it
        #[arg(long)]
        yes: bool,
    },
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the main job on a real example in an empty directory, with a crash on the way
    #[command(after_help = "Example:\n  sched demo /tmp/sched-demo")]
    Demo {
        /// An empty or new directory (default: a new one)
        dir: Option<PathBuf>,
    },
    /// Make the state directory, a commented `sched.toml` and the first journal entry; in a
    /// repository that was renamed, record where it is now
    #[command(after_help = "Example:\n  cd my-repository && sched init")]
    Init {
        /// Take over a copied or restored state directory
        #[arg(long)]
        adopt: bool,
    },
    /// Queue work: issues on their own, or as a batch
    #[command(after_help = "Example:\n  sched enqueue --issues 101,105..109 --batch b1")]
    Enqueue(EnqueueArgs),
    /// One pass until quiet; prints what it did, and nothing when nothing
    #[command(after_help = "Example (crontab):\n  * * * * * cd /srv/app && sched tick")]
    Tick,
    /// Tick in the foreground
    #[command(after_help = "Example:\n  sched run --until-idle")]
    Run {
        /// Leave when all is quiet: 0 when nothing needs a person, else 1
        #[arg(long)]
        until_idle: bool,
        /// How often to tick
        #[arg(long, value_name = "TIME", default_value = "10s")]
        interval: String,
    },
    /// What runs, what waits and for what, what needs a person
    #[command(after_help = "Example:\n  sched status --json")]
    Status,
    /// Everything about one unit, dispatch or entry
    #[command(after_help = "Example:\n  sched show batch:b1/103")]
    Show {
        /// `issue:101`, `batch:b1`, `batch:b1/103`, a dispatch id or its beginning, or a number
        what: String,
    },
    /// An agent's output
    #[command(after_help = "Example:\n  sched logs -f 0193a7c2")]
    Logs {
        /// A dispatch id or its beginning
        dispatch: String,
        /// Follow it until the dispatch is over
        #[arg(short, long)]
        follow: bool,
    },
    /// The chain of entries that brought a unit where it is, newest last
    #[command(after_help = "Example:\n  sched why batch:b1/103")]
    Why {
        /// `issue:101`, `batch:b1` or `batch:b1/103`
        unit: String,
    },
    /// Entries, one line of prose for each event
    #[command(after_help = "Example:\n  sched log --unit batch:b1 --type member-evicted")]
    Log {
        /// Only about this unit
        #[arg(long, value_name = "U")]
        unit: Option<String>,
        /// Only from this time on
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Only this type of event
        #[arg(long, value_name = "TYPE")]
        r#type: Option<String>,
        /// Follow the journal
        #[arg(short, long)]
        follow: bool,
    },
    /// Start no new agents; what runs goes on
    #[command(after_help = "Example:\n  sched pause --reason 'disk is being replaced'")]
    Pause {
        /// Why
        #[arg(long, value_name = "R", value_parser = Text)]
        reason: Option<String>,
    },
    /// Lift a pause, or let a blocked unit go on
    #[command(after_help = "Example:\n  sched resume --batch b7")]
    Resume {
        /// What is blocked; neither: the whole scheduler is paused.
        #[command(flatten)]
        target: OptionalTarget,
        /// Why
        #[arg(long, value_name = "R", value_parser = Text)]
        reason: Option<String>,
    },
    /// Fail an issue, or dissolve a batch: its members go back to the queue
    #[command(after_help = "Example:\n  sched abandon --batch b7 --reason 'wrong base'")]
    Abandon {
        /// What.
        #[command(flatten)]
        target: TargetArgs,
        /// Why
        #[arg(long, value_name = "R", value_parser = Text)]
        reason: Option<String>,
    },
    /// End an issue or a batch without requeueing anything
    #[command(after_help = "Example:\n  sched stop --issue 103")]
    Stop {
        /// What.
        #[command(flatten)]
        target: TargetArgs,
        /// Why
        #[arg(long, value_name = "R", value_parser = Text)]
        reason: Option<String>,
    },
    /// Queue an evicted or handed-back issue again
    #[command(after_help = "Example:\n  sched requeue --issue 103")]
    Requeue {
        /// The issue
        #[arg(long, value_name = "N")]
        issue: String,
        /// Why
        #[arg(long, value_name = "R", value_parser = Text)]
        reason: Option<String>,
    },
    /// Change a priority; the age stays
    #[command(after_help = "Example:\n  sched reprioritize --batch b7 --priority 50")]
    Reprioritize {
        /// What.
        #[command(flatten)]
        target: TargetArgs,
        /// High first
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        priority: i32,
        /// Why
        #[arg(long, value_name = "R", value_parser = Text)]
        reason: Option<String>,
    },
    /// For agents: report a milestone
    #[command(after_help = "Example:\n  sched post --phase review --status done")]
    Post(PostArgs),
    /// Verify, replay or repair the journal
    #[command(subcommand, after_help = "Example:\n  sched journal verify")]
    Journal(JournalCommand),
    /// Did the scheduler keep its promises? Checks the whole journal, and changes nothing
    ///
    /// The rules, by their numbers in the design:
    ///   1  no dispatch is started twice; no unit has two live agent dispatches
    ///   2  a slot is held by one unit at a time, and never more than `max_slots` are held
    ///   3  each started dispatch ends exactly once, or is live still
    ///   4  a resolved member is not dispatched again; each member has exactly one outcome
    ///   5  an eviction's line holds its slot's release and its batch's next move
    ///   6  a kill comes at least `kill_escalation` after its stop request
    ///  11  a threshold dissolve only above its threshold, never over landed members
    ///  12  dependencies are satisfied before dispatch
    ///  13  times never decrease; every decision names its evidence
    ///
    /// Rules 7 to 10 and 14 concern leases, lifecycles, builds, resources and runs, which do not
    /// exist yet.
    ///
    /// Exit code 1 when there is any finding; a damaged journal is audited up to its damage.
    #[command(verbatim_doc_comment, after_help = "Example:\n  sched audit --json")]
    Audit {
        /// Journal files (default: the one in the state directory)
        files: Vec<PathBuf>,
    },
    /// Look for what may go wrong here, each with its cure
    #[command(after_help = "Example:\n  sched doctor")]
    Doctor,
    /// Print a shell's completions
    #[command(after_help = "Example:\n  sched completions bash > sched.bash && . ./sched.bash")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Example:\n  sched man | man -l -")]
    Man,
    /// Supervise one dispatch
    #[command(hide = true)]
    Supervise {
        /// The dispatch
        dispatch: String,
    },
    /// Rescue and remove trees for a dispatch
    #[command(hide = true)]
    ReclaimTrees {
        /// The dispatch
        dispatch: String,
        /// The state directory
        dir: PathBuf,
    },
}

//! Everything that can be wrong with a journal.

use std::io;
use std::path::PathBuf;

/// What an error means for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Something failed: 1.
    Failed,
    /// There is no such thing: 4.
    NoSuch,
    /// Damaged, or not writable: 5.
    Damaged,
    /// The lock was not obtained in time: 6.
    Locked,
    /// The program is older than the journal: 7.
    TooOld,
}

/// What went wrong with a journal. Paths and offsets are always inside.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// There is no journal.
    #[error("there is no journal in `{}`", dir.display())]
    Missing {
        /// The state directory.
        dir: PathBuf,
    },
    /// There is a journal already.
    #[error("there is a journal in `{}` already", dir.display())]
    Exists {
        /// The state directory.
        dir: PathBuf,
    },
    /// Reading or writing failed.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Of which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nothing was appended; the file is as it was.
    #[error("cannot append to `{}`: {source}; it is as it was before", path.display())]
    NotAppended {
        /// The journal.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A sync failed: what the disk has is unknown to this process.
    #[error("cannot sync `{}`: {source}; this process must not trust its cache", path.display())]
    Poisoned {
        /// The journal.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The lock was not obtained in time.
    #[error("`{}` is held by {holder}", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
        /// Who holds it, as it says.
        holder: String,
    },
    /// It is not an ordinary file of ours.
    #[error("`{}` is {found}: expected {expected}", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The state directory's file system loses locks or writes.
    #[error("`{}` is on {filesystem}: writing a journal there is refused", path.display())]
    Network {
        /// The state directory.
        path: PathBuf,
        /// Its file system's name.
        filesystem: String,
    },
    /// A line is not as it was written.
    #[error(
        "`{}` is damaged at byte {offset}, entry {seq}: expected {expected}, found {found}",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where the line begins.
        offset: u64,
        /// Which entry it should be.
        seq: u64,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// An acknowledged entry is another one now.
    #[error(
        "`{}` was rewritten: entry {seq}, ending at byte {offset}, had hash {expected}, \
         found {found}",
        path.display()
    )]
    Rewritten {
        /// The file.
        path: PathBuf,
        /// Where that entry ends.
        offset: u64,
        /// Which entry.
        seq: u64,
        /// Its acknowledged hash.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Entries that were acknowledged are gone.
    #[error(
        "`{}` ends at byte {offset} with entry {seq} ({found}); entry {acknowledged} ({expected}) \
         had been acknowledged",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Where it ends.
        offset: u64,
        /// Its last valid entry.
        seq: u64,
        /// Its hash.
        found: String,
        /// The last acknowledged entry.
        acknowledged: u64,
        /// Its hash.
        expected: String,
    },
    /// An entry of a newer version.
    #[error(
        "entry {seq} of `{}` has version {version}: this program knows up to {known}",
        path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Which entry.
        seq: u64,
        /// Its version.
        version: u64,
        /// The newest version this program knows.
        known: u32,
    },
    /// A journal of another draft of an open version.
    #[error("`{}` was begun by another draft of version {version} ({found})", path.display())]
    OtherDraft {
        /// The file.
        path: PathBuf,
        /// The open version.
        version: u32,
        /// The draft it was begun with.
        found: String,
    },
    /// An entry is larger than allowed.
    #[error("{what} has {bytes} bytes: at most {limit} are allowed")]
    TooLarge {
        /// The event or the line.
        what: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Folding an entry failed: what it says cannot have happened.
    #[error("entry {seq} of `{}`, at byte {offset}: {message}", path.display())]
    Illegal {
        /// The file.
        path: PathBuf,
        /// Which entry.
        seq: u64,
        /// Where it begins.
        offset: u64,
        /// What is wrong.
        message: String,
    },
}

impl JournalError {
    /// What it means for the exit code.
    pub fn category(&self) -> Category {
        use JournalError as E;
        match self {
            E::Missing { .. } => Category::NoSuch,
            E::Exists { .. } | E::TooLarge { .. } => Category::Failed,
            E::Locked { .. } => Category::Locked,
            E::TooNew { .. } | E::OtherDraft { .. } => Category::TooOld,
            _ => Category::Damaged,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        use JournalError as E;
        Some(match self {
            E::Missing { .. } => "make one:  sched init".into(),
            E::Exists { .. } => "see what is in it:  sched status".into(),
            E::Locked { .. } => "wait for it, or end that process, then try again".into(),
            E::TooNew { .. } | E::OtherDraft { .. } => {
                "use the program that wrote it; nothing was changed".into()
            }
            E::NotAppended { .. } => "make room, then run the command again".into(),
            E::Poisoned { .. } => "check the disk, then run the command again".into(),
            E::Corrupt { seq, .. } | E::Illegal { seq, .. } => format!(
                "nothing was changed; to go on without it:  \
                 sched journal repair --from-seq {seq} --yes"
            ),
            E::Rewritten { .. } | E::Truncated { .. } => {
                "nothing was changed; bring back the newest copy of the journal, or see:  \
                 sched journal verify"
                    .into()
            }
            E::Network { .. } => "choose a local directory with --state-dir".into(),
            _ => return None,
        })
    }
}

//! Commits as git stores them: read whole, made without a working tree.

use super::run::{Call, EMAIL, Launcher, NAME};
use crate::domain::ids::CommitId;
use crate::domain::time::Timestamp;
use crate::engine::ports::git::GitError;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Who made a commit, and when, in git's raw form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) name: Vec<u8>,
    pub(super) email: Vec<u8>,
    /// `<seconds> <zone>`.
    pub(super) date: String,
}

/// A commit, read or to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) tree: String,
    pub(super) parents: Vec<CommitId>,
    pub(super) author: Person,
    pub(super) committer: Person,
    /// The message's encoding, where it is not UTF-8.
    pub(super) encoding: Option<Vec<u8>>,
    pub(super) message: Vec<u8>,
}

impl Person {
    /// The scheduler itself.
    pub(super) fn sched(time: Timestamp) -> Self {
        Person { name: NAME.into(), email: EMAIL.into(), date: raw_date(time) }
    }

    /// The same person at another time.
    pub(super) fn at(&self, time: Timestamp) -> Self {
        Person { date: raw_date(time), ..self.clone() }
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let open = line.iter().position(|b| *b == b'<')?;
        let close = line.iter().rposition(|b| *b == b'>')?;
        let email = line.get(open + 1..close)?.to_vec();
        let date = String::from_utf8_lossy(line.get(close + 1..)?).trim().to_owned();
        Some(Person { name: line[..open].trim_ascii().to_vec(), email, date })
    }

    /// Git refuses a name of nothing but these; such an author becomes the scheduler.
    fn usable_name(&self) -> &OsStr {
        let crud = |b: &u8| *b <= 32 || b".,:;<>\"\\'".contains(b);
        let usable = !self.name.iter().all(crud);
        OsStr::from_bytes(if usable { &self.name } else { NAME.as_bytes() })
    }
}

fn raw_date(time: Timestamp) -> String {
    format!("{} +0000", time.seconds().max(0))
}

impl Commit {
    fn parse(raw: &[u8]) -> Option<Self> {
        let end = raw.windows(2).position(|w| w == b"\n\n").unwrap_or(raw.len());
        let mut tree = None;
        let mut parents = Vec::new();
        let (mut author, mut committer, mut encoding) = (None, None, None);
        for line in raw[..end].split(|b| *b == b'\n') {
            let space = line.iter().position(|b| *b == b' ').unwrap_or(line.len());
            let value = line.get(space + 1..).unwrap_or_default();
            let text = || String::from_utf8_lossy(value).into_owned();
            match &line[..space] {
                b"tree" => tree = Some(text()),
                b"parent" => parents.push(CommitId(text())),
                b"author" => author = Person::parse(value),
                b"committer" => committer = Person::parse(value),
                b"encoding" => encoding = Some(value.to_vec()),
                _ => {}
            }
        }
        let message = raw.get(end + 2..).unwrap_or_default().to_vec();
        let (author, committer) = (author?, committer?);
        Some(Commit { tree: tree?, parents, author, committer, encoding, message })
    }
}

impl Launcher {
    /// Reads a commit.
    pub(super) fn commit(&self, id: &CommitId) -> Result<Commit, GitError> {
        let raw = self.git("cat-file").args(["commit", &id.0]).bytes()?;
        Commit::parse(&raw).ok_or_else(|| GitError::Failed {
            command: "cat-file".into(),
            message: format!("`{id}` is not a whole commit"),
        })
    }

    /// Makes a commit object. The same commit always gets the same id.
    pub(super) fn make_commit(&self, commit: &Commit) -> Result<CommitId, GitError> {
        make_commit_by(self.git("commit-tree"), commit)
    }
}

/// Makes a commit object by a call of `commit-tree`, in whatever repository that is.
pub(super) fn make_commit_by(call: Call<'_>, commit: &Commit) -> Result<CommitId, GitError> {
    let system = |error: std::io::Error| GitError::System {
        path: std::env::temp_dir().display().to_string(),
        message: error.to_string(),
    };
    let mut message = tempfile::NamedTempFile::new().map_err(system)?;
    message.write_all(&commit.message).map_err(system)?;
    message.flush().map_err(system)?;
    let mut encoding = OsString::from("i18n.commitEncoding=");
    encoding.push(match &commit.encoding {
        Some(name) => OsString::from_vec(name.clone()),
        None => "UTF-8".into(),
    });
    let call = call
        .config(encoding)
        .env("GIT_AUTHOR_NAME", commit.author.usable_name())
        .env("GIT_AUTHOR_EMAIL", OsStr::from_bytes(&commit.author.email))
        .env("GIT_AUTHOR_DATE", format!("@{}", commit.author.date))
        .env("GIT_COMMITTER_NAME", commit.committer.usable_name())
        .env("GIT_COMMITTER_EMAIL", OsStr::from_bytes(&commit.committer.email))
        .env("GIT_COMMITTER_DATE", format!("@{}", commit.committer.date))
        .arg(&commit.tree)
        .args(commit.parents.iter().flat_map(|p| ["-p", p.as_str()]))
        .arg("-F")
        .arg(message.path());
    call.line().map(CommitId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_read_with_its_odd_headers() {
        let raw = b"tree aa\nparent bb\nparent cc\nauthor A <B> <a@b> 12 -0130\n\
            committer \xe9 <c@d> 13 +0000\nencoding ISO-8859-1\ngpgsig -----BEGIN\n  x\n -----END\
            \n\nsubject\n\nbody\n";
        let commit = Commit::parse(raw).unwrap();
        assert_eq!(commit.parents, vec!["bb".into(), "cc".into()]);
        assert_eq!(commit.author.date, "12 -0130");
        assert_eq!(commit.committer.name, b"\xe9");
        assert_eq!(commit.encoding.as_deref(), Some(&b"ISO-8859-1"[..]));
        assert_eq!(commit.message, b"subject\n\nbody\n");
    }
}

//! What kind of repository, and which git: for `doctor` and `init`.

use super::registry::option;
use super::run::Launcher;
use crate::engine::ports::git::{GitError, GitVersion, Repository};

impl Launcher {
    pub(super) fn discover(&self) -> Result<Option<Repository>, GitError> {
        let found = self.git("rev-parse").arg("--git-dir").output()?;
        if found.code != Some(0) {
            let none = found.stderr.contains("not a git repository")
                || found.stderr.contains("cannot change to");
            return if none { Ok(None) } else { Err(found.failure()) };
        }
        let main = self.checkouts()?.into_iter().find(|c| c.main);
        let main_tree = main.filter(|c| !c.bare).map(|c| c.path.display().to_string());
        let call = self.git("symbolic-ref").option(option("--git-dir=", &self.common_dir()?));
        let head = String::from_utf8_lossy(&call.args(["--quiet", "HEAD"]).output()?.stdout)
            .trim()
            .to_owned();
        Ok(Some(Repository {
            main_tree,
            common_dir: self.common_dir()?.display().to_string(),
            head: head.strip_prefix("refs/heads/").map(str::to_owned),
        }))
    }

    pub(super) fn version(&self) -> Result<Option<GitVersion>, GitError> {
        match self.git("version").at("/").line() {
            Ok(text) => Ok(parse(&text)),
            Err(GitError::System { path, .. }) if path == "git" => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn parse(text: &str) -> Option<GitVersion> {
    let number = text.strip_prefix("git version ")?.split_whitespace().next()?;
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    Some(GitVersion(parts.next()?, parts.next()?, parts.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_every_vendors_text() {
        assert_eq!(parse("git version 2.47.3"), Some(GitVersion(2, 47, 3)));
        assert_eq!(parse("git version 2.39.5 (Apple Git-154)"), Some(GitVersion(2, 39, 5)));
        assert_eq!(parse("git version 2.45.0.rc1.windows.1"), Some(GitVersion(2, 45, 0)));
        assert_eq!(parse("hub"), None);
    }
}

//! Where working trees are, computed from text alone: no link is followed, no file looked at.

/// `template` below `repository`, absolute and without `.` and `..`.
pub(super) fn worktree_root(template: &str, repository: &str) -> String {
    let repository = normal(repository);
    let name = repository.rsplit('/').next().unwrap_or_default();
    let root = template.replace("{repo}", name);
    if root.starts_with('/') { normal(&root) } else { normal(&format!("{repository}/{root}")) }
}

fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_absolute_and_normal() {
        for (template, repository, root) in [
            ("../{repo}.worktrees", "/home/a/tool", "/home/a/tool.worktrees"),
            ("../{repo}.worktrees", "/home/a/x/../tool/", "/home/a/tool.worktrees"),
            (".trees", "/home/a/tool", "/home/a/tool/.trees"),
            ("/srv//{repo}/./t/", "/home/a/tool", "/srv/tool/t"),
            ("../../../../x", "/a", "/x"),
            ("../{repo}.worktrees", "/", "/.worktrees"),
        ] {
            assert_eq!(worktree_root(template, repository), root);
        }
    }
}

//! Placeholders in commands and prompts. Values are data: they are never expanded again.

use crate::domain::event::Tier;

/// What placeholders stand for.
#[derive(Debug, Clone, Copy)]
pub struct Placeholders<'a> {
    /// `{issue}`.
    pub issue: &'a str,
    /// `{batch}`.
    pub batch: &'a str,
    /// `{title}`.
    pub title: &'a str,
    /// `{worktree}`.
    pub worktree: &'a str,
    /// `{branch}`.
    pub branch: &'a str,
    /// `{model}`.
    pub model: &'a str,
    /// `{tier}`.
    pub tier: Tier,
}

/// Puts values in. Unknown braces stay as they are, and so does `{prompt_file}`, which is known
/// only where the command is started.
pub fn expand(template: &str, places: &Placeholders<'_>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let close = rest.find('}');
        let value = close.and_then(|end| value(&rest[1..end], places));
        match (close, value) {
            (Some(end), Some(value)) => {
                out.push_str(value);
                rest = &rest[end + 1..];
            }
            _ => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn value<'a>(name: &str, places: &Placeholders<'a>) -> Option<&'a str> {
    match name {
        "issue" => Some(places.issue),
        "batch" => Some(places.batch),
        "title" => Some(places.title),
        "worktree" => Some(places.worktree),
        "branch" => Some(places.branch),
        "model" => Some(places.model),
        "tier" => Some(match places.tier {
            Tier::Mechanical => "mechanical",
            Tier::Mid => "mid",
            Tier::Strong => "strong",
        }),
        _ => None,
    }
}

/// The worktree root as an absolute path, `.` and `..` resolved in the text.
pub(super) fn worktree_root(template: &str, repository: &str) -> String {
    let name = repository.rsplit('/').find(|part| !part.is_empty()).unwrap_or("repository");
    let path = template.replace("{repo}", name);
    let joined = if path.starts_with('/') { path } else { format!("{repository}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
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
    fn a_value_is_never_expanded_again() {
        let places = Placeholders {
            issue: "101",
            batch: "b1",
            title: "{issue} and {nothing}",
            worktree: "/w",
            branch: "x",
            model: "m",
            tier: Tier::Mid,
        };
        let text = expand("{title} {issue} {tier} {prompt_file} {", &places);
        assert_eq!(text, "{issue} and {nothing} 101 mid {prompt_file} {");
    }

    #[test]
    fn the_worktree_root_is_a_sibling_of_the_repository() {
        assert_eq!(worktree_root("../{repo}.worktrees", "/srv/app"), "/srv/app.worktrees");
        assert_eq!(worktree_root("/trees/./x/../{repo}", "/srv/app"), "/trees/app");
    }
}

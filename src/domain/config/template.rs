//! Placeholders in commands and prompts.

use crate::domain::event::Tier;

/// What the placeholders of a command or prompt stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholders<'a> {
    /// `{issue}`: the issue's id.
    pub issue: &'a str,
    /// `{batch}`: the batch's id; empty for a stand-alone issue.
    pub batch: &'a str,
    /// `{title}`: the issue's title.
    pub title: &'a str,
    /// `{worktree}`: the working tree, absolute.
    pub worktree: &'a str,
    /// `{branch}`: the branch.
    pub branch: &'a str,
    /// `{model}`: the model of the profile at this tier.
    pub model: &'a str,
    /// `{tier}`: how strong an agent is asked for.
    pub tier: Tier,
}

impl<'a> Placeholders<'a> {
    fn value(&self, name: &str) -> Option<&'a str> {
        Some(match name {
            "issue" => self.issue,
            "batch" => self.batch,
            "title" => self.title,
            "worktree" => self.worktree,
            "branch" => self.branch,
            "model" => self.model,
            "tier" => tier_name(self.tier),
            _ => return None,
        })
    }
}

/// Replaces each known placeholder once.
///
/// Other braces, `{prompt_file}` among them, stay as they are. A value is never looked at again,
/// so a title that contains `{branch}` is only text.
pub fn expand(template: &str, places: &Placeholders<'_>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let named = rest[1..]
            .find('}')
            .and_then(|end| places.value(&rest[1..=end]).map(|value| (value, &rest[end + 2..])));
        match named {
            Some((value, after)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// A tier as the configuration writes it.
pub(super) fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Mechanical => "mechanical",
        Tier::Mid => "mid",
        Tier::Strong => "strong",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Placeholders<'static> {
        Placeholders {
            issue: "101",
            batch: "b1",
            title: "use {branch} é",
            worktree: "/w",
            branch: "sched/101",
            model: "opus",
            tier: Tier::Strong,
        }
    }

    #[test]
    fn each_placeholder_is_replaced_and_a_value_is_never_expanded_again() {
        let all = "{issue}|{batch}|{title}|{worktree}|{branch}|{model}|{tier}";
        assert_eq!(expand(all, &places()), "101|b1|use {branch} é|/w|sched/101|opus|strong");
    }

    #[test]
    fn other_braces_stay_as_they_are() {
        for same in ["", "{prompt_file}", "{}", "{", "}", "{{", "{ issue }", "{é", "a{\"b\":{}}"] {
            assert_eq!(expand(same, &places()), same);
        }
        assert_eq!(expand("{{issue}} {x{issue}", &places()), "{101} {x101");
    }
}

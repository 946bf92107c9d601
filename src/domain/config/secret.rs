//! What looks like a secret. The configuration is journaled as it is, and a journal is kept.

/// Whether an environment variable looks as if its value were a secret.
pub(super) fn looks_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let value = value.to_ascii_lowercase();
    ["TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
        || name.ends_with("_KEY")
        || value.contains("bearer ")
        || value.contains("--token")
        || has_url_password(&value)
}

fn has_url_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        user.and_then(|user| user.split_once(':')).is_some_and(|(_, word)| !word.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_of_secrets_are_recognised() {
        for (name, value) in [
            ("GITHUB_TOKEN", "x"),
            ("my_secret_thing", "x"),
            ("PGPASSWORD", "x"),
            ("ANTHROPIC_API_KEY", "x"),
            ("HEADER", "Authorization: Bearer abc"),
            ("REMOTE", "https://me:pw@example.org/x"),
            ("ARGS", "--token abc"),
        ] {
            assert!(looks_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("CARGO_TERM_COLOR", "never"),
            ("KEYBOARD", "us"),
            ("REMOTE", "https://example.org:8080/a@b:c"),
            ("REMOTE", "ssh://git@example.org/x"),
        ] {
            assert!(!looks_secret(name, value), "{name}");
        }
    }
}

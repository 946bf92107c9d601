//! What looks like a secret. The configuration is journaled as it is, and a journal is kept.

/// Whether an environment variable looks as if its value were a secret.
pub(super) fn looks_secret(name: &str, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    names_secret(name)
        || value.contains("bearer ")
        || ["--token", "--password", "--api-key"].iter().any(|flag| value.contains(flag))
        || has_url_password(&value)
        || has_assignment(&value)
}

fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD"].iter().any(|word| name.contains(word))
        || ["_KEY", "-KEY", "APIKEY"].iter().any(|end| name.ends_with(end))
        || name == "KEY"
}

/// Whether a word of the value is itself of the form `API_KEY=…`.
fn has_assignment(value: &str) -> bool {
    let separates = |c: char| c.is_whitespace() || ",;&?\"'".contains(c);
    let words = value.split(separates).filter_map(|word| word.split_once('='));
    words.into_iter().any(|(name, value)| names_secret(name) && !value.is_empty())
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
            ("ARGS", "--verbose --password=abc"),
            ("ARGS", "run API_KEY=abc"),
            ("QUERY", "https://example.org/?a=1&key=abc"),
            ("KEY", "x"),
        ] {
            assert!(looks_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("CARGO_TERM_COLOR", "never"),
            ("KEYBOARD", "us"),
            ("RUSTFLAGS", "--cfg key=\"\" -Ctarget-cpu=native"),
            ("MONKEY", "a=b"),
            ("REMOTE", "https://example.org:8080/a@b:c"),
            ("REMOTE", "ssh://git@example.org/x"),
        ] {
            assert!(!looks_secret(name, value), "{name}");
        }
    }
}

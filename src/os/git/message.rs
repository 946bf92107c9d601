//! Messages of landings: one-line subjects, trailers of ours, none of a member's.

/// A text from outside as one line: every run of white space and control characters is one space.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The subject of a landing.
pub(super) fn subject(title: &str, issue: &str) -> String {
    let title = one_line(title);
    let title = if title.is_empty() { issue } else { &title };
    format!("{title} (#{issue})")
}

/// A message with trailers as its last paragraph, or added to one that consists of trailers.
pub(super) fn with_trailers(message: &[u8], trailers: &[(String, String)]) -> Vec<u8> {
    let mut all = message.trim_ascii_end().to_vec();
    if trailers.is_empty() {
        all.push(b'\n');
        return all;
    }
    all.extend_from_slice(if ends_in_trailers(&all) { b"\n" } else { b"\n\n" });
    for (key, value) in trailers {
        all.extend_from_slice(format!("{}: {}\n", one_line(key), one_line(value)).as_bytes());
    }
    all
}

/// A member's message without `Sched-` trailers, wherever they stand below the subject.
pub(super) fn without_ours(message: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut dropping = false;
    for (n, line) in message.split_inclusive(|b| *b == b'\n').enumerate() {
        let continues = line.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
        dropping = n > 0 && (is_ours(line) || (dropping && continues));
        if !dropping {
            kept.extend_from_slice(line);
        }
    }
    kept
}

fn is_ours(line: &[u8]) -> bool {
    let prefix = line.get(..6).is_some_and(|p| p.eq_ignore_ascii_case(b"sched-"));
    prefix && key_length(line).is_some()
}

/// How long the key of a trailer line is, if it is one.
fn key_length(line: &[u8]) -> Option<usize> {
    let end = line.iter().position(|b| !(b.is_ascii_alphanumeric() || *b == b'-'))?;
    let rest = line[end..].trim_ascii_start();
    (end > 0 && rest.first() == Some(&b':')).then_some(end)
}

fn ends_in_trailers(message: &[u8]) -> bool {
    let Some(start) = message.windows(2).rposition(|w| w == b"\n\n") else { return false };
    let mut lines = message[start + 2..].split(|b| *b == b'\n').peekable();
    lines.peek().is_some_and(|first| key_length(first).is_some())
        && lines.all(|l| key_length(l).is_some() || l.first().is_some_and(|b| *b == b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_and_never_empty() {
        assert_eq!(subject("a\nb\u{7}\t c ", "7"), "a b c (#7)");
        assert_eq!(subject(" \n ", "7"), "7 (#7)");
    }

    #[test]
    fn trailers_of_ours_in_a_members_message_are_stripped_with_their_continuations() {
        let message = b"Sched-like subject: x\n\nbody\nsched-batch : b9\n  more\nAcked-by: a\n";
        assert_eq!(without_ours(message), b"Sched-like subject: x\n\nbody\nAcked-by: a\n");
    }

    #[test]
    fn trailers_join_a_paragraph_of_trailers_and_else_begin_one() {
        let ours = [("Sched-Batch".to_owned(), "b1\nSched-Member: 9".to_owned())];
        let joined = with_trailers(b"s\n\nbody\n\nAcked-by: a\n", &ours);
        assert_eq!(joined, b"s\n\nbody\n\nAcked-by: a\nSched-Batch: b1 Sched-Member: 9\n");
        assert_eq!(
            with_trailers(b"fix: it\n", &ours),
            b"fix: it\n\nSched-Batch: b1 Sched-Member: 9\n"
        );
    }
}

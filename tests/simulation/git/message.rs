//! Messages: subjects, and trailers as the last paragraph.

/// A text as one line.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The subject of a landing.
pub fn subject(title: &str, issue: &str) -> String {
    let title = one_line(title);
    format!("{} (#{issue})", if title.is_empty() { issue } else { &title })
}

fn trailer(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!key.is_empty() && key.chars().all(plain)).then(|| (key, value.trim()))
}

/// The trailers of a message: its last paragraph, where that is no subject and all trailers.
pub fn trailers(message: &str) -> Vec<(String, String)> {
    let Some((_, last)) = message.trim_end().rsplit_once("\n\n") else { return Vec::new() };
    let all: Option<Vec<_>> = last.lines().map(trailer).collect();
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    all.unwrap_or_default().into_iter().map(owned).collect()
}

/// A message with more trailers.
pub fn with_trailers(message: &str, more: &[(String, String)]) -> String {
    let mut all = message.trim_end().to_owned();
    if !more.is_empty() {
        all += if trailers(&all).is_empty() { "\n\n" } else { "\n" };
    }
    let lines: Vec<String> =
        more.iter().map(|(key, value)| format!("{}: {}", one_line(key), one_line(value))).collect();
    all + &lines.join("\n") + "\n"
}

/// A message without lines that pretend to be trailers of the scheduler.
pub fn without_ours(message: &str) -> String {
    let ours = |line: &str| line.to_lowercase().starts_with("sched-") && trailer(line).is_some();
    let kept = message.split_inclusive('\n').enumerate();
    kept.filter(|(n, line)| *n == 0 || !ours(line)).map(|(_, line)| line).collect()
}

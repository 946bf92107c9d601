//! Files that somebody named: read up to a bound, and only where they are files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest text that is read from a file: it becomes one event of the journal.
const LONGEST: usize = 48 << 10;
/// The same with every quote and line end written as the journal writes it.
const LONGEST_ESCAPED: usize = 52 << 10;

/// Reads a text; why not, as one sentence. A pipe or a device is refused: it may never end.
pub fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let unread = |error: std::io::Error| format!("cannot read `{shown}`: {error}");
    if !std::fs::metadata(path).map_err(unread)?.is_file() {
        return Err(format!("`{shown}` is no file: expected a regular file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unread)?;
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() > LONGEST {
        let problem = format!("`{shown}` has more than {LONGEST} bytes");
        return Err(format!("{problem}: it would not fit into the journal"));
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|error| format!("`{shown}` is no UTF-8: {error}"))?;
    match serde_json::to_string(&text).map_or(0, |escaped| escaped.len()) {
        escaped if escaped > LONGEST_ESCAPED => Err(format!(
            "`{shown}` would take {escaped} bytes in the journal: at most {LONGEST_ESCAPED} fit"
        )),
        _ => Ok(text),
    }
}

//! Files that somebody named: read up to a bound.

use crate::domain::command::LONGEST_FILE;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The same with every quote and line end written as the journal writes it.
const LONGEST_ESCAPED: usize = 52 << 10;

/// Reads the text of a file that is read again and again; why not, as one sentence. A pipe is
/// refused: whoever reads it would wait for its writer.
pub fn read(path: &Path) -> Result<String, String> {
    let meta = std::fs::metadata(path).map_err(|error| unread(path, &error))?;
    if !meta.is_file() {
        return Err(format!("`{}` is no file: expected a regular file", path.display()));
    }
    read_once(path)
}

fn unread(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read `{}`: {error}", path.display())
}

/// Reads a text once, from a pipe too; why not, as one sentence.
pub fn read_once(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let unread = |error| unread(path, &error);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unread)?;
    file.take(LONGEST_FILE as u64 + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() > LONGEST_FILE {
        let problem = format!("`{shown}` has more than {LONGEST_FILE} bytes");
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

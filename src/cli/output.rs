//! Tables for people, one JSON document for programs.

use super::args::{ColorChoice, Global};
use super::errors::CliError;
use serde::Serialize;
use std::io::Write;

fn choice(global: &Global) -> anstream::ColorChoice {
    match global.color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
}

/// One line to standard output.
///
/// # Errors
/// When nobody reads it.
pub fn line(text: &str, global: &Global) -> Result<(), CliError> {
    let mut out = anstream::AutoStream::new(std::io::stdout().lock(), choice(global));
    writeln!(out, "{text}").map_err(gone)
}

/// One line to standard error; nobody may be there.
pub fn error_line(text: &str, global: &Global) {
    let mut out = anstream::AutoStream::new(std::io::stderr().lock(), choice(global));
    let _ = writeln!(out, "{text}");
}

/// One JSON document, and nothing else, to standard output.
///
/// # Errors
/// When nobody reads it.
pub fn json(document: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string(document).map_err(|e| CliError::failed(e.to_string()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").map_err(gone)
}

/// Raw bytes to standard output.
///
/// # Errors
/// When nobody reads it.
pub fn raw(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(gone)
}

fn gone(error: std::io::Error) -> CliError {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => CliError::new(141, ""),
        _ => CliError::failed(format!("cannot write the output: {error}")),
    }
}

/// Rows as an aligned table without borders; nothing for no rows.
pub fn table(title: &str, head: &[&str], rows: &[Vec<String>]) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(comfy_table::ContentArrangement::Disabled);
    table.set_header(head);
    for row in rows {
        table.add_row(row);
    }
    let lines: Vec<String> = table.lines().map(|line| format!(" {}", line.trim_end())).collect();
    Some(format!("{title}\n{}", lines.join("\n")))
}

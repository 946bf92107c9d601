//! The JSON Schemas of the journal, generated from the types and checked in under
//! `journal-schema/`.

use crate::domain::event::{Entry, Event, SCHEMA_DIGEST, VERSION};
use crate::journal::line::sha256_hex;
use serde_json::Value;
use std::collections::BTreeMap;

/// The files of the versions that are frozen, each with its digest, as `sha256sum` writes them.
pub const FROZEN: &str = include_str!("../../journal-schema/FROZEN");

/// Whether the version that this program writes is frozen.
pub fn is_frozen() -> bool {
    FROZEN.contains(&format!("  journal-schema/v{VERSION}/"))
}

/// The draft that a journal of an open version says it was begun with.
pub fn draft() -> Option<String> {
    (!is_frozen()).then(|| SCHEMA_DIGEST.trim().to_owned())
}

/// Every schema file of the current version: name and content.
pub fn files() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    files.insert("entry.json".to_owned(), text(&entry()));
    for (name, schema) in Event::data_schemas() {
        files.insert(format!("{name}.json"), text(&schema.to_value()));
    }
    files
}

/// The schema of a whole line.
fn entry() -> Value {
    let mut schema = schemars::schema_for!(Entry).to_value();
    let hex = serde_json::json!({"type": "string", "pattern": "^[0-9a-f]{64}$"});
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("prev".into(), hex.clone());
        properties.insert("hash".into(), hex);
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.extend([Value::from("prev"), Value::from("hash")]);
    }
    schema
}

fn text(schema: &Value) -> String {
    let text = serde_json::to_string_pretty(schema).unwrap_or_default();
    format!("{text}\n")
}

/// The digest of a set of schema files: SHA-256 over their names and contents in order.
pub fn digest(files: &BTreeMap<String, String>) -> String {
    let all: String = files.iter().map(|(name, text)| format!("{name}\0{text}\0")).collect();
    sha256_hex(all.as_bytes())
}

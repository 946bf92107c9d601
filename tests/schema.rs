//! The checked-in JSON Schemas are what the types say.

use sched::audit::schema;
use std::path::Path;

#[test]
fn checked_in_schemas_are_the_generated_ones() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("journal-schema/v1");
    let files = schema::files();
    if std::env::var_os("SCHED_UPDATE_SCHEMAS").is_some() {
        for (name, text) in &files {
            std::fs::write(dir.join(name), text).unwrap();
        }
        std::fs::write(dir.join("DIGEST"), format!("{}\n", schema::digest(&files))).unwrap();
    }
    let mut found: Vec<String> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "DIGEST")
        .collect();
    found.sort();
    assert_eq!(found, files.keys().cloned().collect::<Vec<_>>(), "run with SCHED_UPDATE_SCHEMAS=1");
    for (name, text) in &files {
        let checked_in = std::fs::read_to_string(dir.join(name)).unwrap();
        assert_eq!(&checked_in, text, "{name} differs: run with SCHED_UPDATE_SCHEMAS=1");
    }
    let digest = std::fs::read_to_string(dir.join("DIGEST")).unwrap();
    assert_eq!(digest.trim(), schema::digest(&files), "run with SCHED_UPDATE_SCHEMAS=1");
}

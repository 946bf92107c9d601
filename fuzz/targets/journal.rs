//! What `tests/fuzz/journal.rs` says, for any bytes.

#![no_main]

#[path = "../../tests/fuzz/journal.rs"]
mod journal;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| journal::check(bytes));

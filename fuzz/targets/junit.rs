//! What `tests/fuzz/junit.rs` says, for any bytes.

#![no_main]

#[path = "../../tests/fuzz/junit.rs"]
mod junit;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| junit::check(bytes));

//! What `tests/fuzz/configuration.rs` says, for any bytes.

#![no_main]

#[path = "../../tests/fuzz/configuration.rs"]
mod configuration;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| configuration::check(bytes));

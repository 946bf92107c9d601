//! The thin binary: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    sched::cli::main()
}

//! x
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use std::path::PathBuf;
pub(super) fn run(_c: &Context, _d: Option<PathBuf>) -> Result<u8, CliError> {
    Ok(0)
}

//! `sched logs`: the output of a dispatch.

use super::show::find_dispatch;
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::cli::output;
use crate::domain::event::Writer;
use crate::os::SystemRuns;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(100);

pub(super) fn run(context: &Context, dispatch: &str, follow: bool) -> Result<u8, CliError> {
    let mut session = context.session(Writer::Operator)?;
    let id = find_dispatch(&session, dispatch)?;
    let path = SystemRuns::new(&session.dir()).log(id);
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(_) if follow && session.state.dispatch(&id).is_some() => loop {
            if let Ok(file) = File::open(&path) {
                break file;
            }
            session.refresh()?;
            if session.state.dispatch(&id).is_none() {
                return Ok(0);
            }
            std::thread::sleep(LOOK);
        },
        Err(_) => {
            return Err(CliError::no_such(format!("dispatch {id} has no output"))
                .detail("it has not run, or its evidence was removed"));
        }
    };
    let mut buffer = vec![0; 1 << 16];
    loop {
        let over = session.state.dispatch(&id).is_none();
        loop {
            let n = file.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            output::raw(&buffer[..n])?;
        }
        if !follow || over {
            return Ok(0);
        }
        std::thread::sleep(LOOK);
        session.refresh()?;
    }
}

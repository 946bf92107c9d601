//! `sched logs`: the output of a dispatch.

use super::show::find_dispatch;
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::cli::output;
use crate::cli::reading::Reading;
use crate::os::SystemRuns;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(100);

pub(super) fn run(context: &Context, dispatch: &str, follow: bool) -> Result<u8, CliError> {
    context.reading()?.show(|reading| show(reading, dispatch, follow))
}

fn show(reading: &mut Reading<'_>, dispatch: &str, follow: bool) -> Result<u8, CliError> {
    let id = find_dispatch(reading, dispatch)?;
    let session = &mut reading.session;
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

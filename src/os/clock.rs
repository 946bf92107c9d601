//! The real clocks, and who we are.

use super::process::identity::boot_id;
use super::process::own_process;
use crate::domain::event::{By, Writer};
use crate::domain::ids::DispatchId;
use crate::domain::time::{Now, Timestamp};
use crate::engine::ports::Clock;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use uuid::Uuid;

/// The machine's clocks.
#[derive(Debug, Clone, Default)]
pub struct SystemClock {
    dispatch: Option<DispatchId>,
}

impl SystemClock {
    /// A clock for entries that are written inside a dispatch.
    pub fn inside(dispatch: Option<DispatchId>) -> Self {
        Self { dispatch }
    }
}

fn wall() -> Timestamp {
    let pinned = std::env::var("SCHED_TEST_NOW").ok().and_then(|text| text.parse().ok());
    pinned.unwrap_or_else(|| Timestamp::from_millis(chrono::Utc::now().timestamp_millis()))
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let up = u64::try_from(self.up().as_millis()).unwrap_or(u64::MAX);
        Now { wall: wall(), up, boot: boot_id() }
    }

    fn by(&self, role: Writer, now: &Now) -> By {
        let us = own_process();
        By {
            role,
            host: us.host,
            boot: now.boot.clone(),
            up: now.up,
            pid: us.pid,
            start: us.start_time,
            user: user(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            dispatch: self.dispatch,
        }
    }

    fn up(&self) -> Duration {
        Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn unique(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// The user's name by `/etc/passwd`, or the number where it has none.
fn user() -> String {
    let uid = rustix::process::getuid().as_raw().to_string();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    });
    name.unwrap_or(uid)
}

//! Time as data: nothing here reads a clock.
//!
//! An entry carries two times: the wall clock (`at`) and `up`, milliseconds of CLOCK_MONOTONIC,
//! which stands still while the machine sleeps and starts anew at each boot. Bounds between two
//! moments of one boot compare `up`; across boots they compare the wall clock, and where that has
//! gone back, the time since this boot, which is less than what has passed ([`Stamp::elapsed`]).
//! Crash story: a machine's clock is a day ahead, it boots, the clock is set right: no back-off may
//! last a day for it.

use super::ids::{BootId, from_text};
use chrono::{DateTime, SecondsFormat, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A moment in UTC, in milliseconds; as text always `2026-11-30T01:30:53.123Z`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `millis` milliseconds after 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970, as git wants them.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// How long ago `earlier` was; zero when it was not.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::<Utc>::from_timestamp_millis(self.0) {
            Some(time) => f.pad(&time.to_rfc3339_opts(SecondsFormat::Millis, true)),
            None => write!(f, "{}ms", self.0),
        }
    }
}

/// A text that is no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time: expected UTC like `2026-11-30T01:30:53.123Z`")]
pub struct InvalidTime(pub String);

impl FromStr for Timestamp {
    type Err = InvalidTime;

    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        DateTime::parse_from_rfc3339(text)
            .map(|time| Self(time.timestamp_millis()))
            .map_err(|_| InvalidTime(text.to_owned()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
        })
    }
}

/// A moment as an entry records it: wall clock, and `up` with the boot it counts from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stamp {
    /// The wall clock.
    pub at: Timestamp,
    /// Milliseconds of CLOCK_MONOTONIC.
    pub up: u64,
    /// The boot that `up` counts from.
    pub boot: BootId,
}

/// The present, handed to the rules by whoever has a clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The wall clock.
    pub wall: Timestamp,
    /// Milliseconds of CLOCK_MONOTONIC.
    pub up: u64,
    /// This boot.
    pub boot: BootId,
}

impl Now {
    /// The present as an entry would record it.
    pub fn stamp(&self) -> Stamp {
        Stamp { at: self.wall, up: self.up, boot: self.boot.clone() }
    }
}

impl Stamp {
    /// How much time has passed from this moment until `now`; never negative.
    pub fn elapsed(&self, now: &Now) -> Duration {
        if self.boot == now.boot {
            Duration::from_millis(now.up.saturating_sub(self.up))
        } else if now.wall < self.at {
            Duration::from_millis(now.up)
        } else {
            now.wall.since(self.at)
        }
    }

    /// How long until `bound` has passed since this moment; zero when it has.
    pub fn remaining(&self, bound: Duration, now: &Now) -> Duration {
        bound.saturating_sub(self.elapsed(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(wall: i64, up: u64, boot: &str) -> Now {
        Now { wall: Timestamp::from_millis(wall), up, boot: boot.into() }
    }

    #[test]
    fn a_time_has_exactly_three_digits_of_milliseconds() {
        for text in ["2026-11-30T01:30:53.123Z", "2026-11-30T01:30:53.000Z"] {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_step_of_the_wall_clock_fires_no_bound_within_one_boot() {
        let stamp = now(1_000_000, 5_000, "a").stamp();
        assert_eq!(stamp.elapsed(&now(9_000_000, 6_000, "a")), Duration::from_secs(1));
        assert_eq!(stamp.elapsed(&now(0, 6_000, "a")), Duration::from_secs(1));
    }

    #[test]
    fn across_boots_wall_times_are_compared_and_a_clock_that_went_back_holds_nothing_up() {
        let stamp = now(1_000_000, 5_000, "a").stamp();
        assert_eq!(stamp.elapsed(&now(1_002_000, 10, "b")), Duration::from_secs(2));
        assert_eq!(stamp.elapsed(&now(1, 10, "b")), Duration::from_millis(10));
        let minute = Duration::from_secs(60);
        assert_eq!(stamp.remaining(minute, &now(1, 60_000, "b")), Duration::ZERO);
    }
}

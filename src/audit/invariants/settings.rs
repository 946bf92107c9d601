//! The two settings that promises are measured by, read from the text that an entry holds.

use std::time::Duration;

/// As configured at one point of the history; `None` where the text does not tell.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) max_slots: Option<usize>,
    pub(super) kill_escalation: Option<Duration>,
}

impl Default for Settings {
    /// What counts where nothing is configured.
    fn default() -> Self {
        Self { max_slots: Some(3), kill_escalation: Some(Duration::from_secs(120)) }
    }
}

impl Settings {
    /// Reads a `sched.toml`.
    pub(super) fn read(content: &str) -> Self {
        let Ok(file) = content.parse::<toml::Table>() else {
            return Self { max_slots: None, kill_escalation: None };
        };
        let of = |key| file.get("scheduler").and_then(|section| section.get(key));
        let mut settings = Self::default();
        if let Some(slots) = of("max_slots") {
            settings.max_slots = slots.as_integer().and_then(|n| usize::try_from(n).ok());
        }
        if let Some(bound) = of("kill_escalation") {
            let text = bound.as_str();
            settings.kill_escalation = text.and_then(|t| humantime::parse_duration(t).ok());
        }
        settings
    }
}

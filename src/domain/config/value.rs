//! One value of the configuration, and what it can be read as.

use super::error::ConfigError;
use super::table::{Source, Table, nearest};
use std::ops::RangeInclusive;
use std::time::Duration;
use toml::de::DeValue;

/// No bound is longer, so that sums of bounds never overflow.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A value and where it is.
#[derive(Debug)]
pub(super) struct Value<'a> {
    /// The text it is in.
    pub(super) source: &'a Source<'a>,
    /// Its path.
    pub(super) path: String,
    /// The byte where its key begins.
    pub(super) at: usize,
    /// What it is.
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Value<'a> {
    /// Its line, from 1.
    pub(super) fn line(&self) -> usize {
        self.source.line(self.at)
    }

    /// The error that it is something else than `expected`.
    pub(super) fn wrong(&self, expected: &str) -> ConfigError {
        ConfigError::Wrong {
            line: self.line(),
            key: self.path.clone(),
            expected: expected.to_owned(),
            found: found(self.value),
        }
    }

    /// The error that this key, or this value of it, is of another version.
    pub(super) fn unavailable(&self, value: &str) -> ConfigError {
        let what = format!("{} = {value}", self.path);
        ConfigError::Unavailable { line: self.line(), what }
    }

    /// A text.
    pub(super) fn text(&self, expected: &str) -> Result<&'a str, ConfigError> {
        self.value.as_str().ok_or_else(|| self.wrong(expected))
    }

    /// `true` or `false`.
    pub(super) fn boolean(&self) -> Result<bool, ConfigError> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    /// A whole number within `range`.
    pub(super) fn number<T>(&self, range: RangeInclusive<T>) -> Result<T, ConfigError>
    where
        T: TryFrom<i64> + PartialOrd + std::fmt::Display,
    {
        let number = self.integer().and_then(|number| T::try_from(number).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            self.wrong(&format!("a whole number from {} to {}", range.start(), range.end()))
        })
    }

    /// A number from 0 to 1.
    pub(super) fn fraction(&self) -> Result<f64, ConfigError> {
        let number = match self.value {
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
            _ => self.integer().and_then(|number| u8::try_from(number).ok()).map(f64::from),
        };
        number
            .filter(|number| (0.0..=1.0).contains(number))
            .ok_or_else(|| self.wrong("a number from 0 to 1"))
    }

    /// A duration like `"30m"`, longer than nothing.
    pub(super) fn duration(&self) -> Result<Duration, ConfigError> {
        let expected = "a duration like \"90s\", \"30m\" or \"2h\", from 1ms to 365 days";
        let duration = humantime::parse_duration(self.text(expected)?).ok();
        duration
            .filter(|duration| (Duration::from_millis(1)..=LONGEST).contains(duration))
            .map(|duration| Duration::from_millis(duration.as_millis() as u64))
            .ok_or_else(|| self.wrong(expected))
    }

    /// A size like `"256MiB"`, in bytes; a bare number is bytes too.
    pub(super) fn size(&self) -> Result<u64, ConfigError> {
        let size = match self.value.as_str() {
            Some(text) => bytes(text),
            None => self.integer().and_then(|number| u64::try_from(number).ok()),
        };
        size.ok_or_else(|| self.wrong("a size like \"256MiB\" or \"1GiB\""))
    }

    /// A list, each element with its own path.
    pub(super) fn list(&self, expected: &str) -> Result<Vec<Value<'a>>, ConfigError> {
        let array = self.value.as_array().ok_or_else(|| self.wrong(expected))?;
        let element = |(n, value): (usize, &'a toml::Spanned<DeValue<'a>>)| Value {
            source: self.source,
            path: format!("{}[{n}]", self.path),
            at: value.span().start,
            value: value.get_ref(),
        };
        Ok((1..).zip(array.iter()).map(element).collect())
    }

    /// A list of texts.
    pub(super) fn texts(&self, expected: &str) -> Result<Vec<String>, ConfigError> {
        let list = self.list(expected)?;
        list.iter().map(|element| element.text("a string").map(str::to_owned)).collect()
    }

    /// A command: a program and its arguments, no shell.
    pub(super) fn command(&self) -> Result<Vec<String>, ConfigError> {
        let expected = "a program and its arguments, like [\"cargo\", \"test\"]";
        let words = self.texts(expected)?;
        if let Some(word) = self.list(expected)?.iter().find(|word| word.has_nul()) {
            return Err(word.wrong("a string without a null character"));
        }
        match words.first() {
            Some(program) if !program.trim().is_empty() => Ok(words),
            _ => Err(self.wrong(expected)),
        }
    }

    /// A list of exit codes.
    pub(super) fn codes(&self) -> Result<Vec<i32>, ConfigError> {
        let list = self.list("a list of exit codes, like [75]")?;
        list.iter().map(|code| code.number(1..=255)).collect()
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, ConfigError> {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let expected = format!("one of \"{}\"", names.join("\", \""));
        let text = self.text(&expected)?;
        let word = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        word.ok_or_else(|| match nearest(text, &names) {
            Some(name) => self.wrong(&format!("{expected} (did you mean \"{name}\"?)")),
            None => self.wrong(&expected),
        })
    }

    /// A table.
    pub(super) fn table(&self) -> Result<Table<'a>, ConfigError> {
        let keys = self.value.as_table().ok_or_else(|| self.wrong("a table"))?;
        Ok(Table { source: self.source, path: self.path.clone(), at: self.at, keys })
    }

    /// Whether it is a text with a null character, which no process can be given.
    pub(super) fn has_nul(&self) -> bool {
        self.value.as_str().is_some_and(|text| text.contains('\0'))
    }

    fn integer(&self) -> Option<i64> {
        let number = self.value.as_integer()?;
        i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
    }
}

/// What a value is, for people; long texts are cut.
fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.chars().count() > 60 => "a longer text".to_owned(),
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date or time".to_owned(),
        DeValue::Array(list) if list.is_empty() => "an empty list".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "kB" | "KB" => 1000,
        "MB" => 1000_u64.pow(2),
        "GB" => 1000_u64.pow(3),
        "TB" => 1000_u64.pow(4),
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_and_a_unit() {
        for (text, size) in [("0", 0), ("7B", 7), ("256MiB", 256 << 20), ("1 GB", 1_000_000_000)] {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
        for text in ["", "MiB", "-1B", "1.5GiB", "1mib", "99999999999TiB"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}

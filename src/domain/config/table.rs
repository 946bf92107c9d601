//! A table of the configuration, with the path and the line of each of its keys.

use super::error::ConfigError;
use super::value::Value;
use toml::de::DeTable;

/// The text that is read, and how strictly.
#[derive(Debug)]
pub(super) struct Source<'a> {
    text: &'a str,
    /// Whether what is unknown, not available or not wanted is passed over.
    pub(super) lenient: bool,
}

impl<'a> Source<'a> {
    /// The source `text`.
    pub(super) fn new(text: &'a str, lenient: bool) -> Self {
        Self { text, lenient }
    }

    /// Reads the text as TOML.
    pub(super) fn parse(&self) -> Result<DeTable<'a>, ConfigError> {
        DeTable::parse(self.text).map(|table| table.into_inner()).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            ConfigError::Syntax { line, message: error.message().replace('\n', ", ") }
        })
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

/// A table and where it is.
#[derive(Debug)]
pub(super) struct Table<'a> {
    /// The text it is in.
    pub(super) source: &'a Source<'a>,
    /// Its path; empty for the whole file.
    pub(super) path: String,
    /// The byte where it begins.
    pub(super) at: usize,
    /// What is in it.
    pub(super) keys: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// Refuses keys that are not in `known`, and says which of them are of another version.
    pub(super) fn check(&self, known: &[&str], later: &[&str]) -> Result<(), ConfigError> {
        if self.source.lenient {
            return Ok(());
        }
        let unknown = |key: &&str| !known.contains(key);
        let mut keys: Vec<_> = self.keys.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        let Some(key) = keys.iter().find(|key| unknown(&key.get_ref().as_ref())) else {
            return Ok(());
        };
        let (line, name) = (self.source.line(key.span().start), key.get_ref().as_ref());
        if later.contains(&name) {
            return Err(ConfigError::Unavailable { line, what: self.path_of(name) });
        }
        let nearest = nearest(name, known);
        let known = known.iter().map(|key| (*key).to_owned()).collect();
        Err(ConfigError::UnknownKey { line, key: self.path_of(name), nearest, known })
    }

    /// The value of a key, if it is there.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let (name, value) = self.keys.get_key_value(key)?;
        let at = name.span().start;
        Some(Value { source: self.source, path: self.path_of(key), at, value: value.get_ref() })
    }

    /// Reads a key into `field`, which keeps its default where the key is absent.
    pub(super) fn set<T>(
        &self,
        field: &mut T,
        key: &str,
        read: impl FnOnce(&Value<'a>) -> Result<T, ConfigError>,
    ) -> Result<(), ConfigError> {
        if let Some(value) = self.get(key) {
            *field = read(&value)?;
        }
        Ok(())
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &str, expected: &str) -> Result<Value<'a>, ConfigError> {
        self.get(key).ok_or_else(|| ConfigError::Missing {
            line: self.source.line(self.at),
            key: self.path_of(key),
            expected: expected.to_owned(),
        })
    }

    /// The table of a key; absent where the key is.
    pub(super) fn table(&self, key: &str) -> Result<Option<Table<'a>>, ConfigError> {
        self.get(key).map(|value| value.table()).transpose()
    }

    /// All names in it with their values, in the order of the names.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a, '_> {
        self.keys.keys().filter_map(|key| {
            let name: &'a str = key.get_ref().as_ref();
            self.get(name).map(|value| (name, value))
        })
    }

    /// The path of a key in it.
    fn path_of(&self, key: &str) -> String {
        let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let quoted = if !key.is_empty() && key.bytes().all(bare) {
            key.to_owned()
        } else {
            format!("{key:?}")
        };
        if self.path.is_empty() { quoted } else { format!("{}.{quoted}", self.path) }
    }
}

/// The one of `known` that is most like `name`, if one is like it at all.
pub(super) fn nearest(name: &str, known: &[&str]) -> Option<String> {
    let likeness = |key: &str| strsim::jaro_winkler(name, key);
    known
        .iter()
        .map(|key| (likeness(key), *key))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, key)| key.to_owned())
}

use serde_json::Value;

use super::WireError;

/// A value of a reply with its path, so that errors name it.
#[derive(Clone, Debug)]
pub(super) struct ReplyField<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> ReplyField<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    /// Returns a field; `None` if it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self { value, path: self.path_of(key) })
    }

    /// Returns a field that must be there.
    pub(super) fn need(&self, key: &str) -> Result<Self, WireError> {
        self.get(key).ok_or_else(|| WireError::Missing { field: self.path_of(key) })
    }

    /// Returns the text of a field that must be there.
    pub(super) fn need_text(&self, key: &str) -> Result<&'a str, WireError> {
        self.need(key)?.text()
    }

    /// Returns the text of a field; empty if it is missing.
    pub(super) fn text_or_empty(&self, key: &str) -> Result<&'a str, WireError> {
        self.get(key).map_or(Ok(""), |field| field.text())
    }

    /// Returns the number of a field; zero if it is missing.
    pub(super) fn count_or_zero(&self, key: &str) -> Result<u64, WireError> {
        self.get(key).map_or(Ok(0), |field| field.count())
    }

    /// Returns the elements of a field; none if it is missing.
    pub(super) fn items_or_none(&self, key: &str) -> Result<Vec<Self>, WireError> {
        self.get(key).map_or(Ok(Vec::new()), |field| field.items())
    }

    pub(super) fn text(&self) -> Result<&'a str, WireError> {
        self.value.as_str().ok_or_else(|| self.unlike("text"))
    }

    pub(super) fn count(&self) -> Result<u64, WireError> {
        self.value.as_u64().ok_or_else(|| self.unlike("a whole number"))
    }

    pub(super) fn items(&self) -> Result<Vec<Self>, WireError> {
        let items = self.value.as_array().ok_or_else(|| self.unlike("a list"))?;
        let item = |(at, value)| Self { value, path: format!("{}[{at}]", self.path) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    pub(super) fn json(&self) -> &'a Value {
        self.value
    }

    fn unlike(&self, expected: &'static str) -> WireError {
        WireError::Kind { field: self.path.clone(), expected }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Reads JSON.
pub(super) fn parse_json(text: &str) -> Result<Value, WireError> {
    serde_json::from_str(text).map_err(|error| WireError::Json(error.to_string()))
}

use serde_json::Value;

use super::RequestError;

/// A value of a request with its path, so that errors name it.
#[derive(Clone, Debug)]
pub(super) struct RequestField<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> RequestField<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    /// Returns a field; `None` if it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self { value, path: self.path_of(key) })
    }

    /// Returns a field that must be there.
    pub(super) fn need(&self, key: &str) -> Result<Self, RequestError> {
        self.get(key).ok_or_else(|| RequestError::Missing { field: self.path_of(key) })
    }

    /// Returns the text of a field that must be there.
    pub(super) fn need_text(&self, key: &str) -> Result<&'a str, RequestError> {
        self.need(key)?.text()
    }

    /// Returns the text of a field; empty if it is missing.
    pub(super) fn text_or_empty(&self, key: &str) -> Result<&'a str, RequestError> {
        self.get(key).map_or(Ok(""), |field| field.text())
    }

    /// Returns the elements of a field; none if it is missing.
    pub(super) fn items_or_none(&self, key: &str) -> Result<Vec<Self>, RequestError> {
        self.get(key).map_or(Ok(Vec::new()), |field| field.items())
    }

    /// Returns a field that is true or false; false if it is missing.
    pub(super) fn flag_or_false(&self, key: &str) -> Result<bool, RequestError> {
        self.get(key)
            .map_or(Ok(false), |field| field.value.as_bool().ok_or_else(|| field.unlike("true or false")))
    }

    /// Returns a whole number; `None` if it is missing.
    pub(super) fn count(&self, key: &str) -> Result<Option<u64>, RequestError> {
        let read = |field: Self| field.value.as_u64().ok_or_else(|| field.unlike("a whole number"));
        self.get(key).map(read).transpose()
    }

    /// Returns a number; `None` if it is missing.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, RequestError> {
        let read = |field: Self| field.value.as_f64().ok_or_else(|| field.unlike("a number"));
        self.get(key).map(read).transpose()
    }

    pub(super) fn text(&self) -> Result<&'a str, RequestError> {
        self.value.as_str().ok_or_else(|| self.unlike("text"))
    }

    pub(super) fn items(&self) -> Result<Vec<Self>, RequestError> {
        let items = self.value.as_array().ok_or_else(|| self.unlike("a list"))?;
        let item = |(at, value)| Self { value, path: format!("{}[{at}]", self.path) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    pub(super) fn json(&self) -> &'a Value {
        self.value
    }

    /// Returns the error for content that cannot be passed on.
    pub(super) fn unsupported(&self, content: impl Into<String>, advice: &'static str) -> RequestError {
        RequestError::Unsupported { field: self.path.clone(), content: content.into(), advice }
    }

    fn unlike(&self, expected: &'static str) -> RequestError {
        RequestError::Kind { field: self.path.clone(), expected }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

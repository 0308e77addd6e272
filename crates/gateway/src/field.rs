use std::marker::PhantomData;

use serde_json::Value;

/// An error naming the field of a document it is about.
pub(crate) trait FieldError {
    fn missing(field: String) -> Self;

    /// Returns the error of a field that is of another kind than expected.
    fn unlike(field: String, expected: &'static str) -> Self;
}

/// A value of a document with its path, so errors name it.
#[derive(Clone, Debug)]
pub(crate) struct JsonField<'a, E> {
    value: &'a Value,
    path: String,
    error: PhantomData<E>,
}

impl<'a, E: FieldError> JsonField<'a, E> {
    pub(crate) fn root(value: &'a Value) -> Self {
        Self::at(value, String::new())
    }

    fn at(value: &'a Value, path: String) -> Self {
        Self { value, path, error: PhantomData }
    }

    /// Returns a field; `None` if it is missing or null.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self::at(value, self.path_of(key)))
    }

    /// Returns a field that must be there.
    pub(crate) fn need(&self, key: &str) -> Result<Self, E> {
        self.get(key).ok_or_else(|| E::missing(self.path_of(key)))
    }

    /// Returns the text of a field that must be there.
    pub(crate) fn need_text(&self, key: &str) -> Result<&'a str, E> {
        self.need(key)?.text()
    }

    /// Returns the text of a field; empty if it is missing.
    pub(crate) fn text_or_empty(&self, key: &str) -> Result<&'a str, E> {
        self.get(key).map_or(Ok(""), |field| field.text())
    }

    /// Returns the elements of a field; none if it is missing.
    pub(crate) fn items_or_none(&self, key: &str) -> Result<Vec<Self>, E> {
        self.get(key).map_or(Ok(Vec::new()), |field| field.items())
    }

    /// Returns a whole number; `None` if it is missing.
    pub(crate) fn count_or_none(&self, key: &str) -> Result<Option<u64>, E> {
        self.get(key).map(|field| field.count()).transpose()
    }

    pub(crate) fn text(&self) -> Result<&'a str, E> {
        self.is("text", Value::as_str)
    }

    pub(crate) fn count(&self) -> Result<u64, E> {
        self.is("a whole number", Value::as_u64)
    }

    pub(crate) fn number(&self) -> Result<f64, E> {
        self.is("a number", Value::as_f64)
    }

    pub(crate) fn flag(&self) -> Result<bool, E> {
        self.is("true or false", Value::as_bool)
    }

    pub(crate) fn items(&self) -> Result<Vec<Self>, E> {
        let items = self.is("a list", Value::as_array)?.iter().enumerate();
        Ok(items.map(|(at, value)| Self::at(value, format!("{}[{at}]", self.path))).collect())
    }

    pub(crate) fn json(&self) -> &'a Value {
        self.value
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    fn is<T>(&self, expected: &'static str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, E> {
        read(self.value).ok_or_else(|| E::unlike(self.path.clone(), expected))
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

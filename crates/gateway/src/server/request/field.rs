use super::RequestError;
use crate::field::{FieldError, JsonField};

pub(super) type RequestField<'a> = JsonField<'a, RequestError>;

impl FieldError for RequestError {
    fn missing(field: String) -> Self {
        Self::Missing { field }
    }

    fn unlike(field: String, expected: &'static str) -> Self {
        Self::Kind { field, expected }
    }
}

impl RequestField<'_> {
    /// Returns a field that is true or false; false if it is missing.
    pub(super) fn flag_or_false(&self, key: &str) -> Result<bool, RequestError> {
        self.get(key).map_or(Ok(false), |field| field.flag())
    }

    /// Returns the error for content that cannot be passed on.
    pub(super) fn unsupported(&self, content: impl Into<String>, advice: &'static str) -> RequestError {
        RequestError::Unsupported { field: self.path().to_owned(), content: content.into(), advice }
    }
}

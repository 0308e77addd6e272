use serde_json::Value;

use super::WireError;
use crate::field::{FieldError, JsonField};

pub(super) type ReplyField<'a> = JsonField<'a, WireError>;

impl FieldError for WireError {
    fn missing(field: String) -> Self {
        Self::Missing { field }
    }

    fn unlike(field: String, expected: &'static str) -> Self {
        Self::Kind { field, expected }
    }
}

pub(super) fn parse_json(text: &str) -> Result<Value, WireError> {
    serde_json::from_str(text).map_err(|error| WireError::Json(error.to_string()))
}

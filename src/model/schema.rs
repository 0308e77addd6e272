use std::sync::Arc;

use serde_json::Value;

/// A JSON Schema that was found to be one. Cheap to clone; compiled once.
#[derive(Clone)]
pub struct Schema {
    text: Arc<Value>,
    compiled: Arc<jsonschema::Validator>,
}

/// A value is not a JSON Schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct BadSchema {
    /// What is wrong with it.
    pub reason: String,
}

impl Schema {
    /// Compiles a schema. References to other documents are refused: nothing is fetched.
    pub fn new(text: Value) -> Result<Self, BadSchema> {
        let compiled = jsonschema::options()
            .should_validate_formats(true)
            .build(&text)
            .map_err(|error| BadSchema {
                reason: error.to_string(),
            })?;
        Ok(Self {
            text: Arc::new(text),
            compiled: Arc::new(compiled),
        })
    }

    /// The schema as JSON.
    pub fn text(&self) -> &Value {
        &self.text
    }

    /// The simple type it asks for, if it names exactly one.
    pub fn simple_type(&self) -> Option<&str> {
        self.text.get("type").and_then(Value::as_str)
    }

    /// Whether a value is right. Costs much less than to say what is wrong with one that is not.
    pub fn allows(&self, value: &Value) -> bool {
        self.compiled.is_valid(value)
    }

    /// What is wrong with a value, if anything; one sentence, the first mistake.
    pub fn mistake(&self, value: &Value) -> Option<String> {
        self.compiled.iter_errors(value).next().map(|error| {
            let at = error.instance_path().to_string();
            if at.is_empty() {
                error.to_string()
            } else {
                format!("at {at}: {error}")
            }
        })
    }

    /// Reads a value given as text, on the command line or in an output file: text stays text
    /// where the schema asks for a string, and is read as JSON elsewhere.
    pub fn read(&self, text: &str) -> Value {
        match self.simple_type() {
            Some("string") => Value::String(text.into()),
            Some(_) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into())),
            None if self.allows_text(text) => Value::String(text.into()),
            None => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into())),
        }
    }

    /// Whether a schema without a type, such as an `enum`, accepts the text as it is.
    fn allows_text(&self, text: &str) -> bool {
        self.allows(&Value::String(text.into()))
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Schema({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Schema;
    use serde_json::json;

    #[test]
    fn text_is_read_by_the_type_asked_for() {
        let schema = |kind: &str| Schema::new(json!({ "type": kind })).unwrap();
        assert_eq!(schema("string").read("12"), json!("12"));
        assert_eq!(schema("integer").read("12"), json!(12));
        assert_eq!(schema("boolean").read("true"), json!(true));
        assert_eq!(schema("array").read("[1]"), json!([1]));
        assert_eq!(schema("integer").read("twelve"), json!("twelve"));
        assert!(schema("integer").mistake(&json!("twelve")).is_some());
    }

    #[test]
    fn formats_are_checked() {
        let day = Schema::new(json!({ "type": "string", "format": "date" })).unwrap();
        assert_eq!(day.mistake(&json!("2026-11-21")), None);
        assert!(day.mistake(&json!("tomorrow")).is_some());
    }

    #[test]
    fn nonsense_is_no_schema() {
        assert!(Schema::new(json!({ "type": "strin" })).is_err());
    }
}

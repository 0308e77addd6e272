use std::sync::Arc;

use jsonschema::{Keyword, ValidationError};
use serde::{Serialize, Serializer};
use serde_json::{Number, Value};
use wf_base::{exact_json, exact_json::is_large_integer};

/// A valid JSON Schema. Cheap to clone; compiled once.
#[derive(Clone)]
pub struct ValueSchema {
    text: Arc<Value>,
    compiled: Arc<jsonschema::Validator>,
}

/// An error for a value that is not a JSON Schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SchemaError {
    /// The reason why the value was rejected.
    pub reason: String,
}

impl ValueSchema {
    /// Compiles a schema. References to other documents are refused: nothing is fetched.
    pub fn new(text: Value) -> Result<Self, SchemaError> {
        let compiled = jsonschema::options()
            .should_validate_formats(true)
            .with_keyword("type", |_, types, _| Ok(Box::new(ExactType::of(types))))
            .build(&text)
            .map_err(|error| SchemaError { reason: error.to_string() })?;
        Ok(Self { text: Arc::new(text), compiled: Arc::new(compiled) })
    }

    /// The schema as JSON.
    pub fn text(&self) -> &Value {
        &self.text
    }

    /// The value it names for where none is given.
    pub fn default_value(&self) -> Option<&Value> {
        self.text.get("default")
    }

    /// The simple type it asks for, if it names exactly one.
    pub fn simple_type(&self) -> Option<&str> {
        self.text.get("type").and_then(Value::as_str)
    }

    /// True if a value is valid. Costs much less than describing the mistake in one that is not.
    pub fn allows(&self, value: &Value) -> bool {
        self.compiled.is_valid(value)
    }

    /// Returns the first mistake in a value, if any, in one sentence. Of a long value it has the beginning and the end.
    pub fn first_mistake(&self, value: &Value) -> Option<String> {
        self.compiled.iter_errors(value).next().map(|error| {
            let (at, mistake) = (error.instance_path().to_string(), shortened(&error.to_string()));
            if at.is_empty() { mistake } else { format!("at {}: {mistake}", shortened(&at)) }
        })
    }

    /// Reads a value from text, given on the command line or in an output file: the text is kept if
    /// the schema asks for a string, and parsed as JSON otherwise.
    pub fn read(&self, text: &str) -> Value {
        match self.simple_type() {
            Some("string") => Value::String(text.into()),
            Some(_) => exact_json::read(text).unwrap_or_else(|_| Value::String(text.into())),
            None if self.allows_text(text) => Value::String(text.into()),
            None => exact_json::read(text).unwrap_or_else(|_| Value::String(text.into())),
        }
    }

    /// True if a schema without a type, such as an `enum`, accepts the text as it is.
    fn allows_text(&self, text: &str) -> bool {
        self.allows(&Value::String(text.into()))
    }
}

impl Serialize for ValueSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl std::fmt::Debug for ValueSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Schema({})", self.text)
    }
}

/// The most characters of the beginning, and of the end, of a mistake that has a long value in it.
const MISTAKE_CHARS: usize = 300;

/// Returns a sentence without the middle, if it is long: a value may be as long as a request.
fn shortened(mistake: &str) -> String {
    let count = mistake.chars().count();
    let Some(left_out) = count.checked_sub(2 * MISTAKE_CHARS).filter(|left_out| *left_out > 0) else {
        return mistake.to_owned();
    };
    let begin: String = mistake.chars().take(MISTAKE_CHARS).collect();
    let end: String = mistake.chars().skip(count - MISTAKE_CHARS).collect();
    format!("{begin} … {left_out} characters more … {end}")
}

/// The keyword `type` of a schema. An integer is written with digits alone: `1e3`, `1000.0` and numbers beyond 64 bits are
/// floats, with rounding.
struct ExactType(Vec<String>);

impl ExactType {
    /// Reads the names of the types.
    fn of(types: &Value) -> Self {
        let names = match types {
            Value::Array(names) => names.as_slice(),
            one => std::slice::from_ref(one),
        };
        Self(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    fn accepts(&self, value: &Value) -> bool {
        self.0.iter().any(|name| match name.as_str() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.as_number().is_some_and(|number| !number.is_f64()),
            _ => false,
        })
    }

    fn mistake(&self, value: &Value) -> String {
        let wants = |name: &str| self.0.iter().any(|own| own == name);
        match value {
            Value::String(digits) if is_large_integer(digits) && (wants("integer") || wants("number")) => {
                format!(
                    "{digits} is not between {} and {}, the integers that keep all digits; declare a string for it",
                    i64::MIN,
                    u64::MAX
                )
            }
            _ => {
                let names: Vec<String> = self.0.iter().map(|name| format!("\"{name}\"")).collect();
                let plural = if names.len() == 1 { "" } else { "s" };
                let float = value.as_number().filter(|_| wants("integer"));
                let remedy = float.map(integer_remedy).unwrap_or_default();
                format!("{value} is not of type{plural} {}{remedy}", names.join(", "))
            }
        }
    }
}

/// Returns how the integer is written that a float is, if a float of its size has all digits.
fn integer_remedy(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => {
            format!(": write it with digits alone, as {float:.0}")
        }
        Some(float) if float.fract() == 0.0 => ": write it with digits alone".into(),
        _ => String::new(),
    }
}

impl<'i> Keyword<'i> for ExactType {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.accepts(value) { Ok(()) } else { Err(ValidationError::custom(self.mistake(value))) }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        self.accepts(value)
    }
}

#[cfg(test)]
mod tests {
    use super::ValueSchema;
    use serde_json::json;

    #[test]
    fn text_is_read_by_the_type_asked_for() {
        let schema = |kind: &str| ValueSchema::new(json!({ "type": kind })).unwrap();
        assert_eq!(schema("string").read("12"), json!("12"));
        assert_eq!(schema("integer").read("12"), json!(12));
        assert_eq!(schema("boolean").read("true"), json!(true));
        assert_eq!(schema("array").read("[1]"), json!([1]));
        assert_eq!(schema("integer").read("twelve"), json!("twelve"));
        assert!(schema("integer").first_mistake(&json!("twelve")).is_some());
    }

    #[test]
    fn a_mistake_in_a_long_value_is_short_and_keeps_what_is_wrong() {
        let schema = ValueSchema::new(json!({"type": "string", "maxLength": 9})).unwrap();
        let mistake = schema.first_mistake(&json!("ä".repeat(900_000))).unwrap();
        assert!(mistake.chars().count() < 700, "{} characters", mistake.chars().count());
        assert!(mistake.starts_with("\"ä") && mistake.ends_with("is longer than 9 characters"), "{mistake}");
        let short = schema.first_mistake(&json!("more than nine")).unwrap();
        assert_eq!(short, "\"more than nine\" is longer than 9 characters");
    }

    #[test]
    fn formats_are_checked() {
        let day = ValueSchema::new(json!({ "type": "string", "format": "date" })).unwrap();
        assert_eq!(day.first_mistake(&json!("2026-11-21")), None);
        assert!(day.first_mistake(&json!("tomorrow")).is_some());
    }

    #[test]
    fn nonsense_is_no_schema() {
        assert!(ValueSchema::new(json!({ "type": "strin" })).is_err());
    }
}

use jsonschema::{Keyword, ValidationError};
use serde_json::{Number, Value};
use wf_base::exact_json::is_large_integer;

/// The keyword `type` of a schema. An integer is written with digits alone: `1e3`, `1000.0` and what is beyond 64 bits are
/// floats, which round.
pub(super) struct ExactType(Vec<String>);

impl ExactType {
    /// Reads the names of the types.
    pub(super) fn of(types: &Value) -> Self {
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

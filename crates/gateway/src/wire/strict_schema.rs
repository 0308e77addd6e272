use serde_json::Value;

/// The demands of a provider on a schema it is to enforce.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchemaDemands {
    /// The keywords it refuses.
    pub(super) refused: &'static [&'static str],
    /// True if each property of an object must be required.
    pub(super) all_required: bool,
}

/// The keywords no provider enforces.
const REFUSED: [&str; 14] = [
    "allOf",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "maxProperties",
    "minProperties",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "unevaluatedProperties",
    "uniqueItems",
];

/// Keywords whose values are schemas by name.
const NAMED: [&str; 3] = ["properties", "$defs", "definitions"];

impl SchemaDemands {
    /// True if a provider would enforce this schema, whose root must be an object.
    pub(super) fn accepts(self, schema: &Value) -> bool {
        schema.get("type").and_then(Value::as_str) == Some("object") && self.accepts_part(schema)
    }

    fn accepts_part(self, schema: &Value) -> bool {
        let Some(keywords) = schema.as_object() else {
            return false;
        };
        if keywords.keys().any(|key| REFUSED.contains(&key.as_str()) || self.refused.contains(&key.as_str()))
        {
            return false;
        }
        let is_object =
            keywords.get("type").is_some_and(|kind| kind == "object") || keywords.contains_key("properties");
        (!is_object || self.is_closed(schema))
            && keywords.iter().all(|(key, value)| match (key.as_str(), value) {
                (key, Value::Object(parts)) if NAMED.contains(&key) => {
                    parts.values().all(|part| self.accepts_part(part))
                }
                ("items", part) => self.accepts_part(part),
                ("anyOf", Value::Array(parts)) => parts.iter().all(|part| self.accepts_part(part)),
                _ => true,
            })
    }

    /// True if an object can have no property the schema does not describe.
    fn is_closed(self, schema: &Value) -> bool {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|required_names| required_names.iter().any(|listed| listed == name))
        };
        let names = schema.get("properties").and_then(Value::as_object);
        schema.get("additionalProperties") == Some(&Value::Bool(false))
            && (!self.all_required || names.is_none_or(|names| names.keys().all(|name| is_required(name))))
    }
}

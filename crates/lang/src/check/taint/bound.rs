use serde_json::{Value, json};

use wf_model::ValueSchema;

/// The texts with a special meaning to a shell, a path or an address.
const SHARP: [&str; 14] =
    ["$(x)", "`x`", "x;x", "x|x", "x&x", "x\nx", "'x'", "\"x\"", "x\\x", "<x", "../x", "/x", "*", "http://x"];

/// True if a schema admits no text with a special meaning to a shell, a path or an address, neither
/// by itself nor in a list or an object.
pub(super) fn is_blunt(schema: &ValueSchema) -> bool {
    let passes = |value: &Value| schema.allows(value);
    SHARP.iter().all(|text| {
        let forms = [json!(text), json!([text]), json!({ "x": text })];
        !forms.iter().any(passes)
    }) && !passes(&json!([]))
        && !passes(&json!({}))
}

#[cfg(test)]
mod tests {
    use super::is_blunt;
    use serde_json::json;
    use wf_model::ValueSchema;

    #[test]
    fn only_what_is_known_to_be_harmless_is_blunt() {
        for (schema, blunt) in [
            (json!({ "type": "integer" }), true),
            (json!({ "type": "boolean" }), true),
            (json!({ "enum": ["eu", "us"] }), true),
            (json!({ "const": "x" }), true),
            (json!({ "type": "string", "format": "date" }), true),
            (json!({ "type": "string", "pattern": "^[a-z0-9-]+$" }), true),
            (json!({ "type": "string" }), false),
            (json!({ "type": "string", "pattern": "[a-z]" }), false),
            (json!({ "type": "string", "pattern": "^.*$" }), false),
            (json!({ "type": "string", "pattern": "^[a-z/]+$" }), false),
            (json!({ "type": "string", "pattern": "^[a-z./]+$" }), false),
            (json!({ "type": "string", "maxLength": 40 }), false),
            (json!({ "type": "array" }), false),
            (json!({ "type": "object" }), false),
            (json!({}), false),
        ] {
            assert_eq!(is_blunt(&ValueSchema::new(schema.clone()).unwrap()), blunt, "{schema}");
        }
    }
}

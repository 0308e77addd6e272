use serde_json::{Value, json};

use wf_model::{ValueSchema, expr::PathKey};

/// The texts with a special meaning to a shell, a path or an address.
const SHARP: [&str; 14] =
    ["$(x)", "`x`", "x;x", "x|x", "x&x", "x\nx", "'x'", "\"x\"", "x\\x", "<x", "../x", "/x", "*", "http://x"];

/// True if a schema admits no text with a special meaning to a shell, a path or an address, neither
/// by itself nor in a list or an object.
pub(super) fn is_blunt(schema: &Value) -> bool {
    match schema["type"].as_str() {
        Some("array") => any_item_of(schema).is_some_and(is_blunt),
        Some("object") => has_blunt_fields(schema),
        _ => is_blunt_scalar(schema),
    }
}

/// True if an object can have only the fields its schema names, and each of these is blunt.
fn has_blunt_fields(schema: &Value) -> bool {
    let is_closed =
        schema["additionalProperties"] == json!(false) && schema.get("patternProperties").is_none();
    let fields = schema["properties"].as_object();
    is_closed && fields.is_none_or(|fields| fields.values().all(is_blunt))
}

/// Returns the schema of a part of a value, if that of the whole names it.
pub(in crate::check) fn part_of<'s>(schema: &'s Value, path: &[PathKey]) -> Option<&'s Value> {
    path.iter().try_fold(schema, |schema, key| match key {
        PathKey::Field(name) => schema.get("properties")?.get(name),
        PathKey::Index(_) => any_item_of(schema),
    })
}

/// Returns the schema of every item of a list, if that of the list has one for all.
pub(in crate::check) fn any_item_of(schema: &Value) -> Option<&Value> {
    schema.get("items").filter(|_| schema.get("prefixItems").is_none())
}

fn is_blunt_scalar(schema: &Value) -> bool {
    let Ok(schema) = ValueSchema::new(schema.clone()) else {
        return false;
    };
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
            (json!({ "type": "array", "items": { "type": "integer" } }), true),
            (json!({ "type": "array", "items": { "type": "string" } }), false),
            (json!({ "type": "array", "prefixItems": [{}], "items": { "type": "integer" } }), false),
            (json!({ "type": "object" }), false),
            (json!({ "type": "object", "properties": { "a": { "type": "integer" } } }), false),
            (
                json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "additionalProperties": false }),
                true,
            ),
            (json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false }), false),
            (json!({ "type": ["array", "integer"], "items": { "type": "integer" } }), false),
            (json!({ "$ref": "#/x", "x": { "type": "integer" } }), true),
            (json!({}), false),
        ] {
            assert_eq!(is_blunt(&schema), blunt, "{schema}");
        }
    }
}

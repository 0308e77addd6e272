//! The JSON Schema of value schemas: the words one may use.

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator, json_schema};

use crate::json::schema::ValueSchema;

/// The vocabulary of JSON Schema a contract may use, with the subschemas of each word.
/// References are not among it: a contract is self-contained.
pub const VOCABULARY: &[(&str, SubschemaKind)] = &[
    ("type", SubschemaKind::Nothing),
    ("enum", SubschemaKind::Nothing),
    ("const", SubschemaKind::Nothing),
    ("default", SubschemaKind::Nothing),
    ("title", SubschemaKind::Nothing),
    ("description", SubschemaKind::Nothing),
    ("examples", SubschemaKind::Nothing),
    ("format", SubschemaKind::Nothing),
    ("pattern", SubschemaKind::Nothing),
    ("minLength", SubschemaKind::Nothing),
    ("maxLength", SubschemaKind::Nothing),
    ("minimum", SubschemaKind::Nothing),
    ("maximum", SubschemaKind::Nothing),
    ("exclusiveMinimum", SubschemaKind::Nothing),
    ("exclusiveMaximum", SubschemaKind::Nothing),
    ("multipleOf", SubschemaKind::Nothing),
    ("items", SubschemaKind::One),
    ("prefixItems", SubschemaKind::List),
    ("contains", SubschemaKind::One),
    ("minItems", SubschemaKind::Nothing),
    ("maxItems", SubschemaKind::Nothing),
    ("uniqueItems", SubschemaKind::Nothing),
    ("properties", SubschemaKind::Named),
    ("patternProperties", SubschemaKind::Named),
    ("additionalProperties", SubschemaKind::One),
    ("propertyNames", SubschemaKind::One),
    ("required", SubschemaKind::Nothing),
    ("minProperties", SubschemaKind::Nothing),
    ("maxProperties", SubschemaKind::Nothing),
    ("allOf", SubschemaKind::List),
    ("anyOf", SubschemaKind::List),
    ("oneOf", SubschemaKind::List),
    ("not", SubschemaKind::One),
    ("if", SubschemaKind::One),
    ("then", SubschemaKind::One),
    ("else", SubschemaKind::One),
];

/// The kind of value below a word of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubschemaKind {
    /// A value that is no schema.
    Nothing,
    /// A schema.
    One,
    /// A list of schemas.
    List,
    /// A mapping from names to schemas.
    Named,
}

impl JsonSchema for ValueSchema {
    fn schema_name() -> Cow<'static, str> {
        "Contract".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let this = generator.subschema_for::<Self>();
        let properties: serde_json::Map<_, _> = VOCABULARY
            .iter()
            .map(|(word, below)| {
                let value = match below {
                    SubschemaKind::Nothing => json_schema!(true),
                    SubschemaKind::One => json_schema!({ "anyOf": [{ "type": "boolean" }, this] }),
                    SubschemaKind::List => json_schema!({ "type": "array", "items": this }),
                    SubschemaKind::Named => {
                        json_schema!({ "type": "object", "additionalProperties": this })
                    }
                };
                ((*word).to_owned(), value.to_value())
            })
            .collect();
        json_schema!({
            "description": "A JSON Schema that a value must satisfy.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

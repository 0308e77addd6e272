use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::model::Schema;
use crate::source::Spanned;
use crate::spec::decode::{Decode, Decoder, contract};
use crate::spec::yaml::Node;

/// A typed input of a plan: a JSON Schema with `default` and `description`.
#[derive(Clone, Debug)]
pub struct Param {
    /// What a value must satisfy.
    pub schema: Schema,
    /// The value when none is given.
    pub default: Option<Spanned<Value>>,
    /// A line for people.
    pub description: Option<String>,
}

/// A value that a plan gives to a plan that uses it: a JSON Schema with `value`.
#[derive(Clone, Debug)]
pub struct PlanOutput {
    /// What the value must satisfy.
    pub schema: Schema,
    /// Where it comes from.
    pub value: Spanned<Template>,
}

impl Decode for Param {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let schema = Schema::decode(node, decoder)?;
        let given = node.get("default").map(|entry| &entry.value);
        let described = node.get("description").map(|entry| &entry.value);
        Some(Self {
            schema,
            default: given.and_then(|value| Decode::decode(value, decoder)),
            description: described.and_then(|text| Decode::decode(text, decoder)),
        })
    }
}

impl Decode for PlanOutput {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let schema = contract(node, &["value"], decoder);
        let value = node.get("value").map(|entry| &entry.value);
        if value.is_none() && schema.is_some() {
            let message = "an output of a plan needs the key `value`";
            decoder.note(Diagnostic::new(Code::KeyMissing, node.head(), message));
        }
        let value = value.and_then(|value| Spanned::decode(value, decoder));
        Some(Self {
            schema: schema?,
            value: value?,
        })
    }
}

impl JsonSchema for Param {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Param".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<Schema>()
    }
}

impl JsonSchema for PlanOutput {
    fn schema_name() -> Cow<'static, str> {
        "PlanOutput".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let mut schema = Schema::json_schema(generator);
        let value = generator.subschema_for::<Template>();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.insert("value".into(), value.to_value());
        }
        schema.insert("required".into(), serde_json::json!(["value"]));
        schema
    }
}

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::model::{Schema, Taint};
use crate::source::Spanned;
use crate::spec::decode::{Decode, Decoder, contract, words};
use crate::spec::yaml::Node;

/// A typed input of a plan: a JSON Schema with `default` and `description`.
#[derive(Clone, Debug)]
pub struct Param {
    /// What a value must satisfy.
    pub schema: Schema,
    /// The value when none is given.
    pub default: Option<Spanned<Value>>,
    /// How far who gives it is trusted: `owner` if absent.
    pub taint: Taint,
    /// A line for people.
    pub description: Option<String>,
}

/// A value that a step must give: a JSON Schema with `taint`.
#[derive(Clone, Debug)]
pub struct StepOutput {
    /// What the value must satisfy.
    pub schema: Schema,
    /// Whether it is declared to come from outside, whatever makes it.
    pub external: bool,
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
        let schema = contract(node, &["taint"], decoder)?;
        let taint = node.get("taint").map(|entry| &entry.value);
        let given = node.get("default").map(|entry| &entry.value);
        let described = node.get("description").map(|entry| &entry.value);
        Some(Self {
            schema,
            taint: taint
                .and_then(|word| Taint::decode(word, decoder))
                .unwrap_or_default(),
            default: given.and_then(|value| Decode::decode(value, decoder)),
            description: described.and_then(|text| Decode::decode(text, decoder)),
        })
    }
}

impl Decode for StepOutput {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let schema = contract(node, &["taint"], decoder);
        let word = node.get("taint").map(|entry| &entry.value);
        let taint = word.and_then(|word| Taint::decode(word, decoder));
        if let (Some(word), Some(Taint::Owner | Taint::Auth)) = (word, taint) {
            let message = "an output cannot be declared to be trusted";
            let mistake = Diagnostic::new(Code::ValueWrong, word.span, message);
            decoder.note(mistake.help(
                "remove it: trust follows from what the step reads and reaches; \
                 only an approval gives more",
            ));
        }
        Some(Self {
            schema: schema?,
            external: taint == Some(Taint::External),
        })
    }
}

words!(known Taint {
    "owner" => Self::Owner,
    "auth" => Self::Auth,
    "external" => Self::External,
});

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
    fn schema_name() -> Cow<'static, str> {
        "Param".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let words = ["owner", "auth", "external"];
        with_taint(
            generator,
            &words,
            "How far who gives it is trusted: `owner` if absent.",
        )
    }
}

impl JsonSchema for StepOutput {
    fn schema_name() -> Cow<'static, str> {
        "StepOutput".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let about = "Whether it comes from outside, whatever makes it.";
        with_taint(generator, &["external"], about)
    }
}

/// A JSON Schema with the key `taint` besides.
fn with_taint(generator: &mut SchemaGenerator, words: &[&str], about: &str) -> schemars::Schema {
    let mut schema = Schema::json_schema(generator);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let taint = serde_json::json!({ "enum": words, "description": about });
        properties.insert("taint".into(), taint);
    }
    schema
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

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::{
    decode::{DecodeSpec, SpecDecoder, contract, words},
    yaml::YamlNode,
};
use wf_base::{
    diag::{Code, Diagnostic},
    source::Spanned,
};
use wf_model::{TaintLevel, ValueSchema, expr::Template};

/// A typed input of a plan: a JSON Schema with `default` and `description`.
#[derive(Clone, Debug)]
pub struct ParamSpec {
    /// The schema of a value.
    pub schema: ValueSchema,
    /// The value if none is given.
    pub default: Option<Spanned<Value>>,
    /// The trust in the source of the value: `owner` if absent.
    pub taint: TaintLevel,
    /// A description of one line.
    pub description: Option<String>,
}

/// A value a step must give: a JSON Schema with `default` and `taint`.
#[derive(Clone, Debug)]
pub struct StepOutputSpec {
    /// The schema of the value.
    pub schema: ValueSchema,
    /// The value if the step ends without one. It is part of the schema, too.
    pub default: Option<Spanned<Value>>,
    /// True if it is declared as external, whatever its source.
    pub external: bool,
}

/// A value a plan gives to a plan using it: a JSON Schema with `default` and `value`.
#[derive(Clone, Debug)]
pub struct PlanOutputSpec {
    /// The schema of the value.
    pub schema: ValueSchema,
    /// The value if the step using the plan ends without one. It is part of the schema, too.
    pub default: Option<Spanned<Value>>,
    /// The source of the value; `None`: the answer of the agent the plan is.
    pub value: Option<Spanned<Template>>,
}

impl DecodeSpec for ParamSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let schema = contract(node, &["taint"], decoder)?;
        let taint = node.get("taint").map(|entry| &entry.value);
        let described = node.get("description").map(|entry| &entry.value);
        Some(Self {
            schema,
            taint: taint.and_then(|word| TaintLevel::decode(word, decoder)).unwrap_or_default(),
            default: default(node, decoder),
            description: described.and_then(|text| DecodeSpec::decode(text, decoder)),
        })
    }
}

impl DecodeSpec for StepOutputSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let schema = contract(node, &["taint"], decoder);
        let word = node.get("taint").map(|entry| &entry.value);
        let taint = word.and_then(|word| TaintLevel::decode(word, decoder));
        if let (Some(word), Some(TaintLevel::Owner | TaintLevel::Auth)) = (word, taint) {
            let message = "an output cannot be declared trusted";
            let mistake = Diagnostic::new(Code::ValueWrong, word.span, message);
            decoder.emit(mistake.with_help(
                "remove it: trust is derived from what the step reads and reaches; only an \
                 approval raises it",
            ));
        }
        let external = taint == Some(TaintLevel::External);
        Some(Self { schema: schema?, default: default(node, decoder), external })
    }
}

words!(TaintLevel);

impl DecodeSpec for PlanOutputSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let schema = contract(node, &["value"], decoder);
        let value = match node.get("value") {
            Some(entry) => Some(Spanned::decode(&entry.value, decoder)?),
            None => None,
        };
        Some(Self { schema: schema?, default: default(node, decoder), value })
    }
}

/// Returns the `default` of a JSON Schema.
fn default(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Spanned<Value>> {
    node.get("default").and_then(|entry| DecodeSpec::decode(&entry.value, decoder))
}

impl JsonSchema for ParamSpec {
    fn schema_name() -> Cow<'static, str> {
        "Param".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let words = ["owner", "auth", "external"];
        with_taint(generator, &words, "How far who gives it is trusted: `owner` if absent.")
    }
}

impl JsonSchema for StepOutputSpec {
    fn schema_name() -> Cow<'static, str> {
        "StepOutput".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let about = "Whether it comes from outside, whatever makes it.";
        with_taint(generator, &["external"], about)
    }
}

/// Returns a JSON Schema with the additional key `taint`.
fn with_taint(generator: &mut SchemaGenerator, words: &[&str], about: &str) -> schemars::Schema {
    let mut schema = ValueSchema::json_schema(generator);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let taint = serde_json::json!({ "enum": words, "description": about });
        properties.insert("taint".into(), taint);
    }
    schema
}

impl JsonSchema for PlanOutputSpec {
    fn schema_name() -> Cow<'static, str> {
        "PlanOutput".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let mut schema = ValueSchema::json_schema(generator);
        let value = generator.subschema_for::<Template>();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.insert("value".into(), value.to_value());
        }
        schema
    }
}

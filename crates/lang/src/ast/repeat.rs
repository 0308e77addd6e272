use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::decode::{DecodeSpec, SpecDecoder};
use crate::yaml::{YamlNode, YamlValue};
use wf_model::expr::Expr;

/// The list over which a step is repeated.
#[derive(Clone, Debug)]
pub enum ForEachSpec {
    /// A list in the plan.
    List(Vec<Value>),
    /// A list computed in the run.
    Computed(Expr),
}

impl DecodeSpec for ForEachSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        match &node.value {
            YamlValue::List(items) => Some(Self::List(items.iter().map(YamlNode::json).collect())),
            YamlValue::Text(_) => Expr::decode(node, decoder).map(Self::Computed),
            _ => {
                decoder.wrong_type(node, "a list, or an expression that evaluates to one");
                None
            }
        }
    }
}

impl JsonSchema for ForEachSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ForEach".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["array", "string"] })
    }
}

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::expr::Expr;
use crate::spec::decode::{Decode, Decoder};
use crate::spec::yaml::{Node, Yaml};

/// The list over which a step is repeated.
#[derive(Clone, Debug)]
pub enum ForEach {
    /// A list that the plan gives.
    List(Vec<Value>),
    /// A list that a run computes.
    Computed(Expr),
}

impl Decode for ForEach {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        match &node.value {
            Yaml::List(items) => Some(Self::List(items.iter().map(Node::json).collect())),
            Yaml::Text(_) => Expr::decode(node, decoder).map(Self::Computed),
            _ => {
                decoder.wrong_type(node, "a list, or an expression that gives one");
                None
            }
        }
    }
}

impl JsonSchema for ForEach {
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

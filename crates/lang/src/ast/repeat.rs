use serde_json::Value;

use crate::decode::{DecodeSpec, SpecDecoder};
use crate::yaml::{YamlNode, YamlValue};
use wf_base::inline_schema;
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
            YamlValue::List(items) => {
                decoder.note_rewritten_numbers(node);
                Some(Self::List(items.iter().map(YamlNode::json).collect()))
            }
            YamlValue::Text(_) => Expr::decode(node, decoder).map(Self::Computed),
            _ => {
                decoder.wrong_type(node, "a list, or an expression that evaluates to one");
                None
            }
        }
    }
}

inline_schema!(ForEachSpec, "ForEach", { "type": ["array", "string"] });

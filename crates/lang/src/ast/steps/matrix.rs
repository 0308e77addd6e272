use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::{
    decode::{DecodeSpec, EntryKey, OrderedEntries, SpecDecoder},
    yaml::{YamlNode, YamlValue},
};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    name::Name,
    source::{Span, Spanned},
};

/// The maximum number of combinations of a matrix.
pub const MAX_COMBINATIONS: usize = 10_000;

/// The axes of a step repeated for their combinations.
#[derive(Clone, Debug)]
pub struct MatrixSpec {
    /// Each axis and its values.
    pub axes: Vec<(Spanned<Name>, Vec<Value>)>,
    /// Combinations to add, or values to add to combinations that agree.
    pub include: Vec<OrderedEntries<Name, Value>>,
    /// Parts of combinations; the combinations that agree with one are excluded.
    pub exclude: Vec<OrderedEntries<Name, Value>>,
}

impl MatrixSpec {
    /// True if `matrix.NAME` can be read: an axis, or a key `include` adds.
    pub fn has_name(&self, name: &str) -> bool {
        self.names().any(|axis| axis.as_str() == name)
    }

    /// Returns every name that can be read, axes first.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        let added = self.include.iter().flat_map(|entries| entries.iter());
        let axes = self.axes.iter().map(|(name, _)| &name.value);
        axes.chain(added.map(|(name, _)| &name.value))
    }

    fn size(&self) -> usize {
        let product = self.axes.iter().fold(1_usize, |size, (_, values)| size.saturating_mul(values.len()));
        product.saturating_add(self.include.len())
    }
}

impl DecodeSpec for MatrixSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let YamlValue::Map(entries) = &node.value else {
            decoder.wrong_type(node, "a matrix, which is a mapping");
            return None;
        };
        decoder.note_rewritten_numbers(node);
        let mut matrix = Self { axes: Vec::new(), include: Vec::new(), exclude: Vec::new() };
        for entry in entries {
            match &*entry.key {
                "include" => {
                    matrix.include = DecodeSpec::decode(&entry.value, decoder).unwrap_or_default();
                }
                "exclude" => {
                    matrix.exclude = DecodeSpec::decode(&entry.value, decoder).unwrap_or_default();
                }
                name => {
                    let name = Name::read(name, entry.at, decoder);
                    let values = Vec::decode(&entry.value, decoder);
                    if let (Some(name), Some(values)) = (name, values) {
                        matrix.axes.push((Spanned::new(name, entry.at), values));
                    }
                }
            }
        }
        if entries.is_empty() {
            let message = "a matrix needs at least one axis";
            decoder.emit(Diagnostic::new(Code::ValueWrong, node.head(), message));
        }
        matrix.check_size(node.head(), decoder);
        Some(matrix)
    }
}

impl MatrixSpec {
    fn check_size(&self, head: Span, decoder: &mut SpecDecoder<'_>) {
        if self.size() > MAX_COMBINATIONS {
            let message = format!(
                "this matrix has {} combinations; at most {MAX_COMBINATIONS} are allowed",
                self.size()
            );
            decoder.emit(Diagnostic::new(Code::ValueWrong, head, message));
        }
        for (name, _) in self.exclude.iter().flat_map(|entries| entries.iter()) {
            let axes = || self.axes.iter().map(|(axis, _)| axis.value.as_str());
            if axes().all(|axis| axis != name.value.as_str()) {
                let message = format!("unknown axis `{}` in this matrix", name.value);
                let near = nearest(name.value.as_str(), axes());
                decoder.emit(Diagnostic::new(Code::KeyUnknown, name.span, message).with_suggestion(near));
            }
        }
    }
}

impl JsonSchema for MatrixSpec {
    fn schema_name() -> Cow<'static, str> {
        "Matrix".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        json_schema!({
            "description": "The axes over whose combinations a step is repeated.",
            "type": "object",
            "properties": {
                "include": {
                    "description": "Combinations to add, or values to add to those that agree.",
                    "type": "array", "items": { "type": "object" }
                },
                "exclude": {
                    "description": "Parts of combinations; those that agree are left out.",
                    "type": "array", "items": { "type": "object" }
                },
            },
            "propertyNames": { "pattern": Name::PATTERN },
            "additionalProperties": { "type": "array" },
        })
    }
}

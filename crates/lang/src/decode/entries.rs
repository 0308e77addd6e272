use std::{borrow::Cow, ops::Deref};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{DecodeSpec, SpecDecoder, decoder::wrong_type};
use crate::yaml::{YamlNode, YamlValue};
use wf_base::source::{Span, Spanned};

/// A type of key.
pub trait EntryKey: Sized {
    /// Reads a key and notes the mistakes in it.
    fn read(text: &str, span: Span, decoder: &mut SpecDecoder<'_>) -> Option<Self>;
}

/// A mapping whose keys the author chooses, in order.
#[derive(Clone, Debug)]
pub struct OrderedEntries<K, V>(pub Vec<(Spanned<K>, V)>);

impl<K, V> Default for OrderedEntries<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K, V> Deref for OrderedEntries<K, V> {
    type Target = [(Spanned<K>, V)];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<K: Clone + PartialEq, V: Clone> OrderedEntries<K, V> {
    /// Returns these entries, with others added or, under the same key, replacing them.
    #[must_use]
    pub fn overlaid(&self, others: &Self) -> Self {
        let taken = |key: &K| others.iter().any(|(other, _)| other.value == *key);
        let own = self.iter().filter(|(key, _)| !taken(&key.value));
        Self(own.chain(others.iter()).cloned().collect())
    }
}

impl EntryKey for String {
    fn read(text: &str, _: Span, _decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl<K: EntryKey, V: DecodeSpec> DecodeSpec for OrderedEntries<K, V> {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let YamlValue::Map(entries) = &node.value else {
            match &node.value {
                YamlValue::List(items) => {
                    let help = items.first().map_or("write `{}`".into(), as_entry);
                    decoder.emit(wrong_type(node, "a mapping").with_help(help));
                }
                _ => decoder.wrong_type(node, "a mapping"),
            }
            return None;
        };
        let mut pairs = Vec::with_capacity(entries.len());
        for entry in entries {
            let key = K::read(&entry.key, entry.at, decoder);
            let value = V::decode(&entry.value, decoder);
            if let (Some(key), Some(value)) = (key, value) {
                pairs.push((Spanned::new(key, entry.at), value));
            }
        }
        Some(Self(pairs))
    }
}

/// Returns the first item of a list as it would be written as an entry of a mapping.
fn as_entry(item: &YamlNode<'_>) -> String {
    match &item.value {
        YamlValue::Text(text) => {
            let (key, value) = text.split_once('=').unwrap_or((text, "…"));
            let key = key.trim();
            format!("write a mapping without hyphens: `{key}: {}`", value.trim())
        }
        YamlValue::Map(entries) if entries.len() == 1 => {
            let key = entries.first().map_or("NAME", |entry| &entry.key);
            format!("write a mapping without hyphens: `{key}: …`")
        }
        _ => "write a mapping, `NAME: …`, without hyphens".to_owned(),
    }
}

impl<K: JsonSchema, V: JsonSchema> JsonSchema for OrderedEntries<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Entries{}{}", K::schema_name(), V::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = generator.subschema_for::<K>();
        let values = generator.subschema_for::<V>();
        json_schema!({ "type": "object", "propertyNames": names, "additionalProperties": values })
    }
}

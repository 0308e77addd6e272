use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::decoder::wrong_type;
use super::{Decode, Decoder};
use crate::source::{Span, Spanned};
use crate::spec::yaml::{Node, Yaml};

/// A type that stands as a key.
pub trait Key: Sized {
    /// Reads a key and notes what is wrong with it.
    fn read(text: &str, span: Span, decoder: &mut Decoder<'_>) -> Option<Self>;
}

/// A mapping whose keys the author chooses, in order.
#[derive(Clone, Debug)]
pub struct Entries<K, V>(pub Vec<(Spanned<K>, V)>);

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K, V> Deref for Entries<K, V> {
    type Target = [(Spanned<K>, V)];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<K: Clone + PartialEq, V: Clone> Entries<K, V> {
    /// These, with others in addition or, under the same key, in their place.
    #[must_use]
    pub fn overlaid(&self, others: &Self) -> Self {
        let taken = |key: &K| others.iter().any(|(other, _)| other.value == *key);
        let own = self.iter().filter(|(key, _)| !taken(&key.value));
        Self(own.chain(others.iter()).cloned().collect())
    }
}

impl Key for String {
    fn read(text: &str, _: Span, _: &mut Decoder<'_>) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl<K: Key, V: Decode> Decode for Entries<K, V> {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let Yaml::Map(entries) = &node.value else {
            match &node.value {
                Yaml::List(items) => {
                    let help = items.first().map_or("write `{}`".into(), as_entry);
                    decoder.note(wrong_type(node, "a mapping").help(help));
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

/// How the first item of a list would be written as an entry of a mapping.
fn as_entry(item: &Node<'_>) -> String {
    match &item.value {
        Yaml::Text(text) => {
            let (key, value) = text.split_once('=').unwrap_or((text, "…"));
            let key = key.trim();
            format!("write a mapping without hyphens: `{key}: {}`", value.trim())
        }
        Yaml::Map(entries) if entries.len() == 1 => {
            let key = entries.first().map_or("NAME", |entry| &entry.key);
            format!("write a mapping without hyphens: `{key}: …`")
        }
        _ => "write a mapping, `NAME: …`, without hyphens".to_owned(),
    }
}

impl<K: JsonSchema, V: JsonSchema> JsonSchema for Entries<K, V> {
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

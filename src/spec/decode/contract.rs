use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator, json_schema};

use super::{Decode, Decoder};
use crate::diag::{Code, Diagnostic, nearest};
use crate::model::Schema;
use crate::spec::yaml::{Entry, Node, Yaml};

/// The vocabulary of JSON Schema that a contract may use, and where each word leads to further
/// schemas. References are not among it: a contract stands on its own.
const VOCABULARY: &[(&str, Below)] = &[
    ("type", Below::Nothing),
    ("enum", Below::Nothing),
    ("const", Below::Nothing),
    ("default", Below::Nothing),
    ("title", Below::Nothing),
    ("description", Below::Nothing),
    ("examples", Below::Nothing),
    ("format", Below::Nothing),
    ("pattern", Below::Nothing),
    ("minLength", Below::Nothing),
    ("maxLength", Below::Nothing),
    ("minimum", Below::Nothing),
    ("maximum", Below::Nothing),
    ("exclusiveMinimum", Below::Nothing),
    ("exclusiveMaximum", Below::Nothing),
    ("multipleOf", Below::Nothing),
    ("items", Below::One),
    ("prefixItems", Below::List),
    ("contains", Below::One),
    ("minItems", Below::Nothing),
    ("maxItems", Below::Nothing),
    ("uniqueItems", Below::Nothing),
    ("properties", Below::Named),
    ("patternProperties", Below::Named),
    ("additionalProperties", Below::One),
    ("propertyNames", Below::One),
    ("required", Below::Nothing),
    ("minProperties", Below::Nothing),
    ("maxProperties", Below::Nothing),
    ("allOf", Below::List),
    ("anyOf", Below::List),
    ("oneOf", Below::List),
    ("not", Below::One),
    ("if", Below::One),
    ("then", Below::One),
    ("else", Below::One),
];

/// What stands below a word of the vocabulary.
#[derive(Clone, Copy)]
enum Below {
    /// A value that is no schema.
    Nothing,
    /// A schema.
    One,
    /// A list of schemas.
    List,
    /// A mapping from names to schemas.
    Named,
}

impl Decode for Schema {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        contract(node, &[], decoder)
    }
}

/// Reads a JSON Schema from a mapping; the keys in `beside` belong to somebody else.
pub(crate) fn contract(
    node: &Node<'_>,
    beside: &[&str],
    decoder: &mut Decoder<'_>,
) -> Option<Schema> {
    let Yaml::Map(entries) = &node.value else {
        decoder.wrong_type(node, "a JSON Schema, which is a mapping");
        return None;
    };
    let own = || {
        entries
            .iter()
            .filter(|entry| !beside.contains(&&*entry.key))
    };
    let wrong = own().filter(|entry| !word(entry, decoder)).count();
    let text = own().map(|entry| (entry.key.to_string(), entry.value.json()));
    let text = text.collect();
    if wrong > 0 {
        return None;
    }
    decoder.schema(text, node.head())
}

/// Notes unknown words in a schema and in those below it; false if there are any.
fn vocabulary(node: &Node<'_>, decoder: &mut Decoder<'_>) -> bool {
    match &node.value {
        Yaml::Map(entries) => entries.iter().filter(|entry| !word(entry, decoder)).count() == 0,
        // `true` and `false` are schemas; what else is none, the compiler of schemas says.
        _ => true,
    }
}

fn word(entry: &Entry<'_>, decoder: &mut Decoder<'_>) -> bool {
    let known = VOCABULARY.iter().find(|(word, _)| *word == entry.key);
    let Some((_, below)) = known else {
        if !decoder.is_full() {
            let message = format!("a JSON Schema here has no key `{}`", entry.key);
            let near = nearest(&entry.key, VOCABULARY.iter().map(|(word, _)| *word));
            decoder.note(Diagnostic::new(Code::KeyUnknown, entry.at, message).meant(near));
        }
        return false;
    };
    if entry.key == "type" && !types(&entry.value, decoder) {
        return false;
    }
    let schemas: Vec<&Node<'_>> = match (below, &entry.value.value) {
        (Below::One, _) => vec![&entry.value],
        (Below::List, Yaml::List(items)) => items.iter().collect(),
        (Below::Named, Yaml::Map(entries)) => entries.iter().map(|entry| &entry.value).collect(),
        _ => Vec::new(),
    };
    let wrong = schemas
        .into_iter()
        .filter(|node| !vocabulary(node, decoder));
    wrong.count() == 0
}

/// Notes a type that JSON does not have; false if there is one.
fn types(node: &Node<'_>, decoder: &mut Decoder<'_>) -> bool {
    const TYPES: [(&str, ()); 7] = [
        ("string", ()),
        ("integer", ()),
        ("number", ()),
        ("boolean", ()),
        ("array", ()),
        ("object", ()),
        ("null", ()),
    ];
    let items = match &node.value {
        Yaml::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let wrong = items
        .iter()
        .filter(|item| super::word(item, &TYPES, &[], decoder).is_none());
    wrong.count() == 0
}

impl JsonSchema for Schema {
    fn schema_name() -> Cow<'static, str> {
        "Contract".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let this = generator.subschema_for::<Self>();
        let properties: serde_json::Map<_, _> = VOCABULARY
            .iter()
            .map(|(word, below)| {
                let value = match below {
                    Below::Nothing => json_schema!(true),
                    Below::One => json_schema!({ "anyOf": [{ "type": "boolean" }, this] }),
                    Below::List => json_schema!({ "type": "array", "items": this }),
                    Below::Named => {
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

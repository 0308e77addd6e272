use super::{DecodeSpec, SpecDecoder, one_of};
use crate::yaml::{YamlEntry, YamlNode, YamlValue};
use wf_base::diag::{Code, Diagnostic, nearest};
use wf_model::{SubschemaKind, VOCABULARY, ValueSchema};

impl DecodeSpec for ValueSchema {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        contract(node, &[], decoder)
    }
}

/// Reads a JSON Schema from a mapping; the keys in `beside` are not part of it.
pub(crate) fn contract(
    node: &YamlNode<'_>,
    beside: &[&str],
    decoder: &mut SpecDecoder<'_>,
) -> Option<ValueSchema> {
    let YamlValue::Map(entries) = &node.value else {
        decoder.wrong_type(node, "a JSON Schema, which is a mapping");
        return None;
    };
    let own = || entries.iter().filter(|entry| !beside.contains(&&*entry.key));
    let wrong = own().filter(|entry| !word(entry, decoder)).count();
    let text = own().map(|entry| (entry.key.to_string(), entry.value.json()));
    let text = text.collect();
    if wrong > 0 {
        return None;
    }
    decoder.schema(text, node.head())
}

/// Notes unknown words in a schema and in its subschemas; false if there are any.
fn vocabulary(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> bool {
    match &node.value {
        YamlValue::Map(entries) => entries.iter().filter(|entry| !word(entry, decoder)).count() == 0,
        // `true` and `false` are schemas; the compiler of schemas rejects everything else.
        _ => true,
    }
}

fn word(entry: &YamlEntry<'_>, decoder: &mut SpecDecoder<'_>) -> bool {
    let entry_of_word = VOCABULARY.iter().find(|(word, _)| *word == entry.key);
    let Some((_, below)) = entry_of_word else {
        if !decoder.is_full() {
            let message = format!("unknown key `{}` in a JSON Schema", entry.key);
            let near = nearest(&entry.key, VOCABULARY.iter().map(|(word, _)| *word));
            decoder.emit(Diagnostic::new(Code::KeyUnknown, entry.at, message).with_suggestion(near));
        }
        return false;
    };
    if entry.key == "type" && !types(&entry.value, decoder) {
        return false;
    }
    let schemas: Vec<&YamlNode<'_>> = match (below, &entry.value.value) {
        (SubschemaKind::One, _) => vec![&entry.value],
        (SubschemaKind::List, YamlValue::List(items)) => items.iter().collect(),
        (SubschemaKind::Named, YamlValue::Map(entries)) => entries.iter().map(|entry| &entry.value).collect(),
        _ => Vec::new(),
    };
    let wrong = schemas.into_iter().filter(|node| !vocabulary(node, decoder));
    wrong.count() == 0
}

/// Notes a type unknown to JSON; false if there is one.
fn types(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> bool {
    const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];
    let items = match &node.value {
        YamlValue::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let wrong = items.iter().filter(|item| one_of(item, &TYPES, decoder).is_none());
    wrong.count() == 0
}

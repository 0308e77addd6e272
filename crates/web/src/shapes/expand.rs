//! From a sample to the shapes of a view.

use serde_json::{Map, Value};

/// The keys of objects with a special meaning.
const ALTERNATIVES: &str = "one of";
const ELEMENT: &str = "element";
const LITERAL: &str = "just";
const REFERENCE: &str = "see";

/// Replaces the references in a sample by the samples they name.
pub(super) fn resolve(sample: &Value, read: &dyn Fn(&str) -> Value) -> Value {
    match sample {
        Value::Object(fields) => {
            if let Some(name) = fields.get(REFERENCE).and_then(Value::as_str) {
                return resolve(&read(name), read);
            }
            let resolved = fields.iter().map(|(key, value)| (key.clone(), resolve(value, read)));
            resolved.collect::<Map<_, _>>().into()
        }
        Value::Array(elements) => elements.iter().map(|element| resolve(element, read)).collect(),
        other => other.clone(),
    }
}

/// Returns all shapes of a sample, the whole one first.
pub(super) fn shapes(sample: &Value) -> Vec<Value> {
    match sample {
        Value::Object(fields) => {
            if let Some(alternative_shapes) = alternatives(fields) {
                return alternative_shapes.iter().flat_map(shapes).collect();
            }
            if let Some(element) = fields.get(ELEMENT) {
                return shapes(element)
                    .into_iter()
                    .map(|element_shape| Value::Array(vec![element_shape]))
                    .collect();
            }
            fields.get(LITERAL).map_or_else(|| object_shapes(fields), |value| vec![value.clone()])
        }
        Value::Array(elements) => {
            let element_shapes = elements.iter().flat_map(shapes).collect();
            vec![Value::Array(element_shapes), Value::Array(Vec::new())]
        }
        other => vec![other.clone()],
    }
}

fn alternatives(fields: &Map<String, Value>) -> Option<&Vec<Value>> {
    fields.get(ALTERNATIVES)?.as_array()
}

/// A field in one shape; `None`: it is absent.
type FieldShape = (String, Option<Value>);

fn object_shapes(fields: &Map<String, Value>) -> Vec<Value> {
    let each: Vec<Vec<FieldShape>> = fields.iter().map(|(key, sample)| field_shapes(key, sample)).collect();
    let plain: Vec<FieldShape> =
        fields.iter().map(|(key, value)| (name(key), Some(plain_shape(value)))).collect();
    let mut objects = vec![object(each.iter().filter_map(|key_shapes| key_shapes.first()))];
    for (at, field) in each.iter().enumerate() {
        for other in field.iter().skip(1) {
            let parts = plain
                .iter()
                .enumerate()
                .map(|(place, key_shape)| if place == at { other } else { key_shape });
            objects.push(object(parts));
        }
    }
    objects
}

/// Returns the shape from which others differ: everything is there, and lists have one element.
fn plain_shape(sample: &Value) -> Value {
    match sample {
        Value::Object(fields) => {
            if let Some(alternative_shapes) = alternatives(fields) {
                return alternative_shapes.first().map(plain_shape).unwrap_or_default();
            }
            if let Some(element) = fields.get(ELEMENT) {
                return Value::Array(vec![plain_shape(element)]);
            }
            let parts = fields.iter().map(|(key, value)| (name(key), plain_shape(value)));
            fields.get(LITERAL).cloned().unwrap_or_else(|| parts.collect::<Map<_, _>>().into())
        }
        Value::Array(elements) => elements.iter().take(1).map(plain_shape).collect(),
        other => other.clone(),
    }
}

/// Returns the name of a field.
fn name(key: &str) -> String {
    key.trim_end_matches(['?', '~']).to_owned()
}

fn object<'a>(fields: impl Iterator<Item = &'a FieldShape>) -> Value {
    fields.filter_map(|(key, value)| Some((key.clone(), value.clone()?))).collect::<Map<_, _>>().into()
}

fn field_shapes(key: &str, sample: &Value) -> Vec<FieldShape> {
    let mut values: Vec<Option<Value>> = shapes(sample).into_iter().map(Some).collect();
    if key.contains('?') {
        values.push(Some(Value::Null));
    }
    if key.contains('~') {
        values.push(None);
    }
    values.into_iter().map(|value| (name(key), value)).collect()
}

/// Returns the shape with as little as possible: nothing that may be absent, and no elements.
pub(super) fn sparse_shape(sample: &Value) -> Value {
    match sample {
        Value::Object(fields) => {
            if let Some(alternative_shapes) = alternatives(fields) {
                return alternative_shapes.last().map(sparse_shape).unwrap_or_default();
            }
            if let Some(element) = fields.get(ELEMENT) {
                return Value::Array(vec![sparse_shape(element)]);
            }
            if let Some(value) = fields.get(LITERAL) {
                return value.clone();
            }
            let present = fields.iter().filter(|(key, _)| !key.contains('~'));
            let field = |(key, value): (&String, &Value)| match key.strip_suffix('?') {
                Some(name) => (name.to_owned(), Value::Null),
                None => (key.clone(), sparse_shape(value)),
            };
            present.map(field).collect::<Map<_, _>>().into()
        }
        Value::Array(_) => Value::Array(Vec::new()),
        other => other.clone(),
    }
}

/// Replaces the texts of a shape, except times, pictures and prose, which are made here.
pub(super) fn with_texts(shape: &Value, text: &str) -> Value {
    match shape {
        Value::String(own)
            if own.starts_with("2026-") && own.ends_with('Z')
                || own.starts_with("<svg")
                || own.starts_with("<div class=\"timeline\"")
                || own.starts_with("<p>") =>
        {
            shape.clone()
        }
        Value::String(_) => text.into(),
        Value::Array(elements) => elements.iter().map(|element| with_texts(element, text)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), with_texts(value, text)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

//! The comparison of a sample with a real document: a key that the sample has is one there, and is null only where the sample
//! says so.

use serde::Serialize;
use serde_json::{Map, Value};

/// Reads the sample of a name, or a part of it.
pub(super) fn sample(name: &str, part: &str) -> Value {
    let path = format!("crates/web/src/templates/samples/{name}.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let whole: Value = serde_json::from_str(&text).unwrap();
    whole.pointer(part).unwrap_or_else(|| panic!("{path} has no {part}")).clone()
}

/// Adds the places in which a document is not what a sample says.
fn compare(sample_of: &Value, real: &Value, place: &str, wrong: &mut Vec<String>) {
    match sample_of {
        Value::Object(fields) => match fields.keys().next().map(String::as_str) {
            Some("see") => compare(&sample(fields["see"].as_str().unwrap(), ""), real, place, wrong),
            Some("just") => {}
            Some("one of") => {
                let found = fields["one of"].as_array().unwrap().iter().map(|one| {
                    let mut wrong = Vec::new();
                    compare(one, real, place, &mut wrong);
                    wrong
                });
                wrong.extend(found.min_by_key(Vec::len).unwrap_or_default());
            }
            Some("element") => compare_elements(&fields["element"], real, place, wrong),
            _ => compare_fields(fields, real, place, wrong),
        },
        Value::Array(elements) => {
            for one in elements {
                compare_elements(one, real, place, wrong);
            }
        }
        Value::Null => {}
        _ if real.is_null() => wrong.push(format!("{place} may be null")),
        _ => {}
    }
}

fn compare_elements(sample_of: &Value, real: &Value, place: &str, wrong: &mut Vec<String>) {
    match real.as_array() {
        Some(elements) => {
            for one in elements {
                compare(sample_of, one, &format!("{place}[]"), wrong);
            }
        }
        None => wrong.push(format!("{place} is no list: {real}")),
    }
}

fn compare_fields(fields: &Map<String, Value>, real: &Value, place: &str, wrong: &mut Vec<String>) {
    let Some(object) = real.as_object() else {
        wrong.push(format!("{place} is no object: {real}"));
        return;
    };
    for (key, value) in fields {
        let name = key.trim_end_matches(['?', '~']);
        let place = format!("{place}.{name}");
        match object.get(name) {
            None if key.contains('~') => {}
            None => wrong.push(format!("{place} is absent")),
            Some(Value::Null) if key.contains('?') => {}
            Some(real) => compare(value, real, &place, wrong),
        }
    }
}

#[track_caller]
pub(in crate::web) fn fits(name: &str, part: &str, real: &impl Serialize) {
    let (real, mut wrong) = (serde_json::to_value(real).unwrap(), Vec::new());
    compare(&sample(name, part), &real, name, &mut wrong);
    assert_eq!(wrong, [""; 0], "{name}{part}: {real:#}");
}

/// Compares a view with a sample apart from some fields, which a page adds or real documents are compared with.
#[track_caller]
pub(in crate::web) fn fits_without(name: &str, fields: &[&str], real: &impl Serialize) {
    let (mut sample_of, mut wrong) = (sample(name, ""), Vec::new());
    for field in fields {
        assert!(sample_of.as_object_mut().unwrap().remove(*field).is_some());
    }
    compare(&sample_of, &serde_json::to_value(real).unwrap(), name, &mut wrong);
    assert_eq!(wrong, [""; 0], "{name}");
}

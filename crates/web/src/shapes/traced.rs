//! A view remembering the keys read by a template.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use minijinja::{
    Value,
    value::{Enumerator, Object},
};
use serde_json::{Map, Value as Json};

/// The keys that templates read, by their places in a view, where lists are `[]`.
#[derive(Debug, Default)]
pub(super) struct KeyLookups {
    found: Mutex<BTreeSet<String>>,
    missed: Mutex<BTreeSet<String>>,
}

impl KeyLookups {
    /// Returns the keys read and missing in every view.
    pub(super) fn unknown(&self) -> Vec<String> {
        let (read_keys, missed) = (self.found.lock().unwrap(), self.missed.lock().unwrap());
        missed.difference(&read_keys).cloned().collect()
    }
}

/// An object of a view.
#[derive(Debug)]
struct TracedObject {
    fields: Map<String, Json>,
    place: String,
    lookups: Arc<KeyLookups>,
}

impl Object for TracedObject {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let place = format!("{}.{key}", self.place);
        let value = self.fields.get(key).map(|value| traced(value, &place, &self.lookups));
        let lookups = if value.is_some() { &self.lookups.found } else { &self.lookups.missed };
        lookups.lock().unwrap().insert(place);
        value
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let keys: Vec<Value> = self.fields.keys().map(|key| Value::from(key.as_str())).collect();
        Enumerator::Iter(Box::new(keys.into_iter()))
    }
}

/// Returns a value of a view whose objects are traced.
pub(super) fn traced(value: &Json, place: &str, lookups: &Arc<KeyLookups>) -> Value {
    match value {
        Json::Object(fields) => Value::from_object(TracedObject {
            fields: fields.clone(),
            place: place.to_owned(),
            lookups: Arc::clone(lookups),
        }),
        Json::Array(elements) => {
            let place = format!("{place}[]");
            elements.iter().map(|element| traced(element, &place, lookups)).collect()
        }
        other => Value::from(minijinja::value::Serde(other.clone())),
    }
}

use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The text standing for the path of the workspace in a recording.
const WORKSPACE: &str = "/[workspace]";

/// Returns a value with a mark in place of the path of a workspace, so it is the same in every place.
pub fn to_portable<T: Serialize + DeserializeOwned + Clone>(value: &T, root: &Path) -> T {
    mapped(value, |text| replaced(text, root.to_str()?, WORKSPACE))
}

/// Returns a value with the path of a workspace in place of the mark.
pub fn from_portable<T: Serialize + DeserializeOwned + Clone>(value: &T, root: &Path) -> T {
    mapped(value, |text| replaced(text, WORKSPACE, root.to_str()?))
}

/// Changes all strings of a value.
fn mapped<T: Serialize + DeserializeOwned + Clone>(
    value: &T,
    change: impl Fn(&str) -> Option<String> + Copy,
) -> T {
    let changed = serde_json::to_value(value).ok().and_then(|mut json| {
        let is_changed = map_strings(&mut json, change);
        is_changed.then(|| serde_json::from_value(json).ok()).flatten()
    });
    changed.unwrap_or_else(|| value.clone())
}

/// Changes all strings of a JSON value; true if any was changed.
pub(super) fn map_strings(value: &mut Value, change: impl Fn(&str) -> Option<String> + Copy) -> bool {
    let mut any = false;
    match value {
        Value::String(text) => {
            if let Some(new) = change(text) {
                *text = new;
                any = true;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| any |= map_strings(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|field| any |= map_strings(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    any
}

/// Replaces a path where it ends as a name does: `/a/b` is not a part of `/a/bc`. `None` if nothing is replaced.
fn replaced(text: &str, path: &str, by: &str) -> Option<String> {
    if path.len() < 2 || !text.contains(path) {
        return None;
    }
    let mut new = String::with_capacity(text.len());
    let mut rest = text;
    let goes_on = |next: char| next.is_alphanumeric() || matches!(next, '_' | '-' | '.');
    while let Some((before, after)) = rest.split_once(path) {
        new.push_str(before);
        // A dot ends a sentence, or begins a suffix.
        let mut following = after.chars();
        let is_whole = match following.next() {
            Some('.') => !following.next().is_some_and(char::is_alphanumeric),
            Some(next) => !goes_on(next),
            None => true,
        };
        new.push_str(if is_whole { by } else { path });
        rest = after;
    }
    new.push_str(rest);
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::{from_portable, replaced, to_portable};
    use serde_json::{Value, json};
    use std::path::Path;

    #[test]
    fn a_path_is_replaced_where_it_is_whole() {
        for (text, expected) in [
            ("/a/b", "W"),
            ("File \"/a/b/c.py\", line 3", "File \"W/c.py\", line 3"),
            ("in /a/b. Then /a/b.", "in W. Then W."),
            ("/a/bc /a/b-c /a/b.py /a/b_", "/a/bc /a/b-c /a/b.py /a/b_"),
            ("/a/b:/a/b", "W:W"),
        ] {
            assert_eq!(replaced(text, "/a/b", "W").as_deref(), Some(expected), "{text}");
        }
        assert_eq!(replaced("/a/c", "/a/b", "W"), None);
        assert_eq!(replaced("/a", "/", "W"), None);
    }

    #[test]
    fn what_becomes_portable_can_be_used_in_another_place() {
        let value = json!({"messages": [{"text": "cd /home/ada/ws && ls"}], "n": 1});
        let portable: Value = to_portable(&value, Path::new("/home/ada/ws"));
        assert_eq!(portable, json!({"messages": [{"text": "cd /[workspace] && ls"}], "n": 1}));
        let there: Value = from_portable(&portable, Path::new("/ci/job"));
        assert_eq!(there, json!({"messages": [{"text": "cd /ci/job && ls"}], "n": 1}));
    }

    #[test]
    fn text_is_kept_in_the_json_of_arguments() {
        let arguments = json!({"script": "cat /w/s/x"}).to_string();
        let portable: Value = to_portable(&json!({"arguments": arguments}), Path::new("/w/s"));
        assert_eq!(portable["arguments"], json!({"script": "cat /[workspace]/x"}).to_string());
    }
}

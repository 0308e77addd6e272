use std::collections::BTreeSet;

use serde_json::Value;

use super::{decoded::decoded, weakness};

/// The parts of a secret looked for.
#[derive(Debug, Default)]
pub(super) struct SecretParts {
    /// The parts used by themselves: the whole, a value in it.
    pub(super) values: BTreeSet<String>,
    /// The parts that are only printed by themselves: its lines.
    pub(super) lines: BTreeSet<String>,
}

impl SecretParts {
    /// Collects the secret; its leaves, if it is JSON; the values of an address or an assignment in it; the
    /// lines of all of these; and the texts these values encode. Weak parts are left out.
    pub(super) fn of(secret: &str) -> Self {
        let mut parts = Self::default();
        parts.value(secret);
        if let Ok(value @ (Value::Array(_) | Value::Object(_) | Value::String(_))) =
            serde_json::from_str(secret)
        {
            parts.add_leaves(&value);
        }
        let decoded: Vec<String> = parts.values.iter().flat_map(|value| decoded(value)).collect();
        for text in &decoded {
            parts.value(text);
        }
        parts.lines.retain(|line| !parts.values.contains(line));
        parts
    }

    fn value(&mut self, text: &str) {
        let text = text.trim();
        add_strong(&mut self.values, text);
        add_strong(&mut self.values, unquoted(text));
        self.address(text);
        if text.contains(['\n', '\r']) {
            for line in text.lines().map(str::trim) {
                if !is_armour(line) {
                    add_strong(&mut self.lines, line);
                }
                if let Some(value) = assigned(line) {
                    add_strong(&mut self.values, unquoted(value));
                    self.address(unquoted(value));
                }
            }
        }
    }

    /// Adds an address without its scheme, and its password.
    fn address(&mut self, text: &str) {
        let Some((scheme, rest)) = text.split_once("://") else {
            return;
        };
        if scheme.contains(char::is_whitespace) || rest.contains(char::is_whitespace) {
            return;
        }
        add_strong(&mut self.values, rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        if let Some((user, _)) = authority.rsplit_once('@') {
            add_strong(&mut self.values, user);
            add_strong(&mut self.values, user.split_once(':').map_or("", |(_, password)| password));
        }
    }

    fn add_leaves(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => add_strong(&mut self.values, &number.to_string()),
            Value::String(text) => self.value(text),
            Value::Array(items) => items.iter().for_each(|item| self.add_leaves(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add_leaves(field)),
        }
    }
}

fn add_strong(parts: &mut BTreeSet<String>, text: &str) {
    if weakness(text).is_none() {
        parts.insert(text.trim().to_owned());
    }
}

fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// Returns the value of a line such as `export NAME=value`.
fn assigned(line: &str) -> Option<&str> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim().strip_prefix("export ").unwrap_or(name).trim();
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (!name.is_empty() && is_name(name)).then(|| value.trim())
}

/// True if a line is the armour around a key, which is the same for all keys.
fn is_armour(line: &str) -> bool {
    line.starts_with("-----") && line.ends_with("-----")
}

#[cfg(test)]
mod tests {
    use super::SecretParts;

    fn check(secret: &str, values: &[&str], lines: &[&str]) {
        let parts = SecretParts::of(secret);
        let all = |texts: &std::collections::BTreeSet<String>| texts.iter().cloned().collect::<Vec<_>>();
        assert_eq!(all(&parts.values), values, "{secret:?}");
        assert_eq!(all(&parts.lines), lines, "{secret:?}");
    }

    #[test]
    fn a_value_is_a_part() {
        check(" hunter2! \n", &["hunter2!"], &[]);
        check("abc", &[], &[]);
        check("'tr0ub4dor'", &["'tr0ub4dor'", "tr0ub4dor"], &[]);
    }

    #[test]
    fn leaves_and_lines_are_parts_unless_they_are_weak() {
        let json = "{\n  \"id\": 123,\n  \"uname\": \"john-doe\",\n  \"password\": \"foobar\"\n}";
        let lines = ["\"id\": 123,", "\"password\": \"foobar\"", "\"uname\": \"john-doe\","];
        check(json, &["foobar", "john-doe", json], &lines);
        let key = "-----BEGIN KEY-----\r\nMIIBVQ\r\nabc\r\n-----END KEY-----\r\n";
        check(key, &[key.trim()], &["MIIBVQ"]);
    }

    #[test]
    fn what_is_inside_of_addresses_and_assignments_is_a_part() {
        let url = "postgres://robot:tr0ub4dor@db.example/x?y";
        let rest = "robot:tr0ub4dor@db.example/x?y";
        check(url, &[url, "robot:tr0ub4dor", rest, "tr0ub4dor"], &[]);
        let file = "USER=robot\nexport KEY=\"tr0ub4dor\"";
        check(file, &[file, "tr0ub4dor"], &["USER=robot", "export KEY=\"tr0ub4dor\""]);
    }
}

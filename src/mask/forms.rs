use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// The shortest text that is masked, in characters.
pub const SHORTEST: usize = 4;

/// Every form in which a secret is looked for.
pub(super) fn of(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    for part in parts(secret) {
        forms.extend(escaped(&part));
        forms.extend(base64(part.as_bytes()));
        let hex = hex(part.as_bytes());
        forms.insert(hex.to_uppercase());
        forms.insert(hex);
        forms.insert(part);
    }
    forms.retain(|form| form.chars().count() >= SHORTEST);
    forms
}

/// The secret, its lines, and its leaves if it is JSON.
fn parts(secret: &str) -> BTreeSet<String> {
    let mut parts = BTreeSet::from([secret.to_owned(), secret.trim().to_owned()]);
    parts.extend(secret.lines().map(|line| line.trim().to_owned()));
    if let Ok(value @ (Value::Array(_) | Value::Object(_) | Value::String(_))) =
        serde_json::from_str(secret)
    {
        leaves(&value, &mut parts);
    }
    parts.retain(|part| part.chars().count() >= SHORTEST);
    parts
}

fn leaves(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => drop(found.insert(number.to_string())),
        Value::String(text) => {
            found.extend(text.lines().map(|line| line.trim().to_owned()));
            found.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| leaves(field, found)),
    }
}

/// The text as JSON, URLs and shells write it.
fn escaped(text: &str) -> Vec<String> {
    let json = Value::String(text.to_owned()).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or("").to_owned();
    let percent = percent(text, |byte| format!("%{byte:02X}"));
    vec![
        ascii_json(&json),
        json.replace('/', "\\/"),
        percent.replace("%20", "+"),
        percent,
        self::percent(text, |byte| format!("%{byte:02x}")),
        text.replace('\'', r"'\''"),
        text.replace('\'', r#"'"'"'"#),
        backslashed(text, |c| matches!(c, '"' | '\\' | '$' | '`')),
        backslashed(text, |c| !(c.is_alphanumeric() || "_-./:=@%+,".contains(c))),
        json,
    ]
}

/// JSON without characters beyond ASCII, as several languages write it.
fn ascii_json(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

fn percent(text: &str, encode: impl Fn(u8) -> String) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&encode(byte));
        }
    }
    encoded
}

fn backslashed(text: &str, special: impl Fn(char) -> bool) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        if special(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The base64 digits that depend on these bytes alone, wherever in a longer text they stand.
fn base64(bytes: &[u8]) -> Vec<String> {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut texts = Vec::new();
    for before in 0..3 {
        let skipped = (before * 8_usize).div_ceil(6);
        for alphabet in [STANDARD, FOR_URLS] {
            let end = (before + bytes.len()) * 8 / 6;
            let digits = (skipped..end).map(|at| digit(bytes, at * 6 - before * 8));
            texts.push(
                digits
                    .map(|d| char::from(alphabet[usize::from(d)]))
                    .collect(),
            );
        }
    }
    texts
}

/// The six bits from a bit position on.
fn digit(bytes: &[u8], bit: usize) -> u8 {
    let byte = |at: usize| u16::from(bytes.get(at).copied().unwrap_or(0));
    let pair = (byte(bit / 8) << 8) | byte(bit / 8 + 1);
    let six = (pair >> (10 - bit % 8)) & 0b11_1111;
    u8::try_from(six).unwrap_or(0)
}

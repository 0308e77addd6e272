use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::Value;

use super::{codes, parts::SecretParts};

/// The length beyond which parts are looked for in their usual forms only: each form costs memory.
const LONG: usize = 4096;

/// Returns every text a mask for these secrets looks for.
pub fn forms<'a>(secrets: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    secrets.into_iter().flat_map(of).collect()
}

fn of(secret: &str) -> BTreeSet<String> {
    let parts = SecretParts::of(secret);
    let mut forms = BTreeSet::new();
    for part in parts.values.iter().chain(&parts.lines) {
        quoted(part, &mut forms);
        forms.extend(codes::base64(part.as_bytes()));
        forms.extend(["", ":", " "].map(|between| codes::hex(part.as_bytes(), "", between)));
    }
    for part in parts.values.iter().filter(|part| part.len() <= LONG) {
        forms.extend(codes::base32(part.as_bytes()));
        forms.insert(codes::hex(part.as_bytes(), "\\x", ""));
    }
    let hex = |form: &String| form.bytes().all(|b| b.is_ascii_hexdigit() || b == b':' || b == b' ');
    let upper: Vec<String> = forms.iter().filter(|form| hex(form)).map(|form| form.to_uppercase()).collect();
    forms.extend(upper);
    let capital: Vec<String> = forms.iter().filter_map(|form| capitalize_escapes(form)).collect();
    forms.extend(capital);
    forms.extend(parts.values);
    forms.extend(parts.lines);
    forms
}

/// Returns a form with the digits of its escapes in capitals, `\\x4A` and `\\u00E9`, if it has any.
fn capitalize_escapes(form: &str) -> Option<String> {
    let mut text = String::with_capacity(form.len());
    let mut rest = form;
    while let Some(at) = rest.find(r"\x").into_iter().chain(rest.find(r"\u")).min() {
        let (before, escape) = rest.split_at(at);
        let (sign, after) = escape.split_at(2);
        let most = if sign == r"\x" { 2 } else { 4 };
        let digits = after.bytes().take(most);
        let digits = digits.take_while(u8::is_ascii_hexdigit).count();
        let (digits, after) = after.split_at(digits);
        text.extend([before, sign, &digits.to_uppercase()]);
        rest = after;
    }
    text.push_str(rest);
    (text != form).then_some(text)
}

/// Adds the text as JSON, URLs, shells, XML and SQL write it.
fn quoted(text: &str, forms: &mut BTreeSet<String>) {
    let json = json(text);
    forms.insert(self::json(&json));
    for json in [&json, &ascii(&json), &for_html(&json)] {
        forms.insert(json.replace('/', "\\/"));
        forms.insert(json.clone());
    }
    for safe in ["-._~", "-._~/", "-._*", "-._~!'()*", "-._~!'()*;,/?:@&=+$#"] {
        let upper = codes::percent(text, safe, |byte| format!("%{byte:02X}"));
        forms.insert(codes::percent(text, safe, |byte| format!("%{byte:02x}")));
        forms.insert(upper.replace("%20", "+"));
        forms.insert(upper);
    }
    for (double, single) in
        [("&quot;", "&#39;"), ("&#34;", "&#39;"), ("&quot;", "&#x27;"), ("&quot;", "&apos;"), ("\"", "'")]
    {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        forms.insert(text.replace('"', double).replace('\'', single));
    }
    forms.insert(text.replace('\'', "''"));
    forms.insert(text.replace('"', "\"\""));
    shell(text, forms);
}

/// Adds the text as quoted by shells, and by languages with similar rules.
fn shell(text: &str, forms: &mut BTreeSet<String>) {
    forms.insert(text.replace('\'', r"'\''"));
    forms.insert(text.replace('\'', r#"'"'"'"#));
    forms.insert(text.replace('\n', r"'$'\n''").replace('\'', r"'\''"));
    forms.insert(text.replace('\'', r"'\''").replace('\n', r"'$'\n''"));
    for special in ["\"\\$`", "\\'"] {
        forms.insert(backslashed(text, |c| special.contains(c)));
    }
    for plain in ["_-./:=@%+,", "_-./:=@%+#~"] {
        forms.insert(backslashed(text, |c| !(c.is_alphanumeric() || plain.contains(c))));
    }
    for quotes in ["'\\", "\"\\"] {
        forms.insert(escaped(text, quotes, |c, out| out.push(c)));
        forms.insert(escaped(text, quotes, |c, out| {
            bytes(c, out, |byte| format!("\\{byte:03o}"));
        }));
        forms.insert(escaped(text, quotes, |c, out| {
            bytes(c, out, |byte| format!("\\x{byte:02x}"));
        }));
    }
}

fn json(text: &str) -> String {
    let json = Value::String(text.to_owned()).to_string();
    json.get(1..json.len() - 1).unwrap_or("").to_owned()
}

/// Returns JSON without characters beyond ASCII, as several languages write it.
fn ascii(json: &str) -> String {
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

/// Returns JSON that is safe in an HTML page, as several languages write it.
fn for_html(json: &str) -> String {
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
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

/// Returns the text with control characters and these special ones escaped, as `$'…'` and most languages do;
/// `beyond` writes the characters beyond ASCII.
fn escaped(text: &str, special: &str, beyond: impl Fn(char, &mut String)) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if special.contains(c) => quoted.extend(['\\', c]),
            c if c.is_ascii() => quoted.push(c),
            c => beyond(c, &mut quoted),
        }
    }
    quoted
}

fn bytes(c: char, out: &mut String, write: impl Fn(u8) -> String) {
    out.extend(c.encode_utf8(&mut [0; 4]).bytes().map(write));
}

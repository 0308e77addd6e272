use std::sync::LazyLock;

use regex::Regex;

use super::random::{is_placeholder, is_random};
use crate::gate::guardrail::detector::DetectorMatch;

/// The words in names of secrets. Between the parts of a word may be `_`, `-` or nothing.
pub const KEYWORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "access_key",
    "private_key",
    "auth_key",
    "account_key",
    "encryption_key",
    "signing_key",
    "credential",
    "bearer",
];

static KEYWORD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words: Vec<String> = (KEYWORDS.iter()).map(|word| word.replace('_', "[_-]?")).collect();
    Regex::new(&format!("(?i-u:{})", words.join("|"))).ok()
});

pub(in crate::gate::guardrail) fn names_secret(name: &str) -> bool {
    KEYWORD.as_ref().is_some_and(|regex| regex.is_match(name))
}

/// Finds random values assigned to names of secrets, and passwords in URLs.
pub(super) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    if let Some(keyword) = KEYWORD.as_ref() {
        for word in keyword.find_iter(text) {
            let bearer = word.as_str().eq_ignore_ascii_case("bearer");
            if let Some((start, end)) = value(text, word.end(), bearer)
                && text.get(start..end).is_some_and(is_random)
            {
                found.push(("an assigned secret", start..end));
            }
        }
    }
    in_addresses(text, found);
}

/// Returns the value after a name: the rest of the name, a quote, a sign, a quote, the value.
fn value(text: &str, name_end: usize, bearer: bool) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let skip = |mut at: usize, most: usize, test: fn(&u8) -> bool| {
        let stop = at + most;
        while at < stop && bytes.get(at).is_some_and(test) {
            at += 1;
        }
        at
    };
    let quote = |byte: &u8| matches!(byte, b'"' | b'\'' | b'`' | b'\\');
    let space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let at = skip(name_end, 24, name);
    let at = skip(skip(at, 2, quote), 3, space);
    let signs = skip(at, 2, |byte| matches!(byte, b'=' | b':' | b'>'));
    if signs == at && !bearer {
        return None;
    }
    let start = skip(skip(signs, 3, space), 2, quote);
    let of_it = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/_=.~!@#%^*-".contains(byte);
    let end = skip(start, 257, of_it);
    let value = text.get(start..end)?;
    Some((start, start + value.trim_end_matches(['.', '!']).len()))
}

/// Finds passwords in URLs: `scheme://user:password@host`.
fn in_addresses(text: &str, found: &mut Vec<DetectorMatch>) {
    for (at, mark) in text.match_indices("://") {
        let start = at + mark.len();
        let rest = text.get(start..).unwrap_or_default();
        let near = rest.char_indices().take(300).find(|(_, c)| c.is_whitespace() || "/\"'<>`".contains(*c));
        let long = near.map_or_else(|| rest.chars().take(300).map(char::len_utf8).sum(), |(at, _)| at);
        let authority = rest.get(..long).unwrap_or_default();
        let Some((user, host)) = authority.rsplit_once('@') else {
            continue;
        };
        let Some((name, password)) = user.split_once(':') else {
            continue;
        };
        let named = ["password", "passwd", "pass", "pwd", "secret", "token", "user", name];
        let is_reference = password.contains(['$', '{', '<', '%', '*', '[', ']']);
        let short = password.chars().count() < 6 || host.is_empty();
        if !short
            && !is_reference
            && !is_placeholder(password)
            && !named.iter().any(|word| password.eq_ignore_ascii_case(word))
        {
            let from = start + name.len() + 1;
            found.push(("a password in an address", from..from + password.len()));
        }
    }
}

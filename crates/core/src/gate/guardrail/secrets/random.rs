use std::collections::BTreeMap;

/// The words in placeholders of secrets.
const PLACEHOLDERS: [&str; 12] = [
    "example",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "your",
    "dummy",
    "redacted",
    "xxxx",
    "****",
    "....",
    "insert",
];

/// True if a text is a placeholder of a secret.
pub(super) fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let distinct: std::collections::BTreeSet<char> = lower.chars().collect();
    distinct.len() < 6
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
        || lower.contains("123456789")
        || lower.contains("abcdefgh")
}

/// True if a value looks random: long, of several alternating kinds of characters, and not made of
/// words.
pub(in crate::gate::guardrail) fn is_random(value: &str) -> bool {
    if !(16..=256).contains(&value.len()) || !value.is_ascii() || is_placeholder(value) {
        return false;
    }
    if is_account(value) {
        return false;
    }
    let hash = ["sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "http:", "https:"];
    if hash.iter().any(|start| value.starts_with(start)) || is_made_of_words(value) {
        return false;
    }
    let bytes = value.as_bytes();
    let is_hex = bytes.iter().all(u8::is_ascii_hexdigit);
    let has = |test: fn(&u8) -> bool| bytes.iter().any(test);
    let runs = bytes
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
        .filter(|run| run.first().is_some_and(u8::is_ascii_digit))
        .count();
    let letters = has(u8::is_ascii_alphabetic);
    if is_hex {
        return value.len() >= 32 && letters && runs > 4 && entropy(bytes) > 3.0;
    }
    letters && runs >= 2 && entropy(bytes) > 3.4
}

/// True if it is the public address of an account or a contract: 20 bytes; keys have 32.
fn is_account(value: &str) -> bool {
    let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    digits.is_some_and(|digits| digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// True if it is a name, a path or a version: words and short numbers.
fn is_made_of_words(value: &str) -> bool {
    let mut parts = value.split(|c: char| !c.is_ascii_alphanumeric());
    parts.all(|part| {
        let letters = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let word = letters.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - word.len();
        word.chars().all(|c| c.is_ascii_alphabetic()) && digits <= 4
    })
}

/// Returns the entropy in bits per character.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts: BTreeMap<u8, u32> = BTreeMap::new();
    for byte in bytes {
        *counts.entry(*byte).or_default() += 1;
    }
    let all = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    let part = |count: &u32| {
        let share = f64::from(*count) / all;
        -share * share.log2()
    };
    counts.values().map(part).sum()
}

//! JSON whose integers keep their digits.
//!
//! A number of this program is an integer of 64 bits, with or without a sign, or a float, which has some 15 digits.
//! **Invariant:** an integer beyond 64 bits is text, its digits, so nothing rounds it: where a number is expected, it is
//! refused like any other text.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Reads JSON. An integer beyond 64 bits is text.
pub fn read<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(&keep_digits(json))
}

/// Does the same with bytes.
pub fn read_bytes<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    match std::str::from_utf8(json) {
        Ok(text) => read(text),
        // The error says where the text ends.
        Err(_) => serde_json::from_slice(json),
    }
}

/// Returns JSON in which each integer beyond 64 bits is in quotes. What is no JSON stays none.
pub fn keep_digits(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut kept = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'"' => at = end_of_text(bytes, at),
            b'-' | b'0'..=b'9' => {
                at += bytes.iter().skip(at).take_while(|byte| is_part_of_number(**byte)).count();
                let number = json.get(start..at).unwrap_or_default();
                let quote = if is_large_integer(number) { "\"" } else { "" };
                // Minus zero would be a float.
                let exact = if number == "-0" { "0" } else { number };
                if !quote.is_empty() || exact != number {
                    kept.push_str(json.get(copied..start).unwrap_or_default());
                    kept.extend([quote, exact, quote]);
                    copied = at;
                }
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    kept.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(kept)
}

/// True if a text is an integer of JSON beyond 64 bits.
pub fn is_large_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_integer =
        digits.len() > 18 && !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
    is_integer && text.parse::<i64>().is_err() && text.parse::<u64>().is_err()
}

fn is_part_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Returns the place after the text beginning at a quote.
fn end_of_text(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{keep_digits, read, read_bytes};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn integers_keep_their_digits() {
        for (text, value) in [
            ("18446744073709551615", json!(u64::MAX)),
            ("18446744073709551616", json!("18446744073709551616")),
            ("-9223372036854775808", json!(i64::MIN)),
            ("[1,-9223372036854775809 ]", json!([1, "-9223372036854775809"])),
            (r#"{"a\\":36893488147419103233}"#, json!({"a\\": "36893488147419103233"})),
            (r#""a\" 36893488147419103233""#, json!("a\" 36893488147419103233")),
            ("36893488147419103233.5", json!(36_893_488_147_419_103_233.5)),
            ("1e30", json!(1e30)),
            ("[-0, -0.0]", json!([0, -0.0])),
        ] {
            assert_eq!(read::<Value>(text).unwrap(), value, "{text}");
            assert_eq!(read_bytes::<Value>(text.as_bytes()).unwrap(), value, "{text}");
        }
        for text in ["036893488147419103233", "3689348814741910323336893488147419103233-", "\"", "--1"] {
            assert!(read::<Value>(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_else_changes(text in "(\\PC|[-0-9.e+\"\\\\{}\\[\\],:]){0,60}") {
            let kept = keep_digits(&text);
            let large = kept != text;
            match (serde_json::from_str::<Value>(&text), serde_json::from_str::<Value>(&kept)) {
                (Ok(before), Ok(after)) => prop_assert!(large || before == after),
                (Err(_), Err(_)) => {}
                (before, after) => prop_assert!(false, "{before:?} {after:?}"),
            }
        }
    }
}

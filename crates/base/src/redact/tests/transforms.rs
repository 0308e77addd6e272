//! Secrets in random surroundings, random encodings and random chunks.

use proptest::prelude::*;

use crate::redact::{MaskingStream, SecretMask, weakness};

/// An encoding of a text, and the most characters of the result that may stay visible where a
/// secret was: those that a neighbour contributes to, and those before a first line end.
#[derive(Clone, Copy, Debug)]
enum SecretEncoding {
    Plain,
    Base64,
    Wrapped,
    Hex,
    Percent,
    Json,
    Twice,
    Quoted,
    Ansi,
}

const WAYS: [SecretEncoding; 9] = [
    SecretEncoding::Plain,
    SecretEncoding::Base64,
    SecretEncoding::Wrapped,
    SecretEncoding::Hex,
    SecretEncoding::Percent,
    SecretEncoding::Json,
    SecretEncoding::Twice,
    SecretEncoding::Quoted,
    SecretEncoding::Ansi,
];

/// Encodes base64 independently of the encoder that is tested.
fn base64(bytes: &[u8]) -> String {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let digits = bits.as_bytes().chunks(6).map(|six| {
        let six = format!("{:0<6}", String::from_utf8_lossy(six));
        let value = u8::from_str_radix(&six, 2).unwrap();
        char::from(match value {
            0..26 => b'A' + value,
            26..52 => b'a' + value - 26,
            52..62 => b'0' + value - 52,
            62 => b'+',
            _ => b'/',
        })
    });
    let text: String = digits.collect();
    let padding = (4 - text.len() % 4) % 4;
    text + &"=".repeat(padding)
}

fn wrapped(text: &str, width: usize) -> String {
    let lines: Vec<&str> =
        text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join("\n")
}

fn write(way: SecretEncoding, text: &str) -> String {
    let json = |text: &str| serde_json::to_string(text).unwrap();
    match way {
        SecretEncoding::Plain => text.to_owned(),
        SecretEncoding::Base64 => base64(text.as_bytes()),
        SecretEncoding::Wrapped => wrapped(&base64(text.as_bytes()), 76),
        SecretEncoding::Hex => text.bytes().map(|byte| format!("{byte:02X}")).collect(),
        SecretEncoding::Percent => text
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    char::from(byte).to_string()
                }
                _ => format!("%{byte:02X}"),
            })
            .collect(),
        SecretEncoding::Json => json(text),
        SecretEncoding::Twice => json(&json(text)),
        SecretEncoding::Quoted => {
            format!("'{}'", text.split('\'').collect::<Vec<_>>().join(r"'\''"))
        }
        SecretEncoding::Ansi => {
            let text = text.replace('\\', r"\\").replace('\'', r"\'").replace('\n', r"\n");
            format!("$'{text}'")
        }
    }
}

fn shown(mut stream: MaskingStream, text: &str, sizes: &[usize]) -> String {
    let mut shown = Vec::new();
    for chunk in super::cut(text.as_bytes(), sizes) {
        shown.extend_from_slice(&stream.feed(chunk));
    }
    shown.extend(stream.finish());
    String::from_utf8_lossy(&shown).into_owned()
}

fn secret() -> impl Strategy<Value = String> {
    let token = "[A-Za-z0-9+/_=-]{8,90}";
    let password = "[ -~äß]{8,40}";
    let key = "[A-Za-z0-9+/]{64}\n[A-Za-z0-9+/]{64}\n[A-Za-z0-9+/]{20}";
    prop_oneof![4 => token, 2 => password, 1 => key]
        .prop_map(|secret| secret.trim().to_owned())
        .prop_filter("it is strong", |secret| weakness(secret).is_none() && !secret.contains('*'))
}

proptest! {
    /// At most a few characters of the secret are left, in any surroundings, encoding and chunks,
    /// none of which is determined by the secret alone.
    #[test]
    fn no_way_of_writing_leaks(
        secret in secret(),
        (before, behind) in ("[ -~\n]{0,80}", "[ -~\n]{0,80}"),
        way in prop::sample::select(&WAYS[..]),
        sizes in prop::collection::vec(1..200_usize, 1..6)) {
        let text = write(way, &format!("{before}{secret}{behind}"));
        let shown = shown(SecretMask::new([secret.as_str()]).stream(), &text, &sizes);
        prop_assert!(shown.contains("***"), "{:?} {}", way, shown);
        // Only text from before and behind may be left.
        let stars = shown.find("***").unwrap();
        let after = shown.rfind("***").unwrap() + 3;
        let (lead, trail) = (&shown[..stars], &shown[after..]);
        prop_assert!(text.starts_with(lead) && text.ends_with(trail), "{}", shown);
        let own = write(way, &secret).len();
        let hidden = text.len() - lead.len() - trail.len();
        let visible = match way { SecretEncoding::Plain | SecretEncoding::Hex | SecretEncoding::Percent | SecretEncoding::Quoted | SecretEncoding::Ansi => 0, SecretEncoding::Json => 2, SecretEncoding::Twice => 6, SecretEncoding::Base64 => 5, SecretEncoding::Wrapped => 14 };
        prop_assert!(hidden + visible + if matches!(way, SecretEncoding::Quoted) { 2 } else { 3 * usize::from(matches!(way, SecretEncoding::Ansi)) } >= own, "{:?}: {} of {} in {}", way, hidden, own, shown);
    }

    /// Almost nothing is masked in text without secrets.
    #[test]
    fn little_else_is_masked(
        secrets in prop::collection::vec(secret(), 1..20),
        text in prop::collection::vec("[a-z]{1,9}|[0-9]{1,12}|[0-9a-f]{40}|[A-Za-z0-9+/]{76}\n|[ -~]{1,30}", 400)) {
        let text = text.join(" ");
        let shown = SecretMask::new(secrets.iter().map(String::as_str)).text(&text).into_owned();
        prop_assert!(!shown.contains("***") || text.contains("***"), "{}", shown);
    }
}

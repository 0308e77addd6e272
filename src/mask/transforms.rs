//! Secrets in random surroundings, random encodings and random chunks.

use proptest::prelude::*;

use super::{Mask, Stream, weakness};

/// A way to write a text, and how many characters of the written text are at most visible where
/// a secret was: those that a neighbour has a share in, and what stands before a first line end.
#[derive(Clone, Copy, Debug)]
enum Way {
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

const WAYS: [Way; 9] = [
    Way::Plain,
    Way::Base64,
    Way::Wrapped,
    Way::Hex,
    Way::Percent,
    Way::Json,
    Way::Twice,
    Way::Quoted,
    Way::Ansi,
];

/// An encoder that has nothing in common with the one that is tested.
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
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(width)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    lines.join("\n")
}

fn write(way: Way, text: &str) -> String {
    let json = |text: &str| serde_json::to_string(text).unwrap();
    match way {
        Way::Plain => text.to_owned(),
        Way::Base64 => base64(text.as_bytes()),
        Way::Wrapped => wrapped(&base64(text.as_bytes()), 76),
        Way::Hex => text.bytes().map(|byte| format!("{byte:02X}")).collect(),
        Way::Percent => text
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    char::from(byte).to_string()
                }
                _ => format!("%{byte:02X}"),
            })
            .collect(),
        Way::Json => json(text),
        Way::Twice => json(&json(text)),
        Way::Quoted => format!("'{}'", text.split('\'').collect::<Vec<_>>().join(r"'\''")),
        Way::Ansi => {
            let text = text
                .replace('\\', r"\\")
                .replace('\'', r"\'")
                .replace('\n', r"\n");
            format!("$'{text}'")
        }
    }
}

fn shown(mut stream: Stream, text: &str, sizes: &[usize]) -> String {
    let mut shown = Vec::new();
    for chunk in super::tests::cut(text.as_bytes(), sizes) {
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
        .prop_filter("it is strong", |secret| {
            weakness(secret).is_none() && !secret.contains('*')
        })
}

proptest! {
    /// Whatever comes before and behind, however it is written and cut: where the secret was,
    /// at most a few characters are left, none of which is decided by the secret alone.
    #[test]
    fn no_way_of_writing_leaks(
        secret in secret(),
        (before, behind) in ("[ -~\n]{0,80}", "[ -~\n]{0,80}"),
        way in prop::sample::select(&WAYS[..]),
        sizes in prop::collection::vec(1..200_usize, 1..6),
    ) {
        let text = write(way, &format!("{before}{secret}{behind}"));
        let shown = shown(Mask::new([secret.as_str()]).stream(), &text, &sizes);
        prop_assert!(shown.contains("***"), "{:?} {}", way, shown);
        // What is left of the text before and behind must be all that is left.
        let stars = shown.find("***").unwrap();
        let after = shown.rfind("***").unwrap() + 3;
        let (lead, trail) = (&shown[..stars], &shown[after..]);
        prop_assert!(text.starts_with(lead) && text.ends_with(trail), "{}", shown);
        let own = write(way, &secret).len();
        let hidden = text.len() - lead.len() - trail.len();
        let visible = match way { Way::Plain | Way::Hex | Way::Percent | Way::Quoted | Way::Ansi => 0, Way::Json => 2, Way::Twice => 6, Way::Base64 => 5, Way::Wrapped => 14 };
        prop_assert!(hidden + visible + if matches!(way, Way::Quoted) { 2 } else { 3 * usize::from(matches!(way, Way::Ansi)) } >= own, "{:?}: {} of {} in {}", way, hidden, own, shown);
    }

    /// Of what has nothing to do with secrets, next to nothing is masked.
    #[test]
    fn little_else_is_masked(
        secrets in prop::collection::vec(secret(), 1..20),
        text in prop::collection::vec("[a-z]{1,9}|[0-9]{1,12}|[0-9a-f]{40}|[A-Za-z0-9+/]{76}\n|[ -~]{1,30}", 400),
    ) {
        let text = text.join(" ");
        let shown = Mask::new(secrets.iter().map(String::as_str)).text(&text).into_owned();
        prop_assert!(!shown.contains("***") || text.contains("***"), "{}", shown);
    }
}

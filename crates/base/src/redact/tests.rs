use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::json;

use super::{SecretMask, weakness};

fn check(secret: &str, text: &str, masked: &str) {
    let mask = SecretMask::new([secret]);
    assert_eq!(mask.text(text), masked, "{secret:?} in {text:?}");
    for size in [1, 2, 3, 7] {
        let found = streamed(&mask, text.as_bytes().chunks(size));
        assert_eq!(String::from_utf8_lossy(&found), masked, "chunks of {size}");
    }
}

fn streamed<'a>(mask: &SecretMask, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut stream = mask.stream();
    let mut shown = Vec::new();
    for chunk in chunks {
        shown.extend_from_slice(&stream.feed(chunk));
    }
    shown.extend(stream.finish());
    shown
}

#[test]
fn every_form_is_masked() {
    // The encoded forms were made with coreutils, python3 and bash.
    for (secret, text) in [
        ("hunter2!", "hunter2!"),
        ("s3cr3t-t0ken", "czNjcjN0LXQwa2Vu"),
        ("s3cr3t-t0ken", "7333637233742d74306b656e"),
        ("pa ss/w'ö\"rd", "pa%20ss%2Fw%27%C3%B6%22rd"),
        ("pa ss/w'ö\"rd", "pa+ss%2Fw%27%C3%B6%22rd"),
        ("pa ss/w'ö\"rd", "pa%20ss%2fw%27%c3%b6%22rd"),
        ("pa ss/w'ö\"rd", r#"pa ss/w'\''ö"rd"#),
        ("pa ss/w'ö\"rd", r#"pa ss/w'"'"'ö"rd"#),
        ("pa ss/w'ö\"rd", r#"pa\ ss/w\'ö\"rd"#),
        ("pa ss/w'ö\"rd", r#"pa ss/w'\u00f6\"rd"#),
        ("pa ss/w'ö\"rd", r#"pa ss\/w'ö\"rd"#),
        ("pa ss/w'ö\"rd", r#"pa ss/w'ö\"rd"#),
        ("line one\nline two", r"line one\nline two"),
        (r#"{"user":"robot-7","pin":123456}"#, "robot-7"),
        (r#"{"user":"robot-7","pin":123456}"#, "123456"),
    ] {
        check(secret, &format!("<{text}>"), "<***>");
    }
    // Of a secret that is itself encoded, what it encodes, in all of these forms.
    check("aHVudGVyMi12ZXJ5LWxvbmctcHc=", "<hunter2-very-long-pw>", "<***>");
    check("aHVudGVyMi12ZXJ5LWxvbmctcHc=", "<68756e746572322d766572792d6c6f6e672d7077>", "<***>");
    check(r#"{"key": "tr0ub%26dor"}"#, "<tr0ub&dor>", "<***>");
    check("S3cr3t", "<533363723374>", "<***>");
    check("zyx\u{ff}wv", "<7A7978C3BF7776>", "<***>");
}

#[test]
fn rarer_forms_are_masked_too() {
    // Made with bash, coreutils, xxd, go, python3 and others.
    for (secret, text) in [
        ("s3cr3t-t0ken", "OMZWG4RTOQWXIMDLMVX"),
        ("s3cr3t-t0ken", "73:33:63:72:33:74:2d:74:30:6b:65:6e"),
        ("s3cr3t-t0ken", "73 33 63 72 33 74 2D 74 30 6B 65 6E"),
        ("s3cr3t-t0ken", r"\x73\x33\x63\x72\x33\x74\x2d\x74\x30\x6b\x65\x6e"),
        ("one two\nthr'ee", r"one two\nthr\'ee"),
        ("one two\nthr'ee", r"one two'$'\n''thr'\''ee"),
        ("über/geheim", r"\303\274ber/geheim"),
        ("über/geheim", r"\xc3\xbcber/geheim"),
        ("abc'def", "abc''def"),
        ("abc\"def", "abc\"\"def"),
        ("a<b>&c'd\"e", "a&lt;b&gt;&amp;c&#39;d&quot;e"),
        ("a<b>&c'd\"e", "a&lt;b&gt;&amp;c&#39;d&#34;e"),
        ("a<b>&c'd\"e", "a&lt;b&gt;&amp;c&#x27;d&quot;e"),
        ("a<b>&c'd\"e", r#"a\u003cb\u003e\u0026c'd\"e"#),
        ("a<b>&c'd\"e", r#"a<b>&c'd\\\"e"#),
        ("pa ss,w(o)rd", r"pa\ ss\,w\(o\)rd"),
        ("pa ss,w(o)rd", "pa%20ss%2Cw(o)rd"),
        ("pa/ss?w=o&rd", "pa/ss%3Fw%3Do%26rd"),
        ("https://o'brien.example", "o'brien.example"),
        ("https://o'brien.example", "o''brien.example"),
    ] {
        check(secret, &format!("<{text}>"), "<***>");
    }
}

#[test]
fn escapes_are_masked_in_capitals_too() {
    let secret = "jöke-LONG-né<>";
    let every: String = secret.bytes().map(|byte| format!("\\x{byte:02X}")).collect();
    check(secret, &every, "***");
    for upper in [true, false] {
        let beyond = |text: String| {
            let digits = |text: &str| {
                if upper { text.to_uppercase() } else { text.to_owned() }
            };
            let escape = |c: char| format!("\\u{}", digits(&format!("{:04x}", u32::from(c))));
            let escaped = text.chars().map(|c| if c.is_ascii() { c.into() } else { escape(c) });
            escaped.collect::<String>()
        };
        check(secret, &beyond(secret.to_owned()), "***");
        let bytes = |c: char| {
            let all = c.to_string().into_bytes().into_iter();
            let all = all.map(|byte| if upper { format!("\\x{byte:02X}") } else { format!("\\x{byte:02x}") });
            all.collect::<String>()
        };
        let python = secret.chars().map(|c| if c.is_ascii() { c.into() } else { bytes(c) });
        check(secret, &python.collect::<String>(), "***");
    }
}

#[test]
fn a_form_that_is_broken_over_lines_is_masked() {
    let secret = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-0123456789";
    // base64 -w 76 and fold -w 40, with something before it, and with other line ends.
    check(
        secret,
        "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6QUJDREVGR0hJSktMTU5PUFFSU1RV\nVldYWVorLTAxMjM0NTY3ODk=\n",
        "***k=\n",
    );
    let (first, rest) = secret.split_at(30);
    let (second, third) = rest.split_at(40);
    check(secret, &format!("x {first}\n{second}\r\n{third}."), "x ***.");
    let (first, rest) = secret.split_at(9);
    check(secret, &format!("x {first}\n{rest}."), "x ***.");
    // The few characters before the first line end are shown before the secret is recognizable.
    let (first, rest) = secret.split_at(5);
    check(secret, &format!("x {first}\n{rest}."), "x 01234\n***.");
    // A secret in lines of a few characters is not a known form.
    let (second, third) = rest.split_at(10);
    let text = format!("{first}\n{second}\n{third}");
    assert_eq!(SecretMask::new([secret]).text(&text), text);
    let text = format!("{first}{second}\n\n\n{third}");
    assert_eq!(SecretMask::new([secret]).text(&text), text);
}

#[test]
fn base64_is_masked_wherever_the_secret_stands() {
    let mask = SecretMask::new(["s3cr3t-t0ken"]);
    for text in [
        "czNjcjN0LXQwa2Vu",             // s3cr3t-t0ken
        "eHMzY3IzdC10MGtlbg==",         // xs3cr3t-t0ken
        "eHhzM2NyM3QtdDBrZW4=",         // xxs3cr3t-t0ken
        "QmVhcmVyIHMzY3IzdC10MGtlbiE=", // Bearer s3cr3t-t0ken!
    ] {
        let shown = mask.text(text);
        assert!(shown.contains("***") && shown.len() < text.len() - 10, "{text} -> {shown}");
    }
    let mask = SecretMask::new(["??>>??~~??"]);
    for text in ["Pz8+Pj8/fn4/Pw==", "Pz8-Pj8_fn4_Pw=="] {
        assert!(mask.text(text).starts_with("***"), "{text}");
    }
}

#[test]
fn lines_of_a_secret_are_masked_alone() {
    let key = "-----BEGIN KEY-----\r\nMIIBVQ\r\nabc\r\n-----END KEY-----\r\n";
    check(key, "a MIIBVQ b abc c -----END KEY----- d", "a *** b abc c -----END KEY----- d");
    check(key, key, "***\r\n");
}

#[test]
fn weak_secrets_are_not_masked() {
    let weak = ["", "a", "abc", "  abcde \n", "000000", "password"];
    assert!(SecretMask::new(weak).is_empty());
    let braces = SecretMask::new(["{\n}", "{\n  \"pin\": \"1234\"\n}"]);
    assert_eq!(braces.text("{ 1234 }"), "{ 1234 }");
    check("äöüßéè", "äöüßéè", "***");
}

#[test]
fn overlapping_secrets_leave_nothing() {
    let mask = SecretMask::new(["abcdefgh", "fghijklm", "cdefgh"]);
    assert_eq!(mask.text("xabcdefghijklmy"), "x***y");
    assert_eq!(mask.text("abcdefghabcdefgh"), "******");
    for size in 1..6 {
        let chunks = b"xabcdefghijklmyabcdefghabcdefg".chunks(size);
        assert_eq!(String::from_utf8_lossy(&streamed(&mask, chunks)), "x***y***abcdefg", "chunks of {size}");
    }
}

#[test]
fn values_are_masked_everywhere() {
    let mask = SecretMask::new(["hunter2!", "123456"]);
    let mut value = json!({
        "a": ["hunter2!", 123_456, 1.5, null, true],
        "hunter2!": { "b": "x hunter2! y" },
    });
    mask.value(&mut value);
    let masked = json!({
        "a": ["***", "***", 1.5, null, true],
        "***": { "b": "x *** y" },
    });
    assert_eq!(value, masked);
}

#[test]
fn only_what_could_become_a_secret_is_held_back() {
    let mut stream = SecretMask::new(["hunter2!"]).stream();
    assert!(matches!(stream.feed(b"a line\n"), Cow::Borrowed(b"a line\n")));
    assert_eq!(*stream.feed(b"password: hunt"), *b"password: ");
    assert_eq!(*stream.feed(b"ing\n"), *b"hunting\n");
    assert_eq!(*stream.feed(b"\xff hunter2"), *b"\xff ");
    assert_eq!(stream.finish(), b"hunter2");
    assert_eq!(stream.finish(), b"");
}

const LONG: &str = "abbcabdaabcdbaabcbcaabbcdabcabcaabbccaabdbacbacbabcabdaabcb";

fn pieces() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof![
        4 => "[abcd]{0,6}",
        1 => Just("abcdabc".to_owned()),
        1 => Just("bdaa cab".to_owned()),
        1 => Just("YmRhYSBjYW".to_owned()),
        1 => Just("6264616120636162".to_owned()),
        2 => Just("\n".to_owned()),
        1 => Just("\r".to_owned()),
        4 => (0..LONG.len(), 0..LONG.len())
            .prop_map(|(a, b)| LONG[a.min(b)..a.max(b)].to_owned()),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..12)
}

/// Cuts bytes into chunks of these sizes, cyclically.
pub(super) fn cut<'b>(bytes: &'b [u8], sizes: &[usize]) -> Vec<&'b [u8]> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at((*size).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

proptest! {
    #[test]
    fn no_chunking_leaks(pieces in pieces(), sizes in prop::collection::vec(1..30_usize, 1..20)) {
        let secrets = ["abcdabc", "bdaa cab", "dabbacd", LONG];
        let mask = SecretMask::new(secrets);
        let text = pieces.concat();
        let shown = streamed(&mask, cut(text.as_bytes(), &sizes).into_iter());
        let shown = String::from_utf8_lossy(&shown);
        prop_assert_eq!(&*shown, &*mask.text(&text));
        for secret in secrets {
            prop_assert!(!shown.contains(secret), "{} in {}", secret, shown);
        }
    }

    #[test]
    fn any_secret_in_any_text_is_masked(
        secret in "\\PC{6,20}".prop_filter("it is strong", |secret| {
            weakness(secret).is_none() && !secret.contains('*')
        }),
        before in any::<String>(),
        after in any::<String>()) {
        let secret = secret.trim();
        let text = format!("{before}{secret}{after}");
        prop_assert!(!SecretMask::new([secret]).text(&text).contains(secret));
    }

    #[test]
    fn without_secrets_nothing_changes(text in any::<String>()) {
        let mask = SecretMask::new([]);
        prop_assert!(matches!(mask.text(&text), Cow::Borrowed(same) if same == text));
        let mut stream = mask.stream();
        prop_assert!(matches!(stream.feed(text.as_bytes()), Cow::Borrowed(_)));
        prop_assert!(stream.finish().is_empty());
    }
}

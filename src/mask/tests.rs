use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::json;

use super::Mask;

fn check(secret: &str, text: &str, masked: &str) {
    let mask = Mask::new([secret]);
    assert_eq!(mask.text(text), masked, "{secret:?} in {text:?}");
    for size in [1, 2, 3, 7] {
        let found = streamed(&mask, text.as_bytes().chunks(size));
        assert_eq!(String::from_utf8_lossy(&found), masked, "chunks of {size}");
    }
}

fn streamed<'a>(mask: &Mask, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
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
        (r#"{"user":"robot","pin":123456}"#, "robot"),
        (r#"{"user":"robot","pin":123456}"#, "123456"),
    ] {
        check(secret, &format!("<{text}>"), "<***>");
    }
    check("S3cr3t", "<533363723374>", "<***>");
    check("zzz\u{ff}", "<7A7A7AC3BF>", "<***>");
}

#[test]
fn base64_is_masked_wherever_the_secret_stands() {
    let mask = Mask::new(["s3cr3t-t0ken"]);
    for text in [
        "czNjcjN0LXQwa2Vu",             // s3cr3t-t0ken
        "eHMzY3IzdC10MGtlbg==",         // xs3cr3t-t0ken
        "eHhzM2NyM3QtdDBrZW4=",         // xxs3cr3t-t0ken
        "QmVhcmVyIHMzY3IzdC10MGtlbiE=", // Bearer s3cr3t-t0ken!
    ] {
        let shown = mask.text(text);
        assert!(
            shown.contains("***") && shown.len() < text.len() - 10,
            "{text} -> {shown}"
        );
    }
    let mask = Mask::new(["??>>??>>"]);
    for text in ["Pz8+Pj8/Pj4=", "Pz8-Pj8_Pj4="] {
        assert!(mask.text(text).starts_with("***"), "{text}");
    }
}

#[test]
fn lines_of_a_secret_are_masked_alone() {
    let key = "-----BEGIN KEY-----\r\nMIIBVQ\r\nabc\r\n-----END KEY-----\r\n";
    check(
        key,
        "a MIIBVQ b abc c -----END KEY----- d",
        "a *** b abc c *** d",
    );
    check(key, key, "***");
}

#[test]
fn short_secrets_are_not_masked() {
    assert!(
        Mask::new(["", "a", "abc", "  abc \n"])
            .text("abc")
            .contains("abc")
    );
    assert!(Mask::new(["", "a", "äöü"]).is_empty());
    check("äöüß", "äöüß", "***");
}

#[test]
fn overlapping_secrets_leave_nothing() {
    let mask = Mask::new(["abcdef", "defghi", "cdef"]);
    assert_eq!(mask.text("xabcdefghiy"), "x***y");
    assert_eq!(mask.text("abcdefabcdef"), "******");
    for size in 1..6 {
        let chunks = b"xabcdefghiyabcdefabcde".chunks(size);
        assert_eq!(
            streamed(&mask, chunks),
            b"x***y***abcde",
            "chunks of {size}"
        );
    }
}

#[test]
fn values_are_masked_everywhere() {
    let mask = Mask::new(["hunter2!", "123456"]);
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
    let mut stream = Mask::new(["hunter2!"]).stream();
    assert!(matches!(
        stream.feed(b"a line\n"),
        Cow::Borrowed(b"a line\n")
    ));
    assert_eq!(*stream.feed(b"password: hunt"), *b"password: ");
    assert_eq!(*stream.feed(b"ing\n"), *b"hunting\n");
    assert_eq!(*stream.feed(b"\xff hunter2"), *b"\xff ");
    assert_eq!(stream.finish(), b"hunter2");
    assert_eq!(stream.finish(), b"");
}

fn pieces() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof![
        "[ab]{0,6}",
        Just("abab".to_owned()),
        Just("bbaa ab".to_owned()),
        Just("YmJhYSBhYg".to_owned()),
        Just("62626161206162".to_owned()),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..12)
}

proptest! {
    #[test]
    fn no_chunking_leaks(pieces in pieces(), sizes in prop::collection::vec(1..9_usize, 1..20)) {
        let secrets = ["abab", "bbaa ab", "babba"];
        let mask = Mask::new(secrets);
        let text = pieces.concat();
        let mut chunks = Vec::new();
        let mut rest = text.as_bytes();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        let shown = streamed(&mask, chunks.into_iter());
        let shown = String::from_utf8_lossy(&shown);
        prop_assert_eq!(&*shown, &*mask.text(&text));
        for secret in secrets {
            prop_assert!(!shown.contains(secret), "{} in {}", secret, shown);
        }
    }

    #[test]
    fn any_secret_in_any_text_is_masked(
        secret in "\\PC{4,20}",
        before in any::<String>(),
        after in any::<String>(),
    ) {
        prop_assume!(!secret.contains('*'));
        let text = format!("{before}{secret}{after}");
        prop_assert!(!Mask::new([secret.as_str()]).text(&text).contains(&secret));
    }

    #[test]
    fn without_secrets_nothing_changes(text in any::<String>()) {
        let mask = Mask::new([]);
        prop_assert!(matches!(mask.text(&text), Cow::Borrowed(same) if same == text));
        let mut stream = mask.stream();
        prop_assert!(matches!(stream.feed(text.as_bytes()), Cow::Borrowed(_)));
        prop_assert!(stream.finish().is_empty());
    }
}

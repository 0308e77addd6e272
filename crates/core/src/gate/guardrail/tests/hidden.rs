use crate::gate::guardrail::find;

fn found(text: &str) -> Vec<(&'static str, usize)> {
    let findings = find(&["hidden_unicode".to_owned()], text).into_iter();
    findings.map(|finding| (finding.kind, text[finding.range].chars().count())).collect()
}

#[test]
fn what_nobody_sees_is_found() {
    for (text, what, count) in [
        ("if a \u{202E}b\u{202C}", "a bidirectional control", 1),
        ("\u{2066}x", "a bidirectional control", 1),
        ("pass\u{200B}word", "a zero-width character", 1),
        ("a\u{200D}b", "a zero-width character", 1),
        ("a\u{200C}b", "a zero-width character", 1),
        ("a\u{FEFF}b", "a zero-width character", 1),
        ("a\u{2060}\u{2061}\u{2062}b", "a zero-width character", 3),
        ("left\u{200F}right", "a directional mark", 1),
        ("a\u{3164}b", "a filler", 1),
        ("1\u{AD}2", "a soft hyphen", 1),
        ("x\u{E0069}\u{E0067}\u{E006E}", "a tag", 3),
        ("\u{1F600}\u{E0069}", "a tag", 1),
        ("\u{1F3F4}\u{E0067}\u{E0062}", "a tag", 2),
        ("a\u{FE01}", "a variation selector", 1),
        ("\u{1F600}\u{E0101}\u{E0102}", "a variation selector", 2),
        ("\u{2764}\u{FE0F}\u{FE00}\u{FE01}", "a variation selector", 2),
    ] {
        let found = found(text);
        assert_eq!(found.first(), Some(&(what, count)), "{text:?}");
    }
    assert_eq!(found("a\u{200B}b\u{200B}c").len(), 2);
}

#[test]
fn what_languages_and_pictures_need_is_left_alone() {
    for text in [
        "plain ascii",
        "\u{FEFF}a byte order mark",
        "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466}",
        "\u{1F3F3}\u{FE0F}\u{200D}\u{1F308} \u{2764}\u{FE0F}\u{200D}\u{1F525}",
        "\u{1F9D1}\u{1F3FD}\u{200D}\u{2695}\u{FE0F} 1\u{FE0F}\u{20E3}",
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
        "می\u{200C}خواهم",
        "ه\u{200D} ",
        "क\u{94D}\u{200D}ष श\u{94D}\u{200C}र",
        "ශ\u{DCA}\u{200D}ර\u{DD3}",
        "ภาษา\u{200B}ไทย",
        "שלום\u{200F}! (C++)\u{200E}",
        "Donau\u{AD}dampf\u{AD}schiff",
        "葛\u{E0100}城 ㊙\u{FE0E}",
        "≨\u{FE00} ＋\u{FE00}",
        "ᠠ\u{180B}",
    ] {
        assert_eq!(found(text), [], "{text:?}");
    }
}

//! Laws between the three verdicts.

use proptest::prelude::*;

use super::{load, reference, standard};

/// The rules of the specification that the reference validator lacks; see `docs/skills.md`.
const STRICTER: [&str; 9] = [
    "NAME-CHARS",
    "NAME-DIR",
    "COMPAT-EMPTY",
    "META-TYPE",
    "TOOLS-TYPE",
    "TOOLS-COMMA",
    "LICENSE-TYPE",
    // Fences in the middle of lines.
    "START",
    "CLOSE",
];

fn check(text: &str, folder: &str) {
    let verdict = reference(text, folder);
    let spec = standard(text, "SKILL.md", folder);
    let loaded = load(text, folder);
    if !verdict.is_empty() {
        return;
    }
    assert!(loaded.is_ok(), "{text:?}: {loaded:?}");
    // The text after the first `---` is not front matter to the reference validator, and only it
    // follows a merge key.
    let inner = text.matches("---").count() == 2 && !text.contains(['\u{85}', '\u{2028}', '\r']);
    if inner
        && loaded
            .is_ok_and(|skill| skill.warnings.iter().all(|w| !["FENCE", "YAML", "ALIAS"].contains(&w.code)))
    {
        let other = spec.iter().find(|rule| !STRICTER.contains(&rule.code));
        assert!(other.is_none(), "{text:?}: {other:?}");
    }
}

/// Pieces of which front matter is made.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "name: s",
        "description: d",
        "license: MIT",
        "metadata:",
        "  a: b",
        "compatibility:",
        "allowed-tools: a, b",
        "\n",
        "\n",
        "\n",
        ": ",
        " ",
        "- ",
        "---",
        "|",
        ">",
        "'",
        "\"",
        "#",
        "[",
        "]",
        "{",
        "}",
        "\t",
        "&a",
        "*a",
        "!t",
        "<<:",
        "...",
        "\r\n",
        "\r",
        "\u{feff}",
        "\u{2028}",
        "é",
        "\\",
        "description: a: b",
        "  wf: |\n    x: y",
    ];
    prop_oneof![
        3 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in any::<String>(), folder in any::<String>()) {
        check(&text, &folder);
    }

    #[test]
    fn what_is_valid_loads(pieces in prop::collection::vec(piece(), 0..14)) {
        check(&format!("---\n{}\n---\nbody", pieces.concat()), "s");
        check(&format!("---\nname: s\ndescription: d\n{}\n---\n", pieces.concat()), "s");
        check(&pieces.concat(), "s");
    }
}

#[test]
fn places_stand_on_what_they_name() {
    let text = "\u{feff}---\nname: sé\ndescription: é: x\nversion: 1\nmetadata:\n  a: b\n  wf: |\n\n    scripts:\n      x: y\n  c: d\n---\n# Body\n";
    let skill = load(text, "sé").unwrap();
    let slice = |span: wf_base::source::Span| text.get(span.range()).unwrap();
    assert_eq!(slice(skill.body), "# Body\n");
    let own = slice(skill.own.unwrap());
    assert!(
        own.ends_with("    scripts:\n      x: y") && own.trim_start_matches('\n').starts_with("    s"),
        "{own:?}"
    );
    assert_eq!(skill.description, "é: x");
    let at: Vec<_> = skill.warnings.iter().map(|w| (w.code, slice(w.span))).collect();
    assert_eq!(at, [("START", "\u{feff}"), ("YAML", "é: x"), ("FIELDS", "version")]);
}

#[test]
fn a_text_is_bounded() {
    let big = format!("---\nname: s\ndescription: d\n---\n{}", "x".repeat(super::MAX_TEXT));
    assert_eq!(load(&big, "s").unwrap_err().first().unwrap().code, "SIZE");
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("\"\n", ""), ("a: &a [*a, ", "]")] {
        let many = open.repeat(20_000) + &close.repeat(20_000);
        let text = format!("---\nname: s\ndescription: d\nx:\n  {many}\n---\n");
        reference(&text, "s");
        let _ = load(&text, "s");
    }
}

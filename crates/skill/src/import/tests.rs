mod odd;

use super::{ConversionOptions, FieldOutcome, SkillConversion, SkillConversionError, SkillFormat, adapt};
use crate::{BundleFile, Skill, SkillBundle, inspect::DetectorHit, load, reference};

const BODY: &str = "# Body\r\n\n---\nSee `references/a.md`.  \n";

fn detect(text: &str) -> Vec<DetectorHit> {
    let at = text.find("TOKEN_OF_ADA").or(text.find("---KEY"));
    let at = at.map(|at| at..at + 6);
    let seen = |at| DetectorHit { detector: "secrets", description: "a token", range: at };
    at.map(seen).into_iter().collect()
}

fn bundle(files: &[(&str, &str)]) -> SkillBundle {
    let file = |(path, text): &(&str, &str)| {
        let bytes = text.as_bytes().to_vec();
        let is_executable = path.starts_with("bin/");
        ((*path).to_owned(), BundleFile { bytes, is_executable })
    };
    SkillBundle { files: files.iter().map(file).collect() }
}

fn ask() -> ConversionOptions<'static> {
    ConversionOptions { folder: "it", name: None, format: None }
}

type Made = (SkillBundle, SkillConversion);

fn with(files: &[(&str, &str)], options: &ConversionOptions<'_>) -> Result<Made, SkillConversionError> {
    adapt(&bundle(files), options, &detect)
}

fn of(fields: &str) -> Result<Made, SkillConversionError> {
    let text = format!("---\n{fields}\n---\n{BODY}");
    with(&[("SKILL.md", &text)], &ask())
}

/// Returns the skill, which every reader accepts, with the body unchanged.
fn read((made, done): &Made) -> Skill {
    let text = made.text("SKILL.md").unwrap();
    assert_eq!(reference(text, &done.name), [], "{text}");
    let skill = load(text, &done.name).unwrap();
    assert_eq!(skill.warnings, [], "{text}");
    assert_eq!(skill.name, done.name);
    skill
}

fn fate<'a>((_, done): &'a Made, field: &str) -> (FieldOutcome, &'a str) {
    let found = done.fields.iter().find(|fate| fate.field == field);
    let found = found.unwrap_or_else(|| panic!("no fate of {field}: {:?}", done.fields));
    (found.fate, &found.reason)
}

/// A field, its value, and the resulting line; empty if it is dropped.
const FIELDS: [(&str, &str, &str); 17] = [
    ("argument-hint", "'[file]'", ""),
    ("user-invocable", "false", ""),
    ("disable-model-invocation", "true", ""),
    ("context", "fork", ""),
    ("agent", "Explore", ""),
    ("hooks", "{Stop: [{command: x}]}", ""),
    ("when_to_use", "Use it.", r#"description: "Does it. Use it.""#),
    ("triggers", "[one, two]", r#"description: "Does it. Use when: one, two.""#),
    ("model", "opus", r#"  "model": "opus""#),
    ("effort", "high", r#"  "effort": "high""#),
    ("version", "1.0", r#"  "version": "1.0""#),
    ("author", "{name: Ada}", r#"  "author": "{\"name\":\"Ada\"}""#),
    ("tags", "[a, b]", r#"  "tags": "a, b""#),
    ("requires", "{bins: [gws, jq]}", r#"compatibility: "Requires bins gws, jq.""#),
    ("allowed-tools", "[Read, 'Bash(git diff:*)']", r#"allowed-tools: "Read Bash(git diff:*)""#),
    ("tools", "Read, Write", r#"allowed-tools: "Read Write""#),
    ("mood", "good", r#"  "mood": "good""#),
];

#[test]
fn each_field_of_a_flavour_has_its_fate() {
    let strict = ConversionOptions { format: Some(SkillFormat::Standard), ..ask() };
    for (field, value, line) in FIELDS {
        let source = format!("---\nname: it\ndescription: Does it.\n{field}: {value}\n---\n");
        let made = with(&[("SKILL.md", &source)], &ask()).unwrap();
        read(&made);
        let (found, reason) = fate(&made, field);
        assert_eq!(found == FieldOutcome::Dropped, line.is_empty(), "{field}");
        assert!(!reason.is_empty(), "{field}");
        let text = made.0.text("SKILL.md").unwrap();
        assert!(line.is_empty() || text.lines().any(|one| one == line), "{line}: {text}");
        let made = with(&[("SKILL.md", &source)], &strict).unwrap();
        read(&made);
        let is_own = field == "allowed-tools";
        assert_eq!(fate(&made, field).0 == FieldOutcome::Dropped, !is_own, "{field}");
    }
}

#[test]
fn formats_are_recognised() {
    let text = |more: &str| format!("---\nname: it\ndescription: Does it.\n{more}---\n");
    for (more, file, expected) in [
        ("", None, SkillFormat::Standard),
        ("mood: good\n", None, SkillFormat::Standard),
        ("context: fork\n", None, SkillFormat::Claude),
        ("allowed-tools: Read, Write\n", None, SkillFormat::Claude),
        ("allowed-tools: Read Write\n", None, SkillFormat::Standard),
        ("triggers: [x]\nversion: 1\nmodel: x\n", None, SkillFormat::Openai),
        ("context: fork\n", Some("agents/openai.yaml"), SkillFormat::Openai),
    ] {
        let text = text(more);
        let mut files = vec![("SKILL.md", text.as_str())];
        files.extend(file.map(|path| (path, "interface: {}")));
        let (made, done) = with(&files, &ask()).unwrap();
        assert_eq!(done.format, expected, "{more}");
        assert_eq!(made.files.len(), 1, "{more}");
        assert_eq!(done.left_out.len(), files.len() - 1);
    }
}

#[test]
fn names_are_made_or_refused() {
    for (said, expected) in [
        ("My Skill_2", Some("my-skill-2")),
        ("-a--b-", Some("a-b")),
        ("ＡＢｃ", Some("abc")),
        ("技能", None),
        ("a/b", None),
        ("../..", None),
        ("'---'", None),
    ] {
        let made = of(&format!("name: {said}\ndescription: Does it."));
        match (made, expected) {
            (Ok(made), Some(name)) => assert_eq!(read(&made).name, name),
            (Err(bad), None) => assert!(bad.help.contains("--name"), "{said}"),
            (made, _) => panic!("{said}: {:?}", made.map(|(_, done)| done.name)),
        }
    }
    let named = ConversionOptions { name: Some("Other"), ..ask() };
    let made = with(&[("SKILL.md", "---\nname: 技能\ndescription: x\n---\n")], &named).unwrap();
    assert_eq!(read(&made).name, "other");
    let made = of("description: Does it.").unwrap();
    assert_eq!(read(&made).name, "it");
}

#[test]
fn what_has_no_room_is_kept_elsewhere() {
    let long = "word ".repeat(250);
    let made =
        of(&format!("name: it\ndescription: {long}\nwhen_to_use: Now.\ncompatibility: {long}")).unwrap();
    let skill = read(&made);
    assert!(skill.description.ends_with("word…"));
    assert_eq!(skill.metadata["description"], long.trim());
    assert_eq!(skill.metadata["when_to_use"], "Now.");
    assert!(skill.compatibility.unwrap().ends_with("word…"));
    assert_eq!(made.1.review.len(), 3);
}

#[test]
fn secrets_and_caches_are_left_out_and_nothing_else_is_touched() {
    let text = format!("---\nname: it\ndescription: Does it.\n---\n{BODY}");
    let out = [
        ".env",
        ".env.local",
        "a/ID_RSA.pub",
        "credentials.json",
        "k/x.pem",
        "x.key",
        "credentials/a",
        "node_modules/x/a.js",
        "scripts/__pycache__/a.pyc",
        "x/.git/hooks/a",
        "a.PEM",
    ];
    let mut files = vec![("SKILL.md", text.as_str()), ("notes", "TOKEN_OF_ADA")];
    files.extend(out.map(|path| (path, "x")));
    files.extend([
        ("references/a.md", "a\r\n"),
        ("scripts/a.sh", "#!/bin/sh\n"),
        ("bin/run", "\u{0}"),
        ("keys.md", "k"),
    ]);
    let (made, done) = with(&files, &ask()).unwrap();
    let kept: Vec<&str> = made.files.keys().map(String::as_str).collect();
    assert_eq!(kept, ["SKILL.md", "bin/run", "keys.md", "references/a.md", "scripts/a.sh"]);
    assert_eq!(done.left_out.len(), out.len() + 1);
    let before = bundle(&files);
    assert!(kept.iter().skip(1).all(|path| made.files[*path] == before.files[*path]));
    assert!(made.text("SKILL.md").unwrap().ends_with(BODY));
    assert_eq!(done.scripts, ["bin/run", "scripts/a.sh"]);
    assert!(done.suggestion.unwrap().ends_with("      scripts/a.sh: {}\n"));
}

#[test]
fn a_skill_md_with_a_secret_is_refused() {
    let bad = with(&[("SKILL.md", "---\nname: it\ndescription: TOKEN_OF_ADA\n---\n")], &ask());
    assert!(bad.unwrap_err().message.contains("a token"));
    // Escaped so that only the result shows it.
    let bad = with(&[("SKILL.md", "---\nname: it\ndescription: \"TOKEN_OF\\x5fADA\"\n---\n")], &ask());
    assert!(bad.unwrap_err().message.contains("a token"));
}

#[test]
fn escapes_hide_no_secret() {
    for value in ["\"-\\x2d-KEY\"", "[\"TOKEN_OF\\x5fADA\"]"] {
        for field in ["license", "compatibility", "tags", "when_to_use", "tools"] {
            let bad = of(&format!("name: it\ndescription: x\n{field}: {value}"));
            assert!(bad.is_err(), "{field}: {value}");
        }
    }
}

#[test]
fn what_wf_is_told_stays_only_as_a_block() {
    let made =
        of("name: it\ndescription: x\nmetadata:\n  a: 1\n  wf: |\n    scripts:\n      scripts/a.sh: {}")
            .unwrap();
    let skill = read(&made);
    let text = made.0.text("SKILL.md").unwrap();
    assert_eq!(&text[skill.own.unwrap().range()], "    scripts:\n      scripts/a.sh: {}");
    for wf in ["wf: {scripts: {}}", "wf: 'x'", "wf: |\n    a: ---"] {
        let made = of(&format!("name: it\ndescription: x\nmetadata:\n  {wf}")).unwrap();
        assert_eq!(fate(&made, "metadata.wf").0, FieldOutcome::Dropped);
        assert_eq!(read(&made).own, None);
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    for text in [
        "",
        "# no front matter\n",
        "---\nname: it\n---\n",
        "---\n- a\n---\n",
        "---\nname: it\ndescription: ''\n---\n",
    ] {
        let bad = with(&[("SKILL.md", text)], &ask()).unwrap_err();
        assert!(!bad.help.is_empty(), "{text}");
    }
    assert!(with(&[("README.md", "x")], &ask()).is_err());
    let (made, done) = with(&[("skill.md", "---\nname: it\ndescription: x\n---\n")], &ask()).unwrap();
    assert!(made.files.contains_key("SKILL.md") && made.files.len() == 1);
    assert_eq!(done.review.len(), 1);
}

//! One tiny skill for each rule, and one for its near miss.

mod flow;
mod prose;
mod rows;
mod shells;

use std::collections::BTreeSet;

use rows::{JS, PY, ROWS, SH};

use super::{
    DetectorHit, InspectionInput, InspectionIssue, IssueClass, Rule, inspect, report, report_digest,
};
use crate::{BundleFile, ScriptDeclaration, ScriptDeclarations, SkillBundle, load};

const FRONT: &str =
    "---\nname: it\ndescription: Does one thing well. Use when the thing must be done.\n---\n";

fn detect(text: &str) -> Vec<DetectorHit> {
    let of = |word: &str, detector, what| {
        text.find(word).map(|at| DetectorHit { detector, description: what, range: at..at + word.len() })
    };
    let found = [
        of("TOKEN_OF_ADA", "secrets", "a token"),
        of("\u{202E}", "hidden_unicode", "a bidirectional control"),
        of("ignore all", "injection", "an order"),
    ];
    found.into_iter().flatten().collect()
}

fn bundle(files: &[(&str, &str)]) -> SkillBundle {
    let file = |(path, text): &(&str, &str)| {
        let bytes = text.as_bytes().to_vec();
        ((*path).to_owned(), BundleFile { bytes, is_executable: false })
    };
    SkillBundle { files: files.iter().map(file).collect() }
}

fn looked(files: &[(&str, &str)], declared: &ScriptDeclarations) -> Vec<InspectionIssue> {
    let mut files = files.to_vec();
    if files.iter().all(|(path, _)| *path != "SKILL.md") {
        files.push(("SKILL.md", FRONT));
    }
    let bundle = bundle(&files);
    let skill = load(bundle.text("SKILL.md").unwrap(), "it").unwrap();
    inspect(&InspectionInput { bundle: &bundle, skill: Some(&skill), declared, detect: &detect })
}

fn codes(files: &[(&str, &str)]) -> Vec<&'static str> {
    let found = looked(files, &ScriptDeclarations::default());
    let codes: BTreeSet<&str> = found.iter().map(|issue| issue.rule.code()).collect();
    codes.into_iter().collect()
}

#[test]
fn each_rule_is_broken_by_what_it_forbids_and_by_no_near_miss() {
    let mut wrong = Vec::new();
    for (path, text, expected, near) in ROWS {
        let found = codes(&[(path, text)]);
        if found != *expected {
            wrong.push(format!("{text:?}: {found:?}, not {expected:?}"));
        }
        let found = codes(&[(path, near)]);
        if *path != "scripts/a.pl" && !found.is_empty() {
            wrong.push(format!("near miss {near:?}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn front_matter_and_paths_are_looked_at() {
    let of = |description: &str, body: &str| {
        let text = format!("---\nname: it\ndescription: {description}\n---\n{body}");
        codes(&[("SKILL.md", &text), ("scripts/is.sh", "true\n")])
    };
    let good = "Sums up tables. Use when a table must be summed up.";
    assert_eq!(of(good, "Run `scripts/is.sh` and see [it](scripts/is.sh#there).\n"), [""; 0]);
    assert_eq!(of("Sums up when.", ""), ["description-short"]);
    assert_eq!(of(&format!("Use when {}", "x".repeat(1100)), ""), ["description-long"]);
    assert_eq!(of("Use when asked. 1. Open it. 2. Read it. 3. Close it.", ""), ["description-steps"]);
    assert_eq!(of("A collection of all sorts of helpful tools", ""), ["description-when"]);
    assert_eq!(of(good, "Run scripts/not.sh.\n"), ["path-missing"]);
    assert_eq!(of(good, "See ../scripts/is.sh\n"), ["path-outside"]);
    assert_eq!(of(good, "See [it](/etc/passwd)\n"), ["path-outside"]);
    assert_eq!(of(good, "See [it](https://x.y/../a) and `src/../x`\n"), [""; 0]);
}

#[test]
fn what_is_declared_may_be_used() {
    let script = ScriptDeclaration {
        env: BTreeSet::from(["KEY".to_owned()]),
        net: true,
        read: vec!["~/.aws".to_owned()],
        ..ScriptDeclaration::default()
    };
    let mut declared = ScriptDeclarations::default();
    declared.scripts.insert(SH.to_owned(), script);
    let found = looked(&[(SH, "grep region ~/.aws/config\ncurl -H \"$KEY\" x.y\n")], &declared);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].rule, found[0].class), (Rule::NetDeclared, IssueClass::Quality));
    let missing = looked(&[], &declared);
    assert_eq!(missing[0].rule, Rule::ScriptMissing);
}

#[test]
fn careless_commands_of_the_body_are_only_told() {
    let text = format!("{FRONT}```sh\nsudo ls\n```\n");
    let found = looked(&[("SKILL.md", &text)], &ScriptDeclarations::default());
    assert_eq!((found[0].rule, found[0].class), (Rule::Privilege, IssueClass::Quality));
}

#[test]
fn places_are_told_and_reports_are_the_same_again() {
    let files = bundle(&[("SKILL.md", FRONT), (SH, "true\n  sudo ls\n")]);
    let skill = load(FRONT, "it").unwrap();
    let declared = ScriptDeclarations::default();
    let case = InspectionInput { bundle: &files, skill: Some(&skill), declared: &declared, detect: &detect };
    let made = || report("it", &case, &inspect(&case));
    let found = &made()["findings"][0];
    assert_eq!((&found["line"], &found["column"]), (&2.into(), &3.into()));
    assert_eq!(found["file"], SH);
    assert_eq!(report_digest(&made()), report_digest(&made()));
}

#[test]
fn codes_are_different() {
    let codes: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.code()).collect();
    assert_eq!(codes.len(), Rule::ALL.len());
}

#[test]
fn what_is_nested_without_end_is_refused_and_not_followed() {
    for text in [
        "$(".repeat(50_000),
        "${a:-".repeat(50_000),
        "(".repeat(50_000),
        "$((".repeat(50_000),
        "$(( $((1) ".repeat(5_000),
    ] {
        let found = codes(&[(SH, &text)]);
        assert!(found.contains(&"too-nested"), "{:?} {found:?}", text.get(..4));
    }
}

proptest::proptest! {
    #[test]
    fn no_script_makes_it_panic_or_hang(text in "([ -~\n]|\\$\\(|\\$\\{|<<E\n|'|\"|`|\\\\|E\n|eval|rm -rf|é){0,80}") {
        for path in [SH, PY, JS, "a.rb", "SKILL.md"] {
            let text = if path == "SKILL.md" { format!("{FRONT}{text}") } else { text.clone() };
            let _ = codes(&[(path, &text)]);
        }
    }
}

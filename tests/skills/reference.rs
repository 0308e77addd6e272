//! The cases of the reference package's own tests, as a table.

use wf_skill::{PromptSkill, SkillTextError, prompt, properties, reference};

/// What is tried, its folder, its text, and the messages.
type Case = (&'static str, &'static str, String, Vec<String>);

const ONLY: &str = "Only ['allowed-tools', 'compatibility', 'description', 'license', 'metadata', \
                    'name'] are allowed.";

fn skill(name: &str, rest: &str) -> String {
    format!("---\nname: {name}\ndescription: A test skill\n{rest}---\n# My Skill\n")
}

fn case(what: &'static str, folder: &'static str, text: impl Into<String>, says: &[&str]) -> Case {
    let says = says.iter().map(|line| (*line).to_owned()).collect();
    (what, folder, text.into(), says)
}

fn of_front_matter() -> Vec<Case> {
    let my = "my-skill";
    let not_yaml = "Invalid YAML in frontmatter: ";
    vec![
        case("valid", my, skill(my, ""), &[]),
        case("none", my, "# No front matter", &["SKILL.md must start with YAML frontmatter (---)"]),
        case("open", my, "---\nname: my-skill\n", &["SKILL.md frontmatter not properly closed with ---"]),
        case("no yaml", my, "---\nname: [unclosed\n---\nBody", &[not_yaml]),
        case("a list", my, "---\n- a\n- b\n---\nBody", &["SKILL.md frontmatter must be a YAML mapping"]),
        case("license", my, skill(my, "license: MIT\n"), &[]),
        case("metadata", my, skill(my, "metadata:\n  author: A\n  version: 1.0\n"), &[]),
        case("allowed-tools", my, skill(my, "allowed-tools: Bash(jq:*) Bash(git:*)\n"), &[]),
        case("flow", my, skill(my, "allowed-tools: [Read]\n"), &[not_yaml]),
        case("twice", my, skill(my, "name: my-skill\n"), &[not_yaml]),
    ]
}

fn of_fields() -> Vec<Case> {
    let my = "my-skill";
    vec![
        case(
            "unknown",
            my,
            skill(my, "unknown_field: x\n"),
            &[&format!("Unexpected fields in frontmatter: unknown_field. {ONLY}")],
        ),
        case(
            "unknown, sorted",
            my,
            skill(my, "z: 1\nB: 2\n"),
            &[&format!("Unexpected fields in frontmatter: B, z. {ONLY}")],
        ),
        case(
            "all fields",
            my,
            skill(my, "license: MIT\ncompatibility: Python 3.11+\nallowed-tools: Read\nmetadata:\n  a: b\n"),
            &[],
        ),
        case(
            "nothing required",
            my,
            "---\nlicense: MIT\n---\n",
            &[
                "Missing required field in frontmatter: name",
                "Missing required field in frontmatter: description",
            ],
        ),
    ]
}

fn of_names() -> Vec<Case> {
    let chars = "contains invalid characters. Only letters, digits, and hyphens are allowed.";
    let long = "a".repeat(70);
    vec![
        case("upper", "MySkill", skill("MySkill", ""), &["Skill name 'MySkill' must be lowercase"]),
        case(
            "long",
            "my-skill",
            skill(&long, ""),
            &[
                &format!("Skill name '{long}' exceeds 64 character limit (70 chars)"),
                &format!("Directory name 'my-skill' must match skill name '{long}'"),
            ],
        ),
        case(
            "hyphen first",
            "-my-skill",
            skill("-my-skill", ""),
            &["Skill name cannot start or end with a hyphen"],
        ),
        case(
            "two hyphens",
            "my--skill",
            skill("my--skill", ""),
            &["Skill name cannot contain consecutive hyphens"],
        ),
        case("underscore", "my_skill", skill("my_skill", ""), &[&format!("Skill name 'my_skill' {chars}")]),
    ]
}

fn of_names_and_folders() -> Vec<Case> {
    vec![
        case(
            "other folder",
            "wrong-name",
            skill("correct-name", ""),
            &["Directory name 'wrong-name' must match skill name 'correct-name'"],
        ),
        case("chinese", "技能", skill("技能", ""), &[]),
        case("russian", "мой-навык", skill("мой-навык", ""), &[]),
        case("lower russian", "навык", skill("навык", ""), &[]),
        case("upper russian", "НАВЫК", skill("НАВЫК", ""), &["Skill name 'НАВЫК' must be lowercase"]),
        case("nfkc", "café", skill("cafe\u{301}", ""), &[]),
        case("empty", "s", skill("''", ""), &["Field 'name' must be a non-empty string"]),
        case("a list", "s", skill("\n  - s", ""), &["Field 'name' must be a non-empty string"]),
    ]
}

fn of_texts() -> Vec<Case> {
    let compatibility = |count: usize| skill("s", &format!("compatibility: {}\n", "x".repeat(count)));
    let description = |text: &str| format!("---\nname: s\ndescription: {text}\n---\n");
    vec![
        case(
            "long description",
            "s",
            description(&"x".repeat(1100)),
            &["Description exceeds 1024 character limit (1100 chars)"],
        ),
        case("longest description", "s", description(&"é".repeat(1024)), &[]),
        case(
            "blank description",
            "s",
            description("'  '"),
            &["Field 'description' must be a non-empty string"],
        ),
        case("compatibility", "s", compatibility(500), &[]),
        case(
            "long compatibility",
            "s",
            compatibility(550),
            &["Compatibility exceeds 500 character limit (550 chars)"],
        ),
        case(
            "a list of compatibility",
            "s",
            skill("s", "compatibility:\n  - a\n"),
            &["Field 'compatibility' must be a string"],
        ),
    ]
}

#[test]
fn texts_are_judged_with_the_same_words() {
    let cases = [of_front_matter(), of_fields(), of_names(), of_names_and_folders(), of_texts()];
    let cases = cases.concat();
    for (what, folder, text, says) in cases {
        let found: Vec<String> = reference(&text, folder).into_iter().map(|f| f.message).collect();
        assert_eq!(found.len(), says.len(), "{what}: {found:?}");
        for (found, says) in found.iter().zip(&says) {
            let is_parser = says.ends_with("frontmatter: ");
            let same = if is_parser { found.starts_with(says.as_str()) } else { found == says };
            assert!(same, "{what}: {found:?}, not {says:?}");
        }
    }
}

#[test]
fn paths_without_a_text_are_judged_with_the_same_words() {
    for (none, code, says) in [
        (SkillTextError::NoPath, "NOPATH", "Path does not exist: a/b"),
        (SkillTextError::NoFolder, "NOTDIR", "Not a directory: a/b"),
        (SkillTextError::NoFile, "NOFILE", "Missing required file: SKILL.md"),
    ] {
        let finding = none.finding("a/b");
        assert_eq!((finding.code, finding.message.as_str()), (code, says));
    }
}

#[test]
fn properties_and_prompts_are_the_same() {
    let text = skill("my-skill", "license: MIT\nallowed-tools: Read\nmetadata:\n  version: 1.0\n");
    let found = serde_json::Value::Object(properties(&text).unwrap());
    let expected = serde_json::json!({
        "name": "my-skill",
        "description": "A test skill",
        "license": "MIT",
        "allowed-tools": "Read",
        "metadata": {"version": "1.0"},
    });
    assert_eq!(found, expected);
    let offer = |name: &str| PromptSkill {
        name: name.into(),
        description: "Use <tag> & \"quotes\"".into(),
        location: format!("/{name}/SKILL.md"),
    };
    let block = prompt(&[offer("a"), offer("b")]);
    assert_eq!(block.matches("<skill>").count(), 2);
    assert!(block.contains("Use &lt;tag&gt; &amp; &quot;quotes&quot;"));
    assert!(block.contains("<location>\n/b/SKILL.md\n</location>"));
}

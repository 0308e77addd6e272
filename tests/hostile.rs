//! Whatever bytes are given as a spec file: no panic, bounded time and memory, spans that can be
//! drawn.

mod shown;

use std::fmt::Write as _;

use proptest::prelude::*;
pub use shown::TEXTS;
use wf_base::diag::Code;
use wf_lang::{self as lang, InMemoryFiles, LoadedSpec};

/// A plan with most of what the language has.
const VALID: &str = include_str!("hostile/plan.md");

fn load(bytes: &[u8]) -> LoadedSpec {
    let mut files = InMemoryFiles::default();
    files.0.insert("plan.md".into(), bytes.to_vec());
    files.0.insert("other.md".into(), VALID.as_bytes().to_vec());
    lang::load(&files, "plan.md")
}

/// Every place named is one that can be drawn.
fn spans_are_drawable(loaded: &LoadedSpec) {
    for (file, mistake) in &loaded.diagnostics {
        let text = loaded.sources[*file].text();
        let also = mistake.related.iter().map(|label| label.span);
        for span in also.chain([mistake.span]) {
            assert!(text.get(span.range()).is_some(), "{mistake:?}");
        }
    }
}

fn codes(bytes: &[u8]) -> Vec<Code> {
    let loaded = load(bytes);
    spans_are_drawable(&loaded);
    let all = loaded.diagnostics.iter();
    all.map(|(_, mistake)| mistake.code).collect()
}

fn front(yaml: &str) -> Vec<u8> {
    format!("---\n{yaml}\n---\n").into_bytes()
}

#[test]
fn the_valid_plan_is_valid() {
    assert_eq!(codes(VALID.as_bytes()), [Code::UsesCycle]);
    let windows = format!("\u{feff}{}", VALID.replace('\n', "\r\n"));
    assert_eq!(codes(windows.as_bytes()), [Code::UsesCycle]);
}

#[test]
fn bombs_do_not_go_off() {
    let mut aliases = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        let _ = writeln!(aliases, "a{level}: &a{level} [{below}]");
    }
    let all = codes(&front(&aliases));
    assert!(all.iter().all(|code| matches!(code, Code::YamlFeature | Code::KeyMissing)), "{all:?}");
    for (yaml, code) in [
        ("[".repeat(200_000), Code::YamlTooLarge),
        ("[".repeat(10_000) + &"]".repeat(10_000), Code::YamlTooLarge),
        ("{a: ".repeat(10_000), Code::YamlTooLarge),
        ("- ".repeat(10_000), Code::YamlTooLarge),
        ("? ".repeat(10_000), Code::YamlTooLarge),
        ("*a ".repeat(100_000), Code::YamlFeature),
        ("!".repeat(100_000), Code::YamlFeature),
        ("\"".to_owned() + &"a".repeat(1_000_000), Code::YamlSyntax),
    ] {
        let all = codes(&front(&yaml));
        let start: String = yaml.chars().take(20).collect();
        assert!(all.contains(&code) || all.contains(&Code::YamlSyntax), "{start} {all:?}");
        assert!(all.len() < 10, "{start}");
    }
}

#[test]
fn files_that_are_no_text_have_one_mistake() {
    assert_eq!(codes(&[0x7f, b'E', b'L', b'F', 0, 1, 2]), [Code::FileNotText]);
    assert_eq!(codes(b"---\nkind: \xff\n---\n"), [Code::FileNotText]);
    assert_eq!(codes(b""), [Code::FrontMatterMissing]);
    assert_eq!(codes(&[b' '; 64].repeat((1 << 20) + 1)), [Code::FileTooLarge]);
    let loaded = lang::load(&InMemoryFiles::default(), "nothing.md");
    assert_eq!(loaded.diagnostics[0].1.code, Code::FileUnreadable);
    assert_eq!(loaded.sources[0].path(), "nothing.md");
}

/// Lines of keys, of which only some differ.
fn keys(count: usize, different: usize) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "key{}: 1", at % different);
        text
    })
}

#[test]
fn a_block_is_pointed_at_as_it_is_written() {
    // The Markdown parser reads NUL as U+FFFD, which is longer.
    let front = "---\nkind: plan\nid: p\nsteps: [{id: a}]\n---\n";
    for info in ["\0", "\0\0é", "&ouml;&ouml;x", ""] {
        let loaded = load(format!("{front}# a\n```{info}\r\n```\n# a\n```{info}").as_bytes());
        spans_are_drawable(&loaded);
    }
}

#[test]
fn thousands_of_mistakes_stay_few() {
    let many = keys(100_000, 100_000);
    assert_eq!(codes(&front(&format!("kind: plan\n{many}"))).len(), 1000);
    let twice = keys(200_000, 100_000);
    assert_eq!(codes(&front(&twice)).len(), 1000);
}

#[test]
fn deep_nests_of_plans_end() {
    let mut files = InMemoryFiles::default();
    for at in 0..100 {
        let next = at + 1;
        let text = format!("---\nkind: plan\nid: p{at}\nsteps:\n  - {{id: a, uses: p{next}.md}}\n---\n");
        files.0.insert(format!("p{at}.md"), text.into_bytes());
    }
    let loaded = lang::load(&files, "p0.md");
    let (file, mistake) = &loaded.diagnostics[0];
    assert_eq!((*file, mistake.code), (lang::MAX_USES, Code::UsesUnreadable));
}

#[test]
fn a_hundred_thousand_steps_load_in_linear_time() {
    let mut plan = String::from("---\nkind: plan\nid: many\nsteps:\n  - {id: s0, run: \"true\"}\n");
    for at in 1..100_000 {
        let before = at - 1;
        let _ = writeln!(plan, "  - {{id: s{at}, run: \"true\", depends_on: [s{before}]}}");
    }
    plan.push_str("---\n");
    let loaded = load(plan.as_bytes());
    assert!(loaded.diagnostics.is_empty());
    let defaults = wf_app::config::WorkspaceConfig::default().defaults;
    let model = lang::lower(&loaded, &defaults).expect("it has no mistakes");
    assert_eq!(model.steps().len(), 100_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_can_be_loaded(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        codes(&bytes);
    }

    #[test]
    fn any_text_can_be_front_matter(yaml in "[-a-z0-9:{}\\[\\]&*!|>'\"%@`#,?<\\\\ \t\r\n\u{e9}\u{1f600}]{0,300}") {
        codes(&front(&yaml));
        codes(&front(&format!("kind: plan\nid: x\nsteps:\n  - id: a\n    run: |\n{yaml}")));
    }

    #[test]
    fn a_damaged_plan_can_be_loaded(
        cuts in proptest::collection::vec((0..VALID.len(), 0..40_usize, ".{0,6}"), 1..6)
    ) {
        let mut text = VALID.to_owned();
        for (at, length, more) in cuts {
            let at = text.floor_char_boundary(at.min(text.len()));
            let end = text.ceil_char_boundary((at + length).min(text.len()));
            text.replace_range(at..end, &more);
        }
        codes(text.as_bytes());
    }
}

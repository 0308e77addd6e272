//! JUnit reports are valid by the schema that Jenkins reads them with (`junit-10.xsd` of its xUnit
//! plugin), whatever steps print. Its rules stand here as a table.

use std::collections::BTreeMap;

use crate::support::Sandbox;

/// What the schema says of an element.
struct Rule {
    element: &'static str,
    /// Its attributes, those that must be there with a `!`.
    attributes: &'static str,
    /// What may be inside; `#` is text.
    inside: &'static str,
}

const RERUN: (&str, &str) = ("message !type", "# stackTrace system-out system-err");

const RULES: [Rule; 15] = [
    rule("", ("", "testsuites")),
    rule("testsuites", ("name time tests failures errors", "testsuite")),
    rule(
        "testsuite",
        (
            "!name !tests !failures !errors group time skipped timestamp hostname id package file log url",
            "testsuite properties testcase system-out system-err",
        ),
    ),
    rule("properties", ("", "property")),
    rule("property", ("!name !value", "")),
    rule(
        "testcase",
        (
            "!name time classname group",
            "skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err",
        ),
    ),
    rule("skipped", ("type message", "#")),
    rule("error", ("type message", "#")),
    rule("failure", ("type message", "#")),
    rule("rerunFailure", RERUN),
    rule("rerunError", RERUN),
    rule("flakyFailure", RERUN),
    rule("flakyError", RERUN),
    rule("system-out", ("", "#")),
    rule("system-err", ("", "#")),
];

const fn rule(element: &'static str, says: (&'static str, &'static str)) -> Rule {
    Rule { element, attributes: says.0, inside: says.1 }
}

fn rule_of(element: &str) -> &'static Rule {
    let found = RULES.iter().find(|rule| rule.element == element);
    found.unwrap_or_else(|| panic!("no element `{element}` is known"))
}

/// Whether a text is a time as the schema has it.
fn is_time(text: &str) -> bool {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    digits(whole) && digits(part)
}

fn attributes(tag: &str) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    let mut rest = tag;
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"').expect("a value ends");
        found.insert(name.trim(), value);
        rest = after;
    }
    assert!(rest.trim().is_empty(), "{tag}");
    found
}

fn check_attributes(element: &str, given: &BTreeMap<&str, &str>) {
    let rule = rule_of(element);
    let known: Vec<&str> = rule.attributes.split_whitespace().collect();
    for name in given.keys() {
        let known = known.iter().any(|known| known.trim_start_matches('!') == *name);
        assert!(known, "`{element}` has no attribute `{name}`");
    }
    for name in known.iter().filter_map(|name| name.strip_prefix('!')) {
        assert!(given.contains_key(name), "`{element}` lacks `{name}`");
    }
    if let Some(time) = given.get("time") {
        assert!(is_time(time), "{time}");
    }
}

/// Reads a report, which escapes every `<` and `>` that is text, and holds it against the rules.
fn check(xml: &str) {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r') || !c.is_control();
    assert!(xml.chars().all(is_allowed), "{xml:?}");
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    let mut open = vec![""];
    for part in body.expect("it is XML").split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let empty = tag.ends_with('/');
            let tag = tag.trim_end_matches('/');
            let (name, given) = tag.split_once(' ').unwrap_or((tag, ""));
            let above = open.last().copied().unwrap_or_default();
            let mut inside = rule_of(above).inside.split_whitespace();
            assert!(inside.any(|one| one == name), "`{name}` in `{above}`");
            check_attributes(name, &attributes(given));
            if !empty {
                open.push(name);
            }
        }
        let above = open.last().copied().unwrap_or_default();
        let has_text = rule_of(above).inside.starts_with('#');
        assert!(has_text || text.trim().is_empty(), "`{text}` in `{above}`");
    }
    assert_eq!(open, [""]);
}

const PLAN: &str = r#"---
kind: plan
id: all
policy: {on_failure: continue}
steps:
  - {id: well, run: "true", verify: [{name: holds, run: "true"}]}
  - {id: loud, run: "printf '\\033[31mred\\033[0m ]]> & <b> \\001\\n'; exit 1", retry: {max: 1}}
  - {id: wrong, run: "true", verify: [{name: "no", run: "echo '<&>'; exit 1"}]}
  - {id: flaky, run: 'test "$WF_ATTEMPT" = 2', retry: {max: 1}}
  - {id: optional, run: exit 7, on_error: continue}
  - {id: after, depends_on: [loud], run: "true"}
  - {id: cells, matrix: {os: ["a<b", "c\"d"]}, run: 'test "$WF_MATRIX_OS" = "a<b"'}
  - {id: deep, uses: inner.md, retry: {max: 1}}
verify: [{name: together, run: "true"}]
---
"#;

const INNER: &str = "---\nkind: plan\nid: inner\nsteps:\n  - {id: say, run: \"false\"}\n---\n";

#[test]
fn reports_are_valid_by_the_schema_of_jenkins() {
    let sandbox = Sandbox::new();
    sandbox.file("wf.yaml", "");
    sandbox.file("plan.md", PLAN);
    sandbox.file("inner.md", INNER);
    let run = ["run", "-q", "plan.md", "--junit", "out.xml"];
    sandbox.wf(&run).exits(1);
    let xml = sandbox.read("out.xml");
    check(&xml);
    let count = |part: &str| xml.matches(part).count();
    // A failure each: loud, wrong, a cell, and the step inside; once, however often it was tried.
    assert_eq!(count("<failure "), 4, "{xml}");
    assert!(xml.contains(r#"failures="4" errors="0""#), "{xml}");
    assert_eq!(count("<flakyFailure "), 1, "{xml}");
    assert_eq!(count("<rerunFailure "), 1, "{xml}");
    assert_eq!(count(r#"type="allowed_to_fail""#), 1, "{xml}");
    for parent in [r#"<testcase name="cells""#, r#"<testcase name="deep""#] {
        assert!(!xml.contains(parent), "{xml}");
    }
}

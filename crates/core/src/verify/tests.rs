mod properties;

use regex::Regex;
use serde_json::json;

use crate::{
    machine::{CheckRuling, WorkExit},
    verify::{CriterionJudgement, FilePresence, ProbeFindings, judge},
};
use wf_model::{Expectation, FailureClass, JsonExpectation, ValueSchema};

const OK: WorkExit = WorkExit::Code { code: 0 };

fn rule(expect: &Expectation, exit: &WorkExit, stdout: &str) -> CriterionJudgement {
    let found = ProbeFindings {
        exit: Some(exit),
        stdout: stdout.as_bytes(),
        stderr: b"",
        truncated: false,
        out_end: stdout.as_bytes(),
        err_end: b"",
        files: &[],
    };
    judge(expect, &found, &[])
}

/// Judges an output of a probe that exited well: `None` is a pass, else the expectation and the
/// finding.
fn check(expect: &Expectation, stdout: &str, reason: Option<(&str, &str)>) {
    let ruled = rule(expect, &OK, stdout);
    let told = (ruled.ruling != CheckRuling::Pass).then_some((ruled.expected.as_str(), ruled.found.as_str()));
    assert_eq!(told, reason, "{expect:?} on {stdout:?}");
    let failure_class = reason.map(|_| FailureClass::Logical);
    assert_eq!(ruled.failure_class, failure_class, "{expect:?} on {stdout:?}");
}

#[test]
fn exit_codes() {
    let code = |code| WorkExit::Code { code };
    for (asked, exit, ruling, failure_class) in [
        (None, OK, CheckRuling::Pass, None),
        (None, WorkExit::Completed, CheckRuling::Pass, None),
        (None, code(1), CheckRuling::Fail, Some(FailureClass::Logical)),
        (Some(1), code(1), CheckRuling::Pass, None),
        (Some(1), OK, CheckRuling::Fail, Some(FailureClass::Logical)),
        (Some(127), code(127), CheckRuling::Pass, None),
        (None, code(127), CheckRuling::Error, Some(FailureClass::Environmental)),
        (Some(1), code(126), CheckRuling::Error, Some(FailureClass::Environmental)),
        (None, WorkExit::Signal { signal: 9 }, CheckRuling::Error, Some(FailureClass::Environmental)),
        (None, WorkExit::TimedOut, CheckRuling::Error, Some(FailureClass::Environmental)),
        (None, WorkExit::Cancelled, CheckRuling::Error, Some(FailureClass::Environmental)),
    ] {
        let expect = Expectation { exit_code: asked, ..Expectation::default() };
        let ruled = rule(&expect, &exit, "");
        assert_eq!((ruled.ruling, ruled.failure_class), (ruling, failure_class), "{asked:?} {exit:?}");
    }
}

#[test]
fn a_probe_that_could_not_begin_says_why() {
    let exit = WorkExit::Error {
        reason: "there is no shell `fish`".into(),
        failure_class: FailureClass::Environmental,
    };
    let ruled = rule(&Expectation::default(), &exit, "");
    assert_eq!(ruled.ruling, CheckRuling::Error);
    assert_eq!(ruled.found, "there is no shell `fish`");
}

#[test]
fn texts() {
    let equals = |text: &str| Expectation { equals: Some(text.into()), ..Expectation::default() };
    check(&equals("a b"), "a b\r\n", None);
    check(&equals("a\nb\n"), "a\nb", None);
    check(&equals("a"), "ab", Some(("the output `a`", "`ab`")));
    check(&equals("a"), "", Some(("the output `a`", "nothing")));
    let contains = Expectation { contains: Some("ü".into()), ..Expectation::default() };
    check(&contains, "xüx", None);
    check(&contains, "xux", Some(("output with `ü`", "`xux`")));
    let regex = Expectation { regex: Some(Regex::new("^v[0-9]+$").unwrap()), ..Expectation::default() };
    check(&regex, "v12", None);
    check(&regex, "v", Some(("output that matches `^v[0-9]+$`", "`v`")));
}

#[test]
fn numbers() {
    let between = Expectation { output_gt: Some(1.0), output_lt: Some(2.5), ..Expectation::default() };
    let said = "a number above 1 and below 2.5";
    for (stdout, reason) in [
        (" 2\n", None),
        ("1e0", Some((said, "`1e0`"))),
        ("2.5", Some((said, "`2.5`"))),
        ("NaN", Some((said, "`NaN`"))),
        ("inf", Some((said, "`inf`"))),
        ("two", Some((said, "`two`"))),
        ("", Some((said, "nothing"))),
    ] {
        check(&between, stdout, reason);
    }
}

#[test]
fn emptiness() {
    let expect = |wanted| Expectation { not_empty: Some(wanted), ..Expectation::default() };
    check(&expect(true), "x", None);
    check(&expect(true), " \n", Some(("some output", "nothing")));
    check(&expect(false), " \n", None);
    check(&expect(false), "x", Some(("no output", "`x`")));
}

/// Returns a comparison by the keys that a plan would give it.
fn at(path: &str, keys: &serde_json::Value) -> JsonExpectation {
    JsonExpectation {
        path: path.into(),
        equals: keys.get("equals").cloned(),
        lt: keys["lt"].as_f64(),
        gt: keys["gt"].as_f64(),
        exists: keys["exists"].as_bool(),
        count: keys["count"].as_u64().and_then(|count| usize::try_from(count).ok()),
    }
}

#[test]
fn json_values() {
    let output = r#"{ "rows": 3, "big": 9007199254740993, "names": ["a", "b"], "ok": true }"#;
    for (path, keys, told) in [
        ("$.rows", json!({ "equals": 3.0 }), "/"),
        ("$.big", json!({ "equals": 9_007_199_254_740_993_u64 }), "/"),
        (
            "$.big",
            json!({ "equals": 9_007_199_254_740_992.0 }),
            "$.big to be `9007199254740992.0`/`9007199254740993`",
        ),
        ("$.rows", json!({ "equals": "3" }), "$.rows to be `\"3\"`/`3`"),
        ("$.rows", json!({ "gt": 2, "lt": 4 }), "/"),
        ("$.rows", json!({ "gt": 3 }), "$.rows to be a number above 3/`3`"),
        ("$.ok", json!({ "lt": 3 }), "$.ok to be a number below 3/`true`"),
        ("$.names[*]", json!({ "count": 2 }), "/"),
        ("$.names[*]", json!({ "count": 1 }), "1 values at $.names[*]/2 values"),
        ("$.names[*]", json!({ "equals": "a" }), "$.names[*] to be `\"a\"`/2 values"),
        ("$.absent", json!({ "exists": false }), "/"),
        ("$.absent", json!({ "exists": true }), "a value at $.absent/no value"),
        ("rows", json!({ "exists": true }), "a value at rows/a JSON path must start with `$`"),
    ] {
        let expect = Expectation { json: vec![at(path, &keys)], ..Expectation::default() };
        let ruled = rule(&expect, &OK, output);
        assert_eq!(format!("{}/{}", ruled.expected, ruled.found), told, "{keys}");
        assert_eq!(ruled.ruling == CheckRuling::Pass, told == "/", "{keys}");
    }
}

#[test]
fn json_in_which_a_key_stands_twice_does_not_pass() {
    let expect = Expectation { json: vec![at("$.ok", &json!({ "equals": true }))], ..Expectation::default() };
    for output in [r#"{"ok": false, "ok": true}"#, r#"{"ok": true, "deep": [{"a": 1, "\u0061": 2}]}"#] {
        let ruled = rule(&expect, &OK, output);
        assert_eq!(ruled.ruling, CheckRuling::Fail, "{output}");
        assert!(ruled.found.contains("duplicate key"), "{}", ruled.found);
    }
    assert_eq!(rule(&expect, &OK, r#"{"ok": true}"#).ruling, CheckRuling::Pass);
}

#[test]
fn json_that_is_none_or_breaks_its_schema() {
    let schema = ValueSchema::new(json!({ "type": "object", "required": ["rows"] })).unwrap();
    let expect = Expectation { json_schema: Some(schema), ..Expectation::default() };
    check(&expect, r#"{ "rows": 1 }"#, None);
    let said = rule(&expect, &OK, "{}");
    assert_eq!(said.expected, "the output satisfies the JSON schema");
    assert!(said.found.contains("rows"), "{}", said.found);
    let said = rule(&expect, &OK, &"[".repeat(100_000));
    assert_eq!((said.ruling, said.expected.as_str()), (CheckRuling::Fail, "the output is JSON"));
}

#[test]
fn files() {
    let expect = Expectation { file_exists: vec!["a".into(), "b".into()], ..Expectation::default() };
    let unable = FilePresence::Unknown("outside the workspace".into());
    for (files, ruling, found) in [
        (vec![FilePresence::Present, FilePresence::Present], CheckRuling::Pass, ""),
        (vec![FilePresence::Present, FilePresence::Absent], CheckRuling::Fail, "no such file"),
        (vec![FilePresence::Present, unable], CheckRuling::Error, "outside the workspace"),
        (vec![FilePresence::Present], CheckRuling::Error, "it was not checked"),
    ] {
        let ruled = judge(
            &expect,
            &ProbeFindings {
                exit: None,
                stdout: b"",
                stderr: b"",
                truncated: false,
                out_end: b"",
                err_end: b"",
                files: &files,
            },
            &[],
        );
        assert_eq!((ruled.ruling, ruled.found.as_str()), (ruling, found));
    }
}

/// Judges an output of which only the beginning is known.
fn check_half(ruling: CheckRuling, change: impl Fn(&mut Expectation)) {
    let mut expect = Expectation::default();
    change(&mut expect);
    let found = ProbeFindings {
        exit: Some(&OK),
        stdout: b"7 lines",
        stderr: b"",
        truncated: true,
        out_end: b"",
        err_end: b"",
        files: &[],
    };
    assert_eq!(judge(&expect, &found, &[]).ruling, ruling, "{expect:?}");
}

#[test]
fn half_an_output_is_judged_only_where_half_is_enough() {
    check_half(CheckRuling::Pass, |_| {});
    check_half(CheckRuling::Pass, |e| e.not_empty = Some(true));
    check_half(CheckRuling::Fail, |e| e.not_empty = Some(false));
    check_half(CheckRuling::Pass, |e| e.contains = Some("lines".into()));
    check_half(CheckRuling::Error, |e| e.contains = Some("rows".into()));
    check_half(CheckRuling::Error, |e| e.equals = Some("7 lines".into()));
    check_half(CheckRuling::Error, |e| e.output_gt = Some(1.0));
    check_half(CheckRuling::Error, |e| e.json = vec![at("$", &json!({}))]);
    check_half(CheckRuling::Fail, |e| {
        e.exit_code = Some(1);
        e.equals = Some("x".into());
    });
}

#[test]
fn all_expectations_must_hold() {
    let expect = Expectation {
        contains: Some("a".into()),
        not_empty: Some(true),
        output_lt: Some(5.0),
        ..Expectation::default()
    };
    let ruled = rule(&expect, &OK, "a");
    assert_eq!(ruled.ruling, CheckRuling::Fail);
    assert_eq!(ruled.evidence, "a");
}

use regex::Regex;
use serde_json::json;

use crate::machine::{Exit, Ruling};
use crate::model::{Class, Expect, JsonExpect, Schema};
use crate::verify::{FileFound, Found, Judgement, judge};

const OK: Exit = Exit::Code { code: 0 };

fn rule(expect: &Expect, exit: &Exit, stdout: &str) -> Judgement {
    let found = Found {
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

/// Rules on an output of a probe that ended well: `None` is a pass, else what was expected and
/// found.
fn check(expect: &Expect, stdout: &str, reason: Option<(&str, &str)>) {
    let ruled = rule(expect, &OK, stdout);
    let told =
        (ruled.ruling != Ruling::Pass).then_some((ruled.expected.as_str(), ruled.found.as_str()));
    assert_eq!(told, reason, "{expect:?} on {stdout:?}");
    let class = reason.map(|_| Class::Logical);
    assert_eq!(ruled.class, class, "{expect:?} on {stdout:?}");
}

#[test]
fn exit_codes() {
    let code = |code| Exit::Code { code };
    for (asked, exit, ruling, class) in [
        (None, OK, Ruling::Pass, None),
        (None, Exit::Done, Ruling::Pass, None),
        (None, code(1), Ruling::Fail, Some(Class::Logical)),
        (Some(1), code(1), Ruling::Pass, None),
        (Some(1), OK, Ruling::Fail, Some(Class::Logical)),
        (Some(127), code(127), Ruling::Pass, None),
        (None, code(127), Ruling::Error, Some(Class::Environmental)),
        (
            Some(1),
            code(126),
            Ruling::Error,
            Some(Class::Environmental),
        ),
        (
            None,
            Exit::Signal { signal: 9 },
            Ruling::Error,
            Some(Class::Environmental),
        ),
        (
            None,
            Exit::TimedOut,
            Ruling::Error,
            Some(Class::Environmental),
        ),
        (
            None,
            Exit::Cancelled,
            Ruling::Error,
            Some(Class::Environmental),
        ),
    ] {
        let expect = Expect {
            exit_code: asked,
            ..Expect::default()
        };
        let ruled = rule(&expect, &exit, "");
        assert_eq!(
            (ruled.ruling, ruled.class),
            (ruling, class),
            "{asked:?} {exit:?}"
        );
    }
}

#[test]
fn a_probe_that_could_not_begin_says_why() {
    let exit = Exit::Unable {
        why: "there is no shell `fish`".into(),
        class: Class::Environmental,
    };
    let ruled = rule(&Expect::default(), &exit, "");
    assert_eq!(ruled.ruling, Ruling::Error);
    assert_eq!(ruled.found, "there is no shell `fish`");
}

#[test]
fn texts() {
    let equals = |text: &str| Expect {
        equals: Some(text.into()),
        ..Expect::default()
    };
    check(&equals("a b"), "a b\r\n", None);
    check(&equals("a\nb\n"), "a\nb", None);
    check(&equals("a"), "ab", Some(("the output `a`", "`ab`")));
    check(&equals("a"), "", Some(("the output `a`", "nothing")));
    let contains = Expect {
        contains: Some("ü".into()),
        ..Expect::default()
    };
    check(&contains, "xüx", None);
    check(&contains, "xux", Some(("output with `ü`", "`xux`")));
    let regex = Expect {
        regex: Some(Regex::new("^v[0-9]+$").unwrap()),
        ..Expect::default()
    };
    check(&regex, "v12", None);
    check(
        &regex,
        "v",
        Some(("output that matches `^v[0-9]+$`", "`v`")),
    );
}

#[test]
fn numbers() {
    let between = Expect {
        output_gt: Some(1.0),
        output_lt: Some(2.5),
        ..Expect::default()
    };
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
    let expect = |wanted| Expect {
        not_empty: Some(wanted),
        ..Expect::default()
    };
    check(&expect(true), "x", None);
    check(&expect(true), " \n", Some(("some output", "nothing")));
    check(&expect(false), " \n", None);
    check(&expect(false), "x", Some(("no output", "`x`")));
}

/// A comparison by the keys that a plan would give it.
fn at(path: &str, keys: &serde_json::Value) -> JsonExpect {
    JsonExpect {
        path: path.into(),
        equals: keys.get("equals").cloned(),
        lt: keys["lt"].as_f64(),
        gt: keys["gt"].as_f64(),
        exists: keys["exists"].as_bool(),
        count: keys["count"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok()),
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
        (
            "$.rows",
            json!({ "equals": "3" }),
            "$.rows to be `\"3\"`/`3`",
        ),
        ("$.rows", json!({ "gt": 2, "lt": 4 }), "/"),
        (
            "$.rows",
            json!({ "gt": 3 }),
            "$.rows to be a number above 3/`3`",
        ),
        (
            "$.ok",
            json!({ "lt": 3 }),
            "$.ok to be a number below 3/`true`",
        ),
        ("$.names[*]", json!({ "count": 2 }), "/"),
        (
            "$.names[*]",
            json!({ "count": 1 }),
            "1 values at $.names[*]/2 values",
        ),
        (
            "$.names[*]",
            json!({ "equals": "a" }),
            "$.names[*] to be `\"a\"`/2 values",
        ),
        ("$.absent", json!({ "exists": false }), "/"),
        (
            "$.absent",
            json!({ "exists": true }),
            "a value at $.absent/no value",
        ),
        (
            "rows",
            json!({ "exists": true }),
            "a value at rows/a JSON path begins with `$`",
        ),
    ] {
        let expect = Expect {
            json: vec![at(path, &keys)],
            ..Expect::default()
        };
        let ruled = rule(&expect, &OK, output);
        assert_eq!(
            format!("{}/{}", ruled.expected, ruled.found),
            told,
            "{keys}"
        );
        assert_eq!(ruled.ruling == Ruling::Pass, told == "/", "{keys}");
    }
}

#[test]
fn json_in_which_a_key_stands_twice_does_not_pass() {
    let expect = Expect {
        json: vec![at("$.ok", &json!({ "equals": true }))],
        ..Expect::default()
    };
    for output in [
        r#"{"ok": false, "ok": true}"#,
        r#"{"ok": true, "deep": [{"a": 1, "\u0061": 2}]}"#,
    ] {
        let ruled = rule(&expect, &OK, output);
        assert_eq!(ruled.ruling, Ruling::Fail, "{output}");
        assert!(
            ruled.found.contains("stands there twice"),
            "{}",
            ruled.found
        );
    }
    assert_eq!(rule(&expect, &OK, r#"{"ok": true}"#).ruling, Ruling::Pass);
}

#[test]
fn json_that_is_none_or_breaks_its_schema() {
    let schema = Schema::new(json!({ "type": "object", "required": ["rows"] })).unwrap();
    let expect = Expect {
        json_schema: Some(schema),
        ..Expect::default()
    };
    check(&expect, r#"{ "rows": 1 }"#, None);
    let said = rule(&expect, &OK, "{}");
    assert_eq!(said.expected, "the output satisfies the JSON schema");
    assert!(said.found.contains("rows"), "{}", said.found);
    let said = rule(&expect, &OK, &"[".repeat(100_000));
    assert_eq!(
        (said.ruling, said.expected.as_str()),
        (Ruling::Fail, "the output is JSON")
    );
}

#[test]
fn files() {
    let expect = Expect {
        file_exists: vec!["a".into(), "b".into()],
        ..Expect::default()
    };
    let unable = FileFound::Unable("outside the workspace".into());
    for (files, ruling, found) in [
        (vec![FileFound::Yes, FileFound::Yes], Ruling::Pass, ""),
        (
            vec![FileFound::Yes, FileFound::No],
            Ruling::Fail,
            "no such file",
        ),
        (
            vec![FileFound::Yes, unable],
            Ruling::Error,
            "outside the workspace",
        ),
        (vec![FileFound::Yes], Ruling::Error, "nobody looked for it"),
    ] {
        let ruled = judge(
            &expect,
            &Found {
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

/// Rules on an output of which only the beginning is known.
fn check_half(ruling: Ruling, change: impl Fn(&mut Expect)) {
    let mut expect = Expect::default();
    change(&mut expect);
    let found = Found {
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
    check_half(Ruling::Pass, |_| {});
    check_half(Ruling::Pass, |e| e.not_empty = Some(true));
    check_half(Ruling::Fail, |e| e.not_empty = Some(false));
    check_half(Ruling::Pass, |e| e.contains = Some("lines".into()));
    check_half(Ruling::Error, |e| e.contains = Some("rows".into()));
    check_half(Ruling::Error, |e| e.equals = Some("7 lines".into()));
    check_half(Ruling::Error, |e| e.output_gt = Some(1.0));
    check_half(Ruling::Error, |e| e.json = vec![at("$", &json!({}))]);
    check_half(Ruling::Fail, |e| {
        e.exit_code = Some(1);
        e.equals = Some("x".into());
    });
}

#[test]
fn all_expectations_must_hold() {
    let expect = Expect {
        contains: Some("a".into()),
        not_empty: Some(true),
        output_lt: Some(5.0),
        ..Expect::default()
    };
    let ruled = rule(&expect, &OK, "a");
    assert_eq!(ruled.ruling, Ruling::Fail);
    assert_eq!(ruled.evidence, "a");
}

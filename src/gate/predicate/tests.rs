use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{FileFact, FileFacts, NoFiles, clamped, predicate};
use crate::gate::{Action, Answer};
use crate::model::{JsonExpect, Predicate, Range};

fn range(min: f64, max: f64) -> Range {
    Range {
        min: Some(min),
        max: Some(max),
    }
}

fn money(clamp: Option<Range>) -> Predicate {
    Predicate::NumericRange {
        block_outside: Some(range(0.0, 1000.0)),
        auto_approve: Some(range(0.0, 50.0)),
        require_approval: Some(range(50.0, 500.0)),
        clamp,
    }
}

fn ask(rule: &Predicate, value: &Value) -> Answer {
    predicate(rule, Some(value), &NoFiles)
}

#[test]
fn numbers_are_judged_in_the_order_of_the_ranges() {
    use Action::{Block, Continue, RequireApproval};
    for (value, action, reason) in [
        (json!("much"), Block, "`much` is not a number"),
        (json!(null), Block, "`null` is not a number"),
        (json!(true), Block, "`true` is not a number"),
        (json!("NaN"), Block, "`NaN` is not a number"),
        (json!("inf"), Block, "`inf` is not a number"),
        (json!([1]), Block, "`[1]` is not a number"),
        (json!(-0.5), Block, "-0.5 is not from 0 to 1000"),
        (json!(1001), Block, "1001 is not from 0 to 1000"),
        (json!(0), Continue, ""),
        (json!(50), Continue, ""),
        (json!(" 7.5 "), Continue, ""),
        (
            json!(50.01),
            RequireApproval,
            "50.01 is from 50 to 500, which somebody must agree to",
        ),
        (
            json!(500),
            RequireApproval,
            "500 is from 50 to 500, which somebody must agree to",
        ),
        (
            json!(700),
            Block,
            "700 is in no range in which it may go on",
        ),
    ] {
        let answer = ask(&money(None), &value);
        assert_eq!(
            (answer.action, answer.reason.as_str()),
            (action, reason),
            "{value}"
        );
    }
}

#[test]
fn a_hard_range_goes_before_what_would_go_on() {
    let rule = Predicate::NumericRange {
        block_outside: Some(range(10.0, 20.0)),
        auto_approve: Some(Range::default()),
        require_approval: None,
        clamp: None,
    };
    assert_eq!(ask(&rule, &json!(9)).action, Action::Block);
    assert_eq!(ask(&rule, &json!(15)).action, Action::Continue);
}

#[test]
fn a_number_is_moved_only_where_that_is_said() {
    let rule = money(Some(range(1.0, 40.0)));
    let answer = ask(&rule, &json!(9000));
    assert_eq!(answer.action, Action::Continue);
    assert_eq!(answer.flags, ["clamped from 9000 to 40"]);
    assert_eq!(clamped(&rule, &json!(9000)), Some(json!(40)));
    assert_eq!(clamped(&rule, &json!("9000")), Some(json!("40")));
    for (rule, value) in [
        (&rule, json!(30)),
        (&rule, json!("x")),
        (&money(None), json!(9000)),
    ] {
        assert_eq!(clamped(rule, &value), None);
    }
    assert_eq!(ask(&rule, &json!("x")).action, Action::Block);
}

#[test]
fn texts_are_allowed_asked_for_or_blocked() {
    let rule = Predicate::StringMatch {
        allowed: vec!["dev".into(), "1".into(), "true".into()],
        approval: vec!["prod".into(), "dev".into()],
    };
    for (value, action) in [
        (json!("dev"), Action::Continue),
        (json!(1), Action::Continue),
        (json!(true), Action::Continue),
        (json!("prod"), Action::RequireApproval),
        (json!("Prod"), Action::Block),
        (json!("dev "), Action::Block),
        (json!(["dev"]), Action::Block),
        (json!(null), Action::Block),
    ] {
        assert_eq!(ask(&rule, &value).action, action, "{value}");
    }
    let reason = ask(&rule, &json!(format!("x\n{}", "y".repeat(200)))).reason;
    assert!(
        reason.ends_with("…` is not an allowed value") && reason.len() < 200,
        "{reason}"
    );
}

#[test]
fn a_pattern_lets_pass_what_it_matches() {
    let rule = Predicate::Regex(regex::Regex::new("^[a-z]+$").unwrap());
    assert_eq!(ask(&rule, &json!("abc")), Answer::pass());
    assert_eq!(
        ask(&rule, &json!("a1")).reason,
        "`a1` does not match `^[a-z]+$`"
    );
    assert_eq!(ask(&rule, &json!({})).action, Action::Block);
    let long = ask(&rule, &json!("a".repeat(1024 * 1024 + 1)));
    assert_eq!(
        long.reason,
        "The text is longer than 1024 KiB, and is not looked at"
    );
    // What makes others run for ever takes no longer than any text.
    let rule = Predicate::Regex(regex::Regex::new("^(a+)+$").unwrap());
    assert_eq!(
        ask(&rule, &json!(format!("{}!", "a".repeat(50_000)))).action,
        Action::Block
    );
}

#[derive(Default)]
struct Files(BTreeMap<&'static str, FileFact>);

impl FileFacts for Files {
    fn look(&self, path: &str) -> FileFact {
        self.0.get(path).cloned().unwrap_or(FileFact::Absent)
    }
}

#[test]
fn files_must_be_where_they_may_and_small() {
    let file = |size, place: &str| FileFact::File {
        size,
        place: place.into(),
    };
    let files = Files(BTreeMap::from([
        ("in/a", file(10, "in/a")),
        ("./in/a", file(10, "in/a")),
        ("in/large", file(11, "in/large")),
        ("in/link", file(1, "secret/key")),
        ("in/out", FileFact::Outside),
        ("in/locked", FileFact::Unknown("permission denied".into())),
        ("inside", file(1, "inside")),
    ]));
    let rule = Predicate::FileValid {
        permitted: vec!["./in/".into(), "other".into()],
        max_size_bytes: Some(10),
    };
    let outside = "Path outside permitted directories";
    for (path, reason) in [
        ("in/a", ""),
        ("./in/a", ""),
        ("in/../in/a", outside),
        ("../in/a", outside),
        ("/in/a", outside),
        ("", outside),
        ("in/a\0", outside),
        ("inside", outside),
        ("in/link", outside),
        ("in/out", outside),
        ("in/none", "File not found"),
        ("in/large", "File of 11 bytes, at most 10 are allowed"),
        (
            "in/locked",
            "The file cannot be looked at: permission denied",
        ),
    ] {
        let answer = predicate(&rule, Some(&json!(path)), &files);
        assert_eq!(answer.reason, reason, "{path}");
        assert_eq!(
            answer.action == Action::Continue,
            reason.is_empty(),
            "{path}"
        );
    }
    let anywhere = Predicate::FileValid {
        permitted: Vec::new(),
        max_size_bytes: None,
    };
    assert_eq!(
        predicate(&anywhere, Some(&json!("in/large")), &files),
        Answer::pass()
    );
    assert_eq!(ask(&anywhere, &json!(3)).reason, "The value is no path");
    assert_eq!(ask(&anywhere, &json!("x")).action, Action::Block);
}

#[test]
fn some_things_are_always_asked_for() {
    for value in [None, Some(&json!("anything"))] {
        let answer = predicate(&Predicate::ApprovalAlways, value, &NoFiles);
        assert_eq!(answer.action, Action::RequireApproval);
        assert_eq!(answer.reason, "Somebody must agree every time");
    }
    let answer = predicate(&money(None), None, &NoFiles);
    assert_eq!(answer, Answer::block("There is no value to look at"));
}

#[test]
fn values_inside_are_compared_as_checks_do() {
    let expect = |path: &str, equals: Option<Value>, lt: Option<f64>| JsonExpect {
        path: path.into(),
        equals,
        lt,
        gt: None,
        exists: None,
        count: None,
    };
    let rule = Predicate::JsonPath(vec![
        expect("$.env", Some(json!("dev")), None),
        expect("$.count", None, Some(3.0)),
    ]);
    assert_eq!(
        ask(&rule, &json!({ "env": "dev", "count": 2 })),
        Answer::pass()
    );
    let answer = ask(&rule, &json!({ "env": "prod", "count": 2 }));
    assert_eq!(
        answer.reason,
        "Expected $.env to be `\"dev\"`, found `\"prod\"`"
    );
    let answer = ask(&rule, &json!({ "env": "dev", "count": 3 }));
    assert_eq!(
        answer.reason,
        "Expected $.count to be a number below 3, found `3`"
    );
    assert_eq!(ask(&rule, &json!("text")).action, Action::Block);
}

proptest! {
    #[test]
    fn what_is_moved_stays_where_it_is(number in -1e9..1e9_f64, low in -1e6..0.0_f64, high in 0.0..1e6_f64) {
        let rule = money(Some(range(low, high)));
        let value = json!(number);
        let moved = clamped(&rule, &value).unwrap_or(value);
        let moved_again = clamped(&rule, &moved);
        prop_assert_eq!(moved_again, None);
        let found = moved.as_f64().unwrap();
        prop_assert!(low <= found && found <= high);
        // It is judged as what it becomes.
        let before = ask(&rule, &json!(number));
        prop_assert_eq!(before.action, ask(&money(None), &moved).action);
    }

    #[test]
    fn no_path_that_goes_up_is_looked_at(path in "(\\.\\.|a|b|\\.|/){1,6}(/(\\.\\.|a)){0,3}") {
        struct Never;
        impl FileFacts for Never {
            fn look(&self, path: &str) -> FileFact {
                let bad = path.split('/').any(|part| part == "..") || path.starts_with('/');
                assert!(!bad, "{path}");
                FileFact::Absent
            }
        }
        let rule = Predicate::FileValid { permitted: Vec::new(), max_size_bytes: None };
        let answer = predicate(&rule, Some(&json!(path)), &Never);
        prop_assert_eq!(answer.action, Action::Block);
    }
}

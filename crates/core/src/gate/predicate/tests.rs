use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{FileInspector, FileStatus, NoFileAccess, clamped, judge_predicate};
use crate::gate::{GateAction, GateAnswer};
use wf_model::{GatePredicate, JsonExpectation, PredicateRange};

fn range(min: f64, max: f64) -> PredicateRange {
    PredicateRange { min: Some(min), max: Some(max) }
}

fn money(clamp: Option<PredicateRange>) -> GatePredicate {
    GatePredicate::NumericRange {
        block_outside: Some(range(0.0, 1000.0)),
        auto_approve: Some(range(0.0, 50.0)),
        require_approval: Some(range(50.0, 500.0)),
        clamp,
    }
}

fn ask(predicate: &GatePredicate, value: &Value) -> GateAnswer {
    judge_predicate(predicate, Some(value), &NoFileAccess)
}

#[test]
fn numbers_are_judged_in_the_order_of_the_ranges() {
    use GateAction::{Block, Continue, RequireApproval};
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
        (json!(50.01), RequireApproval, "50.01 is from 50 to 500, which requires approval"),
        (json!(500), RequireApproval, "500 is from 50 to 500, which requires approval"),
        (json!(700), Block, "700 is not in any permitted range"),
    ] {
        let answer = ask(&money(None), &value);
        assert_eq!((answer.action, answer.reason.as_str()), (action, reason), "{value}");
    }
}

#[test]
fn a_hard_range_goes_before_what_would_go_on() {
    let rule = GatePredicate::NumericRange {
        block_outside: Some(range(10.0, 20.0)),
        auto_approve: Some(PredicateRange::default()),
        require_approval: None,
        clamp: None,
    };
    assert_eq!(ask(&rule, &json!(9)).action, GateAction::Block);
    assert_eq!(ask(&rule, &json!(15)).action, GateAction::Continue);
}

#[test]
fn a_number_is_moved_only_where_that_is_said() {
    let rule = money(Some(range(1.0, 40.0)));
    let answer = ask(&rule, &json!(9000));
    assert_eq!(answer.action, GateAction::Continue);
    assert_eq!(answer.flags, ["clamped from 9000 to 40"]);
    assert_eq!(clamped(&rule, &json!(9000)), Some(json!(40)));
    assert_eq!(clamped(&rule, &json!("9000")), Some(json!("40")));
    for (rule, value) in [(&rule, json!(30)), (&rule, json!("x")), (&money(None), json!(9000))] {
        assert_eq!(clamped(rule, &value), None);
    }
    assert_eq!(ask(&rule, &json!("x")).action, GateAction::Block);
}

#[test]
fn texts_are_allowed_asked_for_or_blocked() {
    let rule = GatePredicate::StringMatch {
        allowed: vec!["dev".into(), "1".into(), "true".into()],
        approval: vec!["prod".into(), "dev".into()],
    };
    for (value, action) in [
        (json!("dev"), GateAction::Continue),
        (json!(1), GateAction::Continue),
        (json!(true), GateAction::Continue),
        (json!("prod"), GateAction::RequireApproval),
        (json!("Prod"), GateAction::Block),
        (json!("dev "), GateAction::Block),
        (json!(["dev"]), GateAction::Block),
        (json!(null), GateAction::Block),
    ] {
        assert_eq!(ask(&rule, &value).action, action, "{value}");
    }
    let reason = ask(&rule, &json!(format!("x\n{}", "y".repeat(200)))).reason;
    assert!(reason.ends_with("…` is not an allowed value") && reason.len() < 200, "{reason}");
}

#[test]
fn a_pattern_lets_pass_what_it_matches() {
    let rule = GatePredicate::Regex(regex::Regex::new("^[a-z]+$").unwrap());
    assert_eq!(ask(&rule, &json!("abc")), GateAnswer::pass());
    assert_eq!(ask(&rule, &json!("a1")).reason, "`a1` does not match `^[a-z]+$`");
    assert_eq!(ask(&rule, &json!({})).action, GateAction::Block);
    let long = ask(&rule, &json!("a".repeat(1024 * 1024 + 1)));
    assert_eq!(long.reason, "The text is longer than 1024 KiB and is not checked");
    // A pattern that makes other engines run for ever takes no longer than any other.
    let rule = GatePredicate::Regex(regex::Regex::new("^(a+)+$").unwrap());
    assert_eq!(ask(&rule, &json!(format!("{}!", "a".repeat(50_000)))).action, GateAction::Block);
}

#[derive(Default)]
struct Files(BTreeMap<&'static str, FileStatus>);

impl FileInspector for Files {
    fn status(&self, path: &str) -> FileStatus {
        self.0.get(path).cloned().unwrap_or(FileStatus::Absent)
    }
}

#[test]
fn files_must_be_where_they_may_and_small() {
    let file = |size, place: &str| FileStatus::File { size, place: place.into() };
    let files = Files(BTreeMap::from([
        ("in/a", file(10, "in/a")),
        ("./in/a", file(10, "in/a")),
        ("in/large", file(11, "in/large")),
        ("in/link", file(1, "secret/key")),
        ("in/out", FileStatus::Outside),
        ("in/locked", FileStatus::Unknown("permission denied".into())),
        ("inside", file(1, "inside")),
    ]));
    let rule = GatePredicate::FileValid {
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
        ("in/large", "The file has 11 bytes; at most 10 are allowed"),
        ("in/locked", "The file cannot be read: permission denied"),
    ] {
        let answer = judge_predicate(&rule, Some(&json!(path)), &files);
        assert_eq!(answer.reason, reason, "{path}");
        assert_eq!(answer.action == GateAction::Continue, reason.is_empty(), "{path}");
    }
    let anywhere = GatePredicate::FileValid { permitted: Vec::new(), max_size_bytes: None };
    assert_eq!(judge_predicate(&anywhere, Some(&json!("in/large")), &files), GateAnswer::pass());
    assert_eq!(ask(&anywhere, &json!(3)).reason, "The value is not a path");
    assert_eq!(ask(&anywhere, &json!("x")).action, GateAction::Block);
}

#[test]
fn some_things_are_always_asked_for() {
    for value in [None, Some(&json!("anything"))] {
        let answer = judge_predicate(&GatePredicate::ApprovalAlways, value, &NoFileAccess);
        assert_eq!(answer.action, GateAction::RequireApproval);
        assert_eq!(answer.reason, "Approval is always required");
    }
    let answer = judge_predicate(&money(None), None, &NoFileAccess);
    assert_eq!(answer, GateAnswer::block("No value to check"));
}

#[test]
fn values_inside_are_compared_as_checks_do() {
    let expect = |path: &str, equals: Option<Value>, lt: Option<f64>| JsonExpectation {
        path: path.into(),
        equals,
        lt,
        gt: None,
        exists: None,
        count: None,
    };
    let rule = GatePredicate::JsonPath(vec![
        expect("$.env", Some(json!("dev")), None),
        expect("$.count", None, Some(3.0)),
    ]);
    assert_eq!(ask(&rule, &json!({ "env": "dev", "count": 2 })), GateAnswer::pass());
    let answer = ask(&rule, &json!({ "env": "prod", "count": 2 }));
    assert_eq!(answer.reason, "Expected $.env to be `\"dev\"`, found `\"prod\"`");
    let answer = ask(&rule, &json!({ "env": "dev", "count": 3 }));
    assert_eq!(answer.reason, "Expected $.count to be a number below 3, found `3`");
    assert_eq!(ask(&rule, &json!("text")).action, GateAction::Block);
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
        // It is judged by its new value.
        let before = ask(&rule, &json!(number));
        prop_assert_eq!(before.action, ask(&money(None), &moved).action);
    }

    #[test]
    fn no_path_that_goes_up_is_looked_at(path in "(\\.\\.|a|b|\\.|/){1,6}(/(\\.\\.|a)){0,3}") {
        struct Never;
        impl FileInspector for Never {
            fn status(&self, path: &str) -> FileStatus {
                let bad = path.split('/').any(|part| part == "..") || path.starts_with('/');
                assert!(!bad, "{path}");
                FileStatus::Absent
            }
        }
        let rule = GatePredicate::FileValid { permitted: Vec::new(), max_size_bytes: None };
        let answer = judge_predicate(&rule, Some(&json!(path)), &Never);
        prop_assert_eq!(answer.action, GateAction::Block);
    }
}

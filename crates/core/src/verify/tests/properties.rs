//! Properties of every verdict.

use proptest::prelude::*;
use regex::Regex;
use serde_json::{Value, json};

use crate::{
    machine::{CheckRuling, REASON_LIMIT, WorkExit},
    verify::{CriterionJudgement, FilePresence, ProbeFindings, judge},
};
use wf_model::{Expectation, FailureClass, FailureClassRule, JsonExpectation, ValueSchema};

/// One possible expectation.
#[derive(Clone, Debug)]
enum ExpectationCase {
    ExitCode(i32),
    Equals(String),
    Contains(String),
    Regex(&'static str),
    Below(f64),
    Above(f64),
    Files(usize),
    NotEmpty(bool),
    Json(&'static str, Value),
    Schema(Value),
}

impl ExpectationCase {
    fn add(&self, expect: &mut Expectation) {
        match self.clone() {
            Self::ExitCode(code) => expect.exit_code = Some(code),
            Self::Equals(text) => expect.equals = Some(text),
            Self::Contains(text) => expect.contains = Some(text),
            Self::Regex(pattern) => expect.regex = Regex::new(pattern).ok(),
            Self::Below(bound) => expect.output_lt = Some(bound),
            Self::Above(bound) => expect.output_gt = Some(bound),
            Self::Files(count) => expect.file_exists = vec!["file".into(); count],
            Self::NotEmpty(wanted) => expect.not_empty = Some(wanted),
            Self::Json(path, keys) => expect.json = vec![comparison(path, &keys)],
            Self::Schema(schema) => expect.json_schema = ValueSchema::new(schema).ok(),
        }
    }

    /// True if the whole output must be known.
    fn needs_all(&self) -> bool {
        !matches!(self, Self::ExitCode(_) | Self::Files(_) | Self::Contains(_) | Self::NotEmpty(true))
    }

    /// True if a probe must be run.
    fn needs_probe(&self) -> bool {
        !matches!(self, Self::Files(count) if *count > 0)
    }
}

fn comparison(path: &str, keys: &Value) -> JsonExpectation {
    JsonExpectation {
        path: path.into(),
        equals: keys.get("equals").cloned(),
        lt: keys["lt"].as_f64(),
        gt: keys["gt"].as_f64(),
        exists: keys["exists"].as_bool(),
        count: keys["count"].as_u64().and_then(|count| count.try_into().ok()),
    }
}

/// Combines these parts into expectations, with exit code 0 if none sets it.
fn expect(parts: &[ExpectationCase]) -> Expectation {
    let mut all = Expectation::default();
    for part in parts {
        part.add(&mut all);
    }
    all
}

fn texts() -> impl Strategy<Value = String> {
    let some = ["", " \n", "7", "7\n", "a", "ab\n", "{\"n\": 3}", "[1, 2]", "null", "x\ny"];
    prop_oneof![
        4 => prop::sample::select(some.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn parts() -> impl Strategy<Value = Vec<ExpectationCase>> {
    let comparisons = vec![
        ("$.n", json!({ "equals": 3 })),
        ("$.n", json!({ "gt": 2, "lt": 4 })),
        ("$[*]", json!({ "count": 2 })),
        ("$.m", json!({ "exists": false })),
        ("no path", json!({ "exists": false })),
    ];
    let schemas = vec![json!({}), json!({ "type": "object" }), json!({ "type": "array" })];
    let part = prop_oneof![
        (0..3).prop_map(ExpectationCase::ExitCode),
        texts().prop_map(ExpectationCase::Equals),
        texts().prop_map(ExpectationCase::Contains),
        prop::sample::select(vec!["^a", "b$", "^$", "n"]).prop_map(ExpectationCase::Regex),
        (0..9_i32).prop_map(|bound| ExpectationCase::Below(bound.into())),
        (0..9_i32).prop_map(|bound| ExpectationCase::Above(bound.into())),
        (1..4_usize).prop_map(ExpectationCase::Files),
        any::<bool>().prop_map(ExpectationCase::NotEmpty),
        prop::sample::select(comparisons).prop_map(|(path, keys)| ExpectationCase::Json(path, keys)),
        prop::sample::select(schemas).prop_map(ExpectationCase::Schema),
    ];
    prop::collection::vec(part, 0..4)
}

fn exits() -> impl Strategy<Value = WorkExit> {
    prop_oneof![
        8 => (0..3).prop_map(|code| WorkExit::Code { code }),
        1 => prop::sample::select(vec![
            WorkExit::Code { code: 126 },
            WorkExit::Code { code: 127 },
            WorkExit::Signal { signal: 9 },
            WorkExit::TimedOut,
            WorkExit::Cancelled,
            WorkExit::Interrupted,
            WorkExit::Error { reason: "it could not begin".into(), failure_class: FailureClass::Logical },
        ]),
    ]
}

fn looked() -> impl Strategy<Value = Vec<FilePresence>> {
    let one = prop_oneof![
        6 => Just(FilePresence::Present),
        1 => Just(FilePresence::Absent),
        1 => Just(FilePresence::Unknown("it leads out".into())),
    ];
    prop::collection::vec(one, 0..5)
}

/// Owned findings.
#[derive(Clone, Debug)]
struct OwnedProbeFindings {
    exit: Option<WorkExit>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
    files: Vec<FilePresence>,
}

fn left() -> impl Strategy<Value = OwnedProbeFindings> {
    let bytes = || {
        prop_oneof![
            4 => texts().prop_map(String::into_bytes),
            1 => prop::collection::vec(any::<u8>(), 0..3000),
        ]
    };
    let exit = prop_oneof![9 => exits().prop_map(Some), 1 => Just(None)];
    let all = (exit, bytes(), bytes(), prop::bool::weighted(0.1), looked());
    all.prop_map(|(exit, stdout, stderr, truncated, files)| OwnedProbeFindings {
        exit,
        stdout,
        stderr,
        truncated,
        files,
    })
}

fn rule(expect: &Expectation, left: &OwnedProbeFindings, rules: &[FailureClassRule]) -> CriterionJudgement {
    let found = ProbeFindings {
        exit: left.exit.as_ref(),
        stdout: &left.stdout,
        stderr: &left.stderr,
        truncated: left.truncated,
        out_end: &left.stdout,
        err_end: &left.stderr,
        files: &left.files,
    };
    judge(expect, &found, rules)
}

fn passes(parts: &[ExpectationCase], left: &OwnedProbeFindings) -> bool {
    rule(&expect(parts), left, &[]).ruling == CheckRuling::Pass
}

proptest! {
    #[test]
    fn it_passes_exactly_if_each_expectation_does(parts in parts(), left in left()) {
        // Later parts of a kind replace earlier ones; bounds and JSON add up.
        let mut kinds = std::collections::BTreeMap::new();
        for part in parts {
            kinds.insert(format!("{:?}", std::mem::discriminant(&part)), part);
        }
        let parts: Vec<ExpectationCase> = kinds.into_values().collect();
        let code = parts.iter().find(|part| matches!(part, ExpectationCase::ExitCode(_))).cloned();
        let alone = |part: &ExpectationCase| {
            let with_code: Vec<ExpectationCase> = code.iter().chain([part]).cloned().collect();
            passes(&with_code, &left)
        };
        let each = passes(&code.iter().cloned().collect::<Vec<_>>(), &left)
            || (left.exit.is_none() && code.is_none() && !parts.is_empty());
        prop_assert_eq!(passes(&parts, &left), each && parts.iter().all(alone));
    }

    #[test]
    fn what_was_not_looked_at_is_no_pass(parts in parts(), left in left()) {
        let ruled = rule(&expect(&parts), &left, &[]);
        let unknown = |part: &ExpectationCase| match part {
            ExpectationCase::Files(count) => left.files.len() < *count,
            part => left.truncated && part.needs_all(),
        };
        let without = left.exit.is_none() && (parts.is_empty() || parts.iter().any(ExpectationCase::needs_probe));
        let last_files = parts.iter().rfind(|part| matches!(part, ExpectationCase::Files(_)));
        let others = parts.iter().filter(|part| !matches!(part, ExpectationCase::Files(_)));
        if without || others.chain(last_files).any(unknown) && !overtaken(&parts) {
            prop_assert_ne!(ruled.ruling, CheckRuling::Pass);
        }
        let ended = matches!(left.exit, None | Some(WorkExit::Code { .. }));
        if !ended {
            prop_assert_eq!(ruled.ruling, CheckRuling::Error);
        }
    }

    #[test]
    fn a_verdict_is_bounded_and_the_same_every_time(parts in parts(), left in left()) {
        let expect = expect(&parts);
        let ruled = rule(&expect, &left, &[]);
        prop_assert_eq!(&ruled, &rule(&expect, &left, &[]));
        prop_assert!(ruled.evidence.chars().count() <= REASON_LIMIT);
        for line in [&ruled.expected, &ruled.found] {
            prop_assert!(line.chars().count() <= 200 && !line.contains('\n'), "{:?}", line);
        }
        let good = ruled.ruling == CheckRuling::Pass;
        prop_assert_eq!(good, ruled.failure_class.is_none());
        prop_assert_eq!(good, ruled.expected.is_empty());
    }

    #[test]
    fn rules_change_the_class_alone(parts in parts(), left in left()) {
        let expect = expect(&parts);
        let failure_class = FailureClass::Environmental;
        let any = Regex::new("").ok();
        let rules = [FailureClassRule { exit_code: Vec::new(), signal: None, output: any, class: failure_class }];
        let (plain, ruled) = (rule(&expect, &left, &[]), rule(&expect, &left, &rules));
        if left.exit.is_some() && plain.failure_class.is_some() {
            prop_assert_eq!(ruled.failure_class, Some(failure_class));
        }
        prop_assert_eq!(CriterionJudgement { failure_class: plain.failure_class, ..ruled }, plain);
    }
}

/// True if a later part replaced an earlier one of its kind.
fn overtaken(parts: &[ExpectationCase]) -> bool {
    let kinds: Vec<_> = parts.iter().map(std::mem::discriminant).collect();
    (1..kinds.len()).any(|at| kinds[..at].contains(&kinds[at]))
}

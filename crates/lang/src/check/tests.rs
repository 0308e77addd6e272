use std::fmt::Write as _;

use super::check;
use crate::{InMemoryFiles, LoadedSpec, load};
use wf_base::diag::Code;

fn checked(text: &str) -> LoadedSpec {
    let mut files = InMemoryFiles::default();
    files.0.insert("plan.md".into(), text.as_bytes().to_vec());
    let mut loaded = load(&files, "plan.md");
    check(&mut loaded);
    loaded
}

fn codes(text: &str) -> Vec<Code> {
    let loaded = checked(text);
    loaded.diagnostics.iter().map(|(_, wrong)| wrong.code).collect()
}

fn plan(steps: impl Iterator<Item = String>) -> String {
    let mut text = String::from("---\nkind: plan\nid: large\nsteps:\n");
    for step in steps {
        let _ = writeln!(text, "  - {step}");
    }
    text + "---\n"
}

/// Checks that a large file with one mistake this many times, and no other, is checked in time.
fn check_large(code: Code, count: usize, steps: impl Iterator<Item = String>) {
    let found = codes(&plan(steps));
    assert_eq!(found.len(), count, "{code:?}");
    assert!(found.iter().all(|other| *other == code), "{code:?}: {found:?}");
}

const MANY: usize = 6_000;

#[test]
fn a_long_row_that_reads_from_far_away_is_fine() {
    let first = "{id: s0, run: x, outputs: {n: {type: integer}}}".to_owned();
    let rest = (1..MANY).map(|at| {
        let (before, far) = (at - 1, at / 2);
        let read = format!("{{{{ steps.s{far}.outputs.n }}}}");
        let keys = format!("depends_on: [s{before}], exec: [x, \"{read}\"]");
        format!("{{id: s{at}, {keys}, outputs: {{n: {{type: integer}}}}}}")
    });
    let steps = std::iter::once(first).chain(rest);
    assert_eq!(codes(&plan(steps)), []);
}

#[test]
fn many_mistakes_stay_bounded() {
    let unknown = (0..MANY).map(|at| format!("{{id: s{at}, run: x, depends_on: [nobody{at}]}}"));
    check_large(Code::UnknownStep, 1000, unknown);
    let twice = (0..MANY).map(|_| "{id: same, run: x}".to_owned());
    check_large(Code::DuplicateId, 1000, twice);
}

#[test]
fn a_large_circle_is_one_mistake() {
    let ring = (0..MANY).map(|at| {
        let next = (at + 1) % MANY;
        format!("{{id: s{at}, run: x, depends_on: [s{next}]}}")
    });
    check_large(Code::Cycle, 1, ring);
}

#[test]
fn what_other_mistakes_may_hide_is_not_said_to_be_missing() {
    let text = "---\nkind: plan\nid: hidden\nparams:\n  day: {type: strin}\n  hour: {type: string}\n\
                steps:\n  - {id: a, exec: [x, \"{{ params.day }}{{ params.dya }}\"]}\n---\n";
    let found = codes(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[1], Code::UnknownParam);
}

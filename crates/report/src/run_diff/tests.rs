use serde_json::{Value, json};

use super::{RunDiff, RunPart, RunSubject, run_diff};
use crate::{
    draw::tests::sample::plan as other_plan,
    record::{
        RunRecord,
        tests::sample::{self, plan},
    },
};
use wf_base::{time::Moment, untrusted::plain};
use wf_core::machine::{CheckRuling, Standing, StepState, WorkExit};

fn subject(record: &RunRecord) -> RunSubject<'_> {
    RunSubject { record, plan: None, texts: &[] }
}

/// The fields that differ, as `part/name/field`.
fn fields(diff: &RunDiff) -> Vec<String> {
    let entries = diff.parts.iter().flat_map(|part| part.entries.iter().map(move |entry| (part.part, entry)));
    entries
        .flat_map(|(part, entry)| {
            entry.values.iter().map(move |value| format!("{}/{}/{}", part.as_str(), entry.name, value.field))
        })
        .collect()
}

#[test]
fn a_run_differs_in_nothing_from_itself() {
    let record = sample::record();
    let plan = plan();
    let texts = [("plan.md".to_owned(), "text".to_owned())];
    let own = RunSubject { record: &record, plan: Some(&plan), texts: &texts };
    let diff = run_diff(own, own);
    assert!(diff.parts.is_empty() && diff.is_same(), "{diff:?}");
    assert!(plain(&diff.text()).ends_with("\nno difference\n"));
}

#[test]
fn each_way_in_which_runs_differ_is_found() {
    let before = sample::record();
    let mut after = before.clone();
    after.run.params.insert("day".into(), json!("tue"));
    after.run.outputs.insert("rows".into(), json!(3));
    let build = after.steps.iter_mut().find(|row| row.step.as_str() == "build").unwrap();
    build.state = StepState::Succeeded;
    build.standing = Standing::Verified;
    build.reason = String::new();
    build.failure_class = None;
    build.attempts = 3;
    build.outputs.insert("size".into(), json!(1));
    after.attempts.push(sample::attempt("build", 3, WorkExit::Code { code: 0 }));
    after.checks.push(sample::check("build", 3, CheckRuling::Pass));
    after.steps.retain(|row| row.step.as_str() != "publish");
    after.artifacts.clear();
    let diff = run_diff(subject(&before), subject(&after));
    let found = fields(&diff);
    for field in [
        "params/day/value",
        "outputs/rows/value",
        "steps/build/state",
        "steps/build/attempts",
        "steps/build/checks.is_json",
        "steps/build/outputs.size",
        "steps/publish/state",
    ] {
        assert!(found.contains(&field.to_owned()), "{field} of {found:?}");
    }
    assert!(found.contains(&"artifacts/data.json/digest".to_owned()), "{found:?}");
    assert!(!diff.is_same());
    let text = plain(&diff.text());
    assert!(text.contains("checks.is_json") && text.contains("fail → pass"), "{text}");
    assert!(text.contains("failed → succeeded"), "{text}");
}

#[test]
fn a_difference_is_the_same_from_the_other_side() {
    let before = sample::record();
    let mut after = before.clone();
    after.run.params.remove("n");
    let there = run_diff(subject(&before), subject(&after));
    let back = run_diff(subject(&after), subject(&before));
    let value = |diff: &RunDiff| diff.parts[0].entries[0].values[0].clone();
    assert_eq!((value(&there).before, value(&there).after), (Some(json!(3)), None));
    assert_eq!((value(&back).before, value(&back).after), (None, Some(json!(3))));
}

#[test]
fn only_long_changes_of_durations_are_shown_and_none_counts() {
    let before = sample::record();
    let took = |millis: i64| {
        let mut after = before.clone();
        after.run.ended = Some(Moment::from_millis(before.run.created.millis() + 3_210 + millis));
        run_diff(subject(&before), subject(&after))
    };
    assert!(took(900).parts.is_empty());
    let longer = took(2_000);
    assert_eq!(fields(&longer), ["run/run/duration_ms"]);
    assert!(longer.is_same());
    assert!(plain(&longer.text()).contains("3.2s → 5.2s"), "{}", longer.text());
}

#[test]
fn steps_that_mean_something_else_are_named() {
    let record = sample::record();
    let (old, new) = (plan(), other_plan());
    let texts = ["one", "two"].map(|text| [("plan.md".to_owned(), text.to_owned())]);
    let side = |plan, texts| RunSubject { record: &record, plan: Some(plan), texts };
    let diff = run_diff(side(&old, &texts[0]), side(&new, &texts[1]));
    assert_eq!(diff.parts.len(), 1);
    assert_eq!(diff.parts[0].part, RunPart::Plan);
    let found = fields(&diff);
    for field in ["plan/plan.md/digest", "plan/step all/definition", "plan/step build/definition"] {
        assert!(found.contains(&field.to_owned()), "{field} of {found:?}");
    }
    let same = run_diff(side(&old, &texts[0]), side(&old, &texts[1]));
    assert_eq!(fields(&same), ["plan/plan.md/digest"]);
}

#[test]
fn a_document_has_what_the_text_has() {
    let before = sample::record();
    let mut after = before.clone();
    after.run.params.insert("day".into(), json!("\u{1b}[2J"));
    let diff = run_diff(subject(&before), subject(&after));
    assert!(!diff.text().contains("\u{1b}[2J"), "{}", diff.text());
    let document = diff.document();
    assert_eq!(document["same"], Value::Bool(false));
    assert_eq!(document["parts"][0]["entries"][0]["values"][0]["after"], "\u{1b}[2J");
}

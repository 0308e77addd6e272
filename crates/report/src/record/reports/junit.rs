use std::fmt::Write as _;

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};

use crate::record::record::{NestedRunRecord, RunRecord, row_display_name, step_duration, task_of_row};
use wf_base::{name::RunId, untrusted::untrusted};
use wf_core::machine::{Attempt, RunOutcome, StepState, TaskId};
use wf_model::FailureClass;
use wf_store::{AttemptRow, CheckRow, RunState, StepRow};

/// The last output of an attempt of a run.
pub type OutputLookup<'p> = &'p dyn Fn(&RunId, &Attempt) -> String;

/// A run as a JUnit report, valid by the schema of Jenkins: one suite for each plan, one case for
/// each task that does work of its own. A failure carries the last output.
pub fn junit(record: &RunRecord, printed: OutputLookup<'_>) -> String {
    let mut report = Report::new(record.run.plan.clone());
    report.set_time(record.run.duration().unwrap_or(Duration::ZERO));
    suites(record, &record.run.plan, printed, &mut report);
    // A gate, a limit or a budget can fail a run in which no case failed.
    let ended_badly = matches!(record.run.state, RunState::Ended(RunOutcome::Failed | RunOutcome::Abandoned));
    if ended_badly && report.failures + report.errors == 0 {
        let mut suite = TestSuite::new(format!("{}/run", record.run.plan));
        let mut case = TestCase::new("run", failure(&record.run.reason, ""));
        case.set_classname(record.run.plan.clone());
        suite.add_test_case(case);
        report.add_test_suite(suite);
    }
    let skipped = format!(r#" skipped="{}""#, report.skipped);
    let text = untrusted(&report.to_string().unwrap_or_default()).block();
    // The schema has it for suites, not for the whole.
    text.replacen(&skipped, "", 1)
}

fn suites(record: &RunRecord, name: &str, printed: OutputLookup<'_>, report: &mut Report) {
    let mut suite = TestSuite::new(name.to_owned());
    suite.set_time(record.run.duration().unwrap_or(Duration::ZERO));
    if let Some(met) = record.run.accepted {
        suite.add_property(("accepted", met.to_string().as_str()));
    }
    for round in &record.decisions.rounds {
        let text =
            untrusted(&format!("{}: {}", round.solved.directive.as_str(), round.rationale)).to_string();
        let name = format!("round {}", round.round);
        suite.add_property((name.as_str(), text.as_str()));
    }
    for row in record.steps.iter().filter(|row| is_case(record, row)) {
        for (key, value) in notes(record, row) {
            let name = format!("{}.{key}", row_display_name(row));
            let value = untrusted(&value).to_string();
            suite.add_property((name.as_str(), value.as_str()));
        }
        let mut case = case(record, row, name);
        if let Some(last) = last_attempt(record, row) {
            show(&mut case, &printed(&record.run.id, &last));
        }
        suite.add_test_case(case);
    }
    for check in record.own_rulings() {
        suite.add_test_case(criterion(check, name));
    }
    report.add_test_suite(suite);
    for nested in &record.nested {
        let place = above(nested);
        if last_nested(record, place).is_some_and(|last| last.run.id == nested.record.run.id) {
            let place = place.parse::<TaskId>();
            let place = place.map_or_else(|_| above(nested).to_owned(), |at| record.task_display_name(&at));
            suites(&nested.record, &format!("{name}/{place}"), printed, report);
        }
    }
}

/// The task a run is nested in, with its item by its number.
fn above(nested: &NestedRunRecord) -> &str {
    nested.attempt.split('#').next().unwrap_or("")
}

/// The run nested in the last attempt of a task: those before it are ordinary attempts.
fn last_nested<'r>(record: &'r RunRecord, place: &str) -> Option<&'r RunRecord> {
    let mut own = record.nested.iter().rev();
    let last = own.find(|nested| above(nested) == place)?;
    Some(&last.record)
}

/// True if a task is a case: a repeated step is represented by its items, and the tasks of a nested
/// run are not repeated.
fn is_case(record: &RunRecord, row: &StepRow) -> bool {
    let mut others = record.steps.iter();
    let repeated = others.any(|other| other.step == row.step && other.item.is_some());
    if row.item.is_none() && repeated {
        return false;
    }
    let place = task_of_row(row);
    let is_told = match last_nested(record, &place.to_string()) {
        Some(nested) if row.state == StepState::Failed => has_failed(nested),
        Some(nested) => row.attempts <= 1 && !nested.steps.is_empty(),
        None => false,
    };
    !is_told || !record.rulings(&place).is_empty()
}

/// True if a case of a run, or of one nested in it, is a failure.
fn has_failed(record: &RunRecord) -> bool {
    let failed = |row: &StepRow| row.state == StepState::Failed && !row.allowed_to_fail;
    let own = record.steps.iter().any(failed);
    own || record.own_rulings().any(|check| !check.verdict.passed())
}

/// Further facts about a task: the schema has no properties of cases.
fn notes(record: &RunRecord, row: &StepRow) -> Vec<(&'static str, String)> {
    let mut notes = vec![("standing", row.standing.as_str().to_owned())];
    let gap = record.gap(&task_of_row(row));
    notes.extend(gap.map(|gap| ("gap", gap.trim_start_matches("failing checks ").to_owned())));
    notes.extend(row.stale.clone().map(|path| ("stale", path)));
    notes
}

fn case(record: &RunRecord, row: &StepRow, suite: &str) -> TestCase {
    let mut status = match row.state {
        StepState::Failed => {
            let text = story_of(record, row, None);
            if row.allowed_to_fail {
                let mut skipped = TestCaseStatus::skipped();
                skipped.set_type("allowed_to_fail");
                skipped.set_message(format!("failure ignored: {}", untrusted(&row.reason)));
                skipped.set_description(text);
                skipped
            } else {
                failure(&row.reason, &text)
            }
        }
        StepState::Succeeded => TestCaseStatus::success(),
        _ => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message(row.reason.clone());
            skipped
        }
    };
    let skipped = matches!(status, TestCaseStatus::Skipped { .. });
    status.add_reruns(reruns(record, row).filter(|_| !skipped));
    let mut case = TestCase::new(row_display_name(row), status);
    case.set_classname(suite.to_owned());
    case.set_time(step_duration(row).unwrap_or(Duration::ZERO));
    case
}

/// The attempts before the last one: for an eventual success, they make it flaky.
fn reruns<'r>(record: &'r RunRecord, row: &'r StepRow) -> impl Iterator<Item = TestRerun> + 'r {
    let last = row.attempts;
    let own = move |attempt: &&AttemptRow| attempt.step == row.step && attempt.item == row.item;
    let own = record.attempts.iter().filter(own);
    own.filter(move |attempt| attempt.attempt < last).map(move |attempt| {
        let number = attempt.attempt;
        let how = attempt.exit.as_ref().map(ToString::to_string);
        let how = how.unwrap_or_else(|| "no exit recorded".to_owned());
        let mut rerun = TestRerun::new(NonSuccessKind::Failure);
        rerun.set_type(class_name(attempt.failure_class));
        rerun.set_message(format!("attempt {number}: {how}"));
        rerun.set_description(story_of(record, row, Some(number)));
        rerun
    })
}

/// The class of a failure; a check that failed verification is a logical one.
fn class_name(failure_class: Option<FailureClass>) -> &'static str {
    match failure_class {
        None | Some(FailureClass::Logical) => "logical",
        Some(FailureClass::Environmental) => "environmental",
        Some(FailureClass::Engine) => "engine",
        Some(FailureClass::Interrupted) => "interrupted",
    }
}

/// The reason for the failure of a task, or of an attempt of it, and its failed checks.
fn story_of(record: &RunRecord, row: &StepRow, attempt: Option<u32>) -> String {
    let place = task_of_row(row);
    let rulings: Vec<&CheckRow> = if attempt.is_none() {
        record.rulings(&place)
    } else {
        let own = |check: &&CheckRow| {
            check.step.as_ref() == Some(&place.step) && (check.item, check.attempt) == (place.item, attempt)
        };
        record.checks.iter().filter(own).collect()
    };
    let mut text = row.reason.clone();
    if attempt.is_some() {
        text.clear();
    }
    for check in rulings.iter().filter(|check| !check.verdict.passed()) {
        let _ = write!(text, "\n{}", story(check));
    }
    untrusted(&text).block()
}

/// The last attempt of a failed task.
fn last_attempt(record: &RunRecord, row: &StepRow) -> Option<Attempt> {
    let task_id = task_of_row(row);
    let own = record.attempts.iter();
    let own = own.filter(|attempt| attempt.step == task_id.step && attempt.item == task_id.item);
    let attempt = own.map(|attempt| attempt.attempt).max()?;
    (row.state == StepState::Failed).then_some(Attempt { task_id, attempt })
}

/// Adds the output to a failure: not all readers show the output of a case.
fn show(case: &mut TestCase, printed: &str) {
    if printed.is_empty() {
        return;
    }
    case.set_system_out(printed);
    if let TestCaseStatus::NonSuccess { description, .. } = &mut case.status {
        let description_text = description.take().map_or(String::new(), |xml| xml.to_string());
        case.status.set_description(format!("{description_text}\n\nlast output:\n{printed}"));
    }
}

fn criterion(check: &CheckRow, suite: &str) -> TestCase {
    let status = if check.verdict.passed() {
        TestCaseStatus::success()
    } else {
        failure(&format!("check `{}` failed", check.verdict.name), &story(check))
    };
    let phase = check.verdict.phase.as_str();
    let mut case = TestCase::new(format!("{phase} {}", check.verdict.name), status);
    case.set_classname(suite.to_owned());
    case.set_time(Duration::from_millis(check.verdict.duration_ms));
    case
}

fn failure(message: &str, text: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(untrusted(message).to_string());
    status.set_description(untrusted(text).block());
    status
}

fn story(check: &CheckRow) -> String {
    let verdict = &check.verdict;
    let (name, mismatch) = (&verdict.name, verdict.mismatch());
    format!("{name}: {mismatch}\n{}", verdict.evidence)
}

#[cfg(test)]
mod tests {
    use super::{RunOutcome, RunState, junit};
    use crate::record::{record::NestedRunRecord, tests::sample};
    use wf_core::machine::StepState;
    use wf_store::StepRow;

    #[test]
    fn every_step_is_a_case() {
        let printed = |_: &_, attempt: &wf_core::machine::Attempt| format!("{attempt}: no comma");
        let text = junit(&sample::record(), &printed);
        for part in [
            r#"<testsuites name="nightly-report" tests="3" failures="1" errors="0" time="3.210">"#,
            r#"<property name="build.standing" value="refuted"/>"#,
            r#"<testcase name="fetch" classname="nightly-report" time="1.250"/>"#,
            r#"<failure message="check `is_json` failed">"#,
            "is_json: expected exit code 0, found exit code 1\nline 3: no comma",
            "no comma\n\nlast output:\nbuild#2: no comma</failure>",
            r#"<rerunFailure message="attempt 1: exit code 2" type="logical">"#,
            "<system-out>build#2: no comma</system-out>",
            r#"<skipped message="`build` failed"/>"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn what_succeeds_at_last_is_flaky_and_what_may_fail_is_no_failure() {
        let mut record = sample::record();
        record.steps[1].state = StepState::Succeeded;
        record.steps[0].state = StepState::Failed;
        record.steps[0].allowed_to_fail = true;
        record.steps[0].reason = "exit code 7".into();
        record.run.state = RunState::Ended(RunOutcome::Succeeded);
        let text = junit(&record, &|_, _| String::new());
        for part in [
            r#"tests="3" failures="0" errors="0""#,
            r#"<flakyFailure message="attempt 1: exit code 2" type="logical">"#,
            r#"<skipped message="failure ignored: exit code 7" type="allowed_to_fail">exit code 7"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_run_that_failed_without_a_case_is_one() {
        let mut record = sample::record();
        record.steps[1].state = StepState::Succeeded;
        record.run.reason = "gate `g`: no".into();
        let text = junit(&record, &|_, _| String::new());
        assert!(text.contains(r#"failures="1""#) && text.contains("gate `g`: no"), "{text}");
    }

    #[test]
    fn a_repeated_step_is_its_items() {
        let mut record = sample::record();
        let parent = record.steps[1].clone();
        let keys = ["linux,3.9", "linux,3.12"];
        let items = (0..2_u32).zip(keys).map(|(item, key)| StepRow {
            item: Some(item),
            item_key: Some(key.into()),
            ..parent.clone()
        });
        record.steps.extend(items.collect::<Vec<_>>());
        let text = junit(&record, &|_, _| String::new());
        assert!(!text.contains(r#"<testcase name="build""#), "{text}");
        for part in [r#"tests="4" failures="2""#, r#"<testcase name="build[linux,3.12]""#] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_failure_inside_is_counted_once_and_an_attempt_that_failed_not_at_all() {
        let mut record = sample::record();
        let inner = |attempt: &str, id: &str| {
            let mut inner = sample::record();
            inner.run.id = wf_base::name::RunId::from_stored(id);
            NestedRunRecord { attempt: attempt.into(), record: inner }
        };
        record.nested = vec![inner("build#1", "11"), inner("build#2", "22")];
        record.checks.clear();
        let text = junit(&record, &|_, _| String::new());
        assert!(text.contains(r#"tests="5" failures="1""#), "{text}");
        assert_eq!(text.matches(r#"<testsuite name="nightly-report/build""#).count(), 1);
    }
}

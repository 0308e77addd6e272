use std::fmt::Write as _;

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::Record;
use super::record::{place, took};
use crate::machine::{Attempt, StepState};
use crate::name::RunId;
use crate::store::{CheckRow, StepRow};

/// What an attempt of a run printed last.
pub type Printed<'p> = &'p dyn Fn(&RunId, &Attempt) -> String;

/// A run as a JUnit report: a suite a plan, a case a step. A failure carries what was printed
/// last.
pub fn junit(record: &Record, printed: Printed<'_>) -> String {
    let mut report = Report::new(record.run.plan.clone());
    let took = record
        .run
        .ended
        .map(|ended| ended.since(record.run.created));
    report.set_time(took.unwrap_or(Duration::ZERO));
    suites(record, &record.run.plan, printed, &mut report);
    report.to_string().unwrap_or_default()
}

fn suites(record: &Record, name: &str, printed: Printed<'_>, report: &mut Report) {
    let mut suite = TestSuite::new(name.to_owned());
    if let Some(met) = record.run.accepted {
        suite.add_property(("accepted", met.to_string().as_str()));
    }
    for round in &record.held.rounds {
        let told = format!("{}: {}", round.solved.directive.as_str(), round.rationale);
        let name = format!("round {}", round.number);
        suite.add_property((name.as_str(), told.as_str()));
    }
    for row in &record.steps {
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
        let place = nested.attempt.split('#').next().unwrap_or("");
        suites(&nested.record, &format!("{name}/{place}"), printed, report);
    }
}

fn case(record: &Record, row: &StepRow, suite: &str) -> TestCase {
    let place = place(row);
    let status = match row.state {
        StepState::Failed if !row.tolerated => {
            let mut text = row.why.clone();
            for check in record
                .rulings(&place)
                .iter()
                .filter(|c| !c.verdict.passed())
            {
                let _ = write!(text, "\n{}", story(check));
            }
            failure(&row.why, &text)
        }
        StepState::Succeeded | StepState::Failed => TestCaseStatus::success(),
        _ => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message(row.why.clone());
            skipped
        }
    };
    let mut case = TestCase::new(place.to_string(), status);
    case.set_classname(suite.to_owned());
    case.set_time(took(row).unwrap_or(Duration::ZERO));
    case.add_property(("standing", row.standing.as_str()));
    if let Some(gap) = record.gap(&place) {
        case.add_property(("gap", gap.trim_start_matches("gap ")));
    }
    if let Some(path) = &row.stale {
        case.add_property(("stale", path.as_str()));
    }
    case
}

/// The last attempt of what failed.
fn last_attempt(record: &Record, row: &StepRow) -> Option<Attempt> {
    let place = place(row);
    let own = record.attempts.iter();
    let own = own.filter(|attempt| attempt.step == place.step && attempt.item == place.item);
    let attempt = own.map(|attempt| attempt.attempt).max()?;
    (row.state == StepState::Failed).then_some(Attempt { place, attempt })
}

/// Adds what was printed to a failure: not all readers show the output of a case.
fn show(case: &mut TestCase, printed: &str) {
    if printed.is_empty() {
        return;
    }
    case.set_system_out(printed);
    if let TestCaseStatus::NonSuccess { description, .. } = &mut case.status {
        let told = description
            .take()
            .map_or(String::new(), |told| told.to_string());
        case.status
            .set_description(format!("{told}\n\nprinted last:\n{printed}"));
    }
}

fn criterion(check: &CheckRow, suite: &str) -> TestCase {
    let status = if check.verdict.passed() {
        TestCaseStatus::success()
    } else {
        failure(
            &format!("check `{}` failed", check.verdict.name),
            &story(check),
        )
    };
    let phase = check.verdict.phase.as_str();
    let mut case = TestCase::new(format!("{phase} {}", check.verdict.name), status);
    case.set_classname(suite.to_owned());
    case.set_time(Duration::from_millis(check.verdict.millis));
    case
}

fn failure(message: &str, text: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(message.to_owned());
    status.set_description(text.to_owned());
    status
}

fn story(check: &CheckRow) -> String {
    let verdict = &check.verdict;
    let (name, expected, found) = (&verdict.name, &verdict.expected, &verdict.found);
    format!(
        "{name}: expected {expected}, found {found}\n{}",
        verdict.evidence
    )
}

#[cfg(test)]
mod tests {
    use super::junit;
    use crate::report::record::sample;

    #[test]
    fn every_step_is_a_case() {
        let printed = |_: &_, attempt: &crate::machine::Attempt| format!("{attempt}: no comma");
        let text = junit(&sample::record(), &printed);
        for part in [
            r#"<testsuites name="nightly-report" tests="3" skipped="1" failures="1" errors="0" time="3.210">"#,
            r#"<testcase name="fetch" classname="nightly-report" time="1.250">"#,
            r#"<failure message="check `is_json` failed">"#,
            "is_json: expected exit code 0, found exit code 1\nline 3: no comma",
            "no comma\n\nprinted last:\nbuild#2: no comma</failure>",
            "<system-out>build#2: no comma</system-out>",
            r#"<skipped message="`build` failed"/>"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

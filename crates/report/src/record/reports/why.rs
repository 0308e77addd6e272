mod cached;
mod run;

use std::fmt::Write as _;

use super::taint::untrusted_values;
use crate::{
    certainty_counts,
    lines::verdict_remarks,
    record::{
        error_line,
        record::{RunRecord, task_of_row},
    },
    rounds::change_text,
    state_style, state_word,
};
use cached::cache_explanation;
use wf_base::{
    units::first_line,
    untrusted::{BOLD, DIM, paint, plain, styled_line, untrusted},
};
use wf_core::machine::{
    BUDGET_SPENT_PREFIX, IsolationKind, NOT_CHOSEN, NOT_ESCALATED, NOT_STARTED, Standing, StepState, TaskId,
    WorkExit,
};
use wf_model::{CheckCertainty, FailureClass, Plan, Step};
use wf_store::{AttemptRow, CheckRow, StepRow};

pub use cached::CacheExplanation;
pub use run::{deciding_tasks, explain_run};

/// The parts of a step's explanation.
#[derive(Clone, Copy, Debug)]
pub struct StepExplanation<'a> {
    pub record: &'a RunRecord,
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The step or item.
    pub task_id: &'a TaskId,
    /// The lookups in the cache.
    pub cache: Option<&'a CacheExplanation>,
    /// The reason why it ran again, if the run retries another.
    pub rerun_reason: Option<&'a str>,
}

/// Explains why a step ran or did not, why it ended so, and by which rule.
pub fn explain_step(explanation: &StepExplanation<'_>) -> String {
    let row = explanation.record.steps.iter().find(|row| task_of_row(row) == *explanation.task_id);
    let mut text = head(&explanation.record.task_display_name(explanation.task_id), row);
    for reason in reasons(explanation, row) {
        let _ = writeln!(text, "  {} {}", paint(DIM, "·"), styled_line(&reason));
    }
    text
}

/// Returns the same as a document.
pub fn explain_step_json(explanation: &StepExplanation<'_>) -> serde_json::Value {
    let row = explanation.record.steps.iter().find(|row| task_of_row(row) == *explanation.task_id);
    let reasons: Vec<String> = reasons(explanation, row).iter().map(|reason| plain(reason)).collect();
    serde_json::json!({
        "v": 1,
        "run": explanation.record.run.id,
        "step": explanation.record.task_display_name(explanation.task_id),
        "state": row.map(|row| row.state),
        "reasons": reasons,
    })
}

fn reasons(explanation: &StepExplanation<'_>, row: Option<&StepRow>) -> Vec<String> {
    let step = explanation.plan.find(explanation.task_id.step.as_str()).map(|ix| explanation.plan.step(ix));
    let mut reasons = Vec::new();
    match row {
        None => reasons.push("it never started: the run ended before it, or has not reached it yet".into()),
        Some(row) => {
            reasons.extend(start_explanation(explanation, row, step));
            reasons.extend(
                explanation.cache.map(|story| cache_explanation(explanation, row, story)).unwrap_or_default(),
            );
            reasons.extend(explanation.record.decisions.reasons(explanation.task_id));
            reasons.extend(attempts(explanation, row, step));
            reasons.extend(
                explanation.record.gap(explanation.task_id).map(|gap| format!("{gap} of its criteria")),
            );
            reasons.extend(used_alternative(explanation, row));
            reasons.extend(remarks_of_checks(explanation));
            reasons.extend(isolation_of_checks(explanation));
            reasons.extend(untrusted_values(explanation.plan, explanation.task_id.step.as_str()));
            reasons.extend(end(explanation.record, row));
        }
    }
    reasons
}

fn head(place: &str, row: Option<&StepRow>) -> String {
    let name = paint(BOLD, place);
    let Some(row) = row else {
        return format!("{name} · not started\n");
    };
    let state = paint(state_style(row.state), state_word(row.state, row.standing));
    match first_line(&row.reason) {
        "" => format!("{name} · {state}\n"),
        reason => format!("{name} · {state} · {}\n", untrusted(reason)),
    }
}

/// Explains why it started, or did not.
fn start_explanation(explanation: &StepExplanation<'_>, row: &StepRow, step: Option<&Step>) -> Vec<String> {
    if let Some(from) = &row.reused_from {
        let short = from.short();
        return vec![format!(
            "it did not run: its result was reused from run {short}, since a retry repeats only \
             what did not succeed"
        )];
    }
    let again = explanation.rerun_reason.filter(|_| row.state != StepState::Skipped);
    let mut reasons: Vec<String> =
        again.map(|reason| rerun_explanation(explanation, reason)).into_iter().collect();
    reasons.extend(step.map(|step| needs(explanation, step)).unwrap_or_default());
    if row.state == StepState::Skipped {
        reasons.push(skip_rule(row, step));
    }
    reasons
}

/// Explains why it ran although the run this one retries had run it, or was to run it.
fn rerun_explanation(explanation: &StepExplanation<'_>, reason: &str) -> String {
    match &explanation.record.run.retry_of {
        Some(earlier) => format!("re-run after run {}: {reason}", earlier.short()),
        None => format!("re-run: {reason}"),
    }
}

fn needs(explanation: &StepExplanation<'_>, step: &Step) -> Vec<String> {
    let mut reasons = Vec::new();
    for ix in &step.depends_on {
        let id = &explanation.plan.step(*ix).id;
        let own = |row: &&StepRow| row.step == *id && row.item.is_none();
        let state = match explanation.record.steps.iter().find(own) {
            Some(row) => state_word(row.state, row.standing),
            None => "not finished",
        };
        reasons.push(format!("depends on `{id}` ({state})"));
    }
    if let Some(on) = explanation.record.stale_dependency(&step.id) {
        reasons.push(format!("depends on `{on}`, whose evidence is stale"));
    }
    if step.depends_on.is_empty() {
        let finally =
            explanation.plan.find(step.id.as_str()).is_some_and(|ix| explanation.plan.is_finally(ix));
        reasons.push(if step.on_escalation {
            "it runs at the end, if a gate escalated to it".into()
        } else if finally {
            "it is a `finally` step: it always runs".into()
        } else {
            "no dependencies".into()
        });
    }
    if let Some(when) = &step.when {
        reasons.push(format!("it runs when `{}`", when.source()));
    }
    reasons
}

fn skip_rule(row: &StepRow, step: Option<&Step>) -> String {
    let asks = step.and_then(|step| step.when.as_deref()).is_some_and(wf_model::expr::Expr::asks_status);
    if row.reason.contains(BUDGET_SPENT_PREFIX) {
        "rule: once a budget limit, less its reserve, is reached, no new steps start".into()
    } else if row.reason == NOT_CHOSEN {
        "`wf retry --only` runs only the selected steps, and it had no result to reuse".into()
    } else if row.reason == NOT_ESCALATED {
        "rule: the plan of an escalation runs once a gate has blocked and escalated to it".into()
    } else if row.reason.starts_with(NOT_STARTED) {
        "rule: once a step has failed, no new steps start, unless `on_failure` is `continue` or \
         the step's `when` tests the status of steps"
            .into()
    } else if asks {
        "its `when` tests the status of steps, so it alone decides; it was false".into()
    } else {
        "rule: a step is skipped if its `when` is false, or if one of its dependencies \
         failed, was skipped or was cancelled"
            .into()
    }
}

fn attempts(explanation: &StepExplanation<'_>, row: &StepRow, step: Option<&Step>) -> Vec<String> {
    let own = |attempt: &&AttemptRow| attempt.step == row.step && attempt.item == row.item;
    let attempts: Vec<&AttemptRow> = explanation.record.attempts.iter().filter(own).collect();
    let mut reasons = Vec::new();
    for (at, attempt) in attempts.iter().enumerate() {
        let round = explanation.record.decisions.round_of(attempt);
        let next = attempts.get(at + 1).map(|next| explanation.record.decisions.round_of(next));
        reasons.push(attempt_text(explanation, row, attempt));
        let last = next.is_none();
        let failure_class = attempt.failure_class.or(if last {
            row.failure_class
        } else {
            // Some attempts were not the last because their step began anew, though they passed.
            let failed = next == Some(round) || !failed_checks(explanation, row, attempt.attempt).is_empty();
            failed.then_some(FailureClass::Logical)
        });
        if let Some(looped) = explanation.record.loop_reason(row, attempt.attempt) {
            reasons.push(looped);
        } else if let (Some(failure_class), Some(step)) = (failure_class, step) {
            let step = explanation.record.decisions.executed_step(step, round);
            let retries = retry_count(explanation, attempt);
            let over = last && row.state.is_final() || next.is_some_and(|next| next != round);
            reasons.extend(
                retry_explanation(retries, failure_class, step, over)
                    .or_else(|| budget_explanation(explanation, over)),
            );
        }
        if let Some(next) = next.filter(|next| *next != round) {
            reasons.extend(redo_explanation(explanation, attempt, round, next));
        }
    }
    reasons
}

/// Returns the alternative that was used, if it was not done as written.
fn used_alternative(explanation: &StepExplanation<'_>, row: &StepRow) -> Option<String> {
    let done = matches!(row.state, StepState::Succeeded | StepState::Failed);
    let way = explanation.record.decisions.last_alternative(explanation.task_id).filter(|_| done)?;
    Some(format!("it ran {way}"))
}

/// Returns the number of attempts of a task before the round an attempt was made in:
/// `retry` counts anew in each.
fn attempts_before_round(record: &RunRecord, attempt: &AttemptRow) -> u32 {
    let round = record.decisions.round_of(attempt);
    let same = |row: &&AttemptRow| row.step == attempt.step && row.item == attempt.item;
    let own = record.attempts.iter().filter(same);
    let before = own.filter(|earlier_row| record.decisions.round_of(earlier_row) < round);
    before.map(|attempt_row| attempt_row.attempt).max().unwrap_or_default()
}

/// Returns the number of attempts `retry` counted up to this one: its round's, without loops.
fn retry_count(explanation: &StepExplanation<'_>, attempt: &AttemptRow) -> u32 {
    let before = attempts_before_round(explanation.record, attempt);
    let loops = |until| explanation.record.loop_count_until(explanation.task_id, until);
    let looped = loops(attempt.attempt).saturating_sub(loops(before));
    let own = attempt.attempt.saturating_sub(before);
    own.saturating_sub(looped)
}

/// Explains why an attempt of a later round followed.
fn redo_explanation(
    explanation: &StepExplanation<'_>,
    attempt: &AttemptRow,
    from: usize,
    to: usize,
) -> Vec<String> {
    let closed = explanation.record.decisions.rounds.iter().take(to.saturating_sub(1));
    let closed = closed.skip(from.saturating_sub(1));
    let step = &attempt.step;
    let again = closed.filter(|round| round.reopened.contains(step));
    let reasons = again.map(|round| {
        let changed = round.changes.iter().find(|alternative_switch| alternative_switch.step == *step);
        let number = round.round;
        match changed {
            Some(switch) => format!("round {number} switched to an alternative: {}", change_text(switch)),
            None => format!("round {number} re-ran it, with its failures as feedback"),
        }
    });
    reasons.collect()
}

/// Returns the exit of an attempt, and the verdicts of its checks.
fn attempt_text(explanation: &StepExplanation<'_>, row: &StepRow, attempt: &AttemptRow) -> String {
    let n = attempt.attempt;
    let Some(exit) = &attempt.exit else {
        return format!("attempt {n} has not finished");
    };
    let broken = failed_checks(explanation, row, n);
    let text = match exit {
        WorkExit::Code { code: 0 } => "exited 0".to_owned(),
        WorkExit::Completed => "completed".to_owned(),
        other => format!("failed: {other}"),
    };
    if broken.is_empty() {
        format!("attempt {n} {text}")
    } else {
        format!("attempt {n} {text}, but its checks failed: {}", broken.join("; "))
    }
}

/// Returns the failed checks of an attempt; the cache's result is attempt 0.
fn failed_checks(explanation: &StepExplanation<'_>, row: &StepRow, attempt: u32) -> Vec<String> {
    let own = |check: &&CheckRow| {
        check.step.as_ref() == Some(&row.step) && (check.item, check.attempt) == (row.item, Some(attempt))
    };
    let checks = explanation.record.checks.iter().filter(own);
    checks
        .filter(|check| !check.verdict.passed())
        .map(|check| {
            let (name, verdict) = (&check.verdict.name, &check.verdict);
            let mut text = format!("`{name}` {}", verdict.mismatch());
            if let Some(line) = error_line(&verdict.evidence).filter(|line| !text.contains(line.as_str())) {
                let _ = write!(text, " · it printed: {}", untrusted(&line));
            }
            if verdict.certainty == CheckCertainty::Plausible {
                text.push_str(" (plausible)");
            }
            text
        })
        .collect()
}

/// Explains why a failed attempt was followed by another, or not.
fn retry_explanation(retries: u32, failure_class: FailureClass, step: &Step, last: bool) -> Option<String> {
    let (n, max) = (retries, step.retry.max);
    let word = class_word(failure_class);
    if !last && n <= max {
        return Some(format!("failure class: {word}; retried ({n} of {max} retries)"));
    }
    if !last {
        // `retry` counts no attempt of these kinds.
        let reason = if failure_class == FailureClass::Interrupted && step.idempotent {
            "the step is `idempotent`"
        } else {
            "it got guidance"
        };
        return Some(format!("failure class: {word}; retried: {reason}"));
    }
    if max == 0 {
        return Some(format!("failure class: {word}; not retried: the step has no `retry`"));
    }
    if !step.retry.covers(failure_class) {
        return Some(format!("failure class: {word}; not retried: `retry.on` does not include it"));
    }
    (n > max).then(|| format!("failure class: {word}; all {max} retries were used"))
}

/// Explains why the budget allowed no attempt `retry` would have allowed.
fn budget_explanation(explanation: &StepExplanation<'_>, over: bool) -> Option<String> {
    let spent = explanation.record.ledger.as_ref()?.spent?;
    let failed = explanation.record.steps.iter();
    let mut failed = failed.filter(|row| row.state == StepState::Failed);
    let failed = failed.any(|row| task_of_row(row) == *explanation.task_id);
    (over && failed).then(|| format!("not retried: {BUDGET_SPENT_PREFIX}: {spent}"))
}

fn class_word(failure_class: FailureClass) -> &'static str {
    match failure_class {
        FailureClass::Logical => "logical (it ran, but the result was wrong)",
        FailureClass::Environmental => "environmental (infrastructure, not the code)",
        FailureClass::Engine => "engine (a model, a judge or the budget, not the work)",
        FailureClass::Interrupted => "interrupted (its exit was not observed)",
    }
}

/// Returns what stands beside the verdicts of its last checks, each remark once.
fn remarks_of_checks(explanation: &StepExplanation<'_>) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for check in explanation.record.rulings(explanation.task_id) {
        for remark in verdict_remarks(&check.verdict) {
            let text = format!("its checks: {remark}");
            if !remarks.contains(&text) {
                remarks.push(text);
            }
        }
    }
    remarks
}

/// Returns the guards of the processes of its last checks; nothing if none was run.
fn isolation_of_checks(explanation: &StepExplanation<'_>) -> Option<String> {
    let rulings = explanation.record.rulings(explanation.task_id);
    let isolation: Vec<&Vec<IsolationKind>> =
        rulings.iter().filter_map(|check| check.verdict.isolation.as_ref()).collect();
    // Only the guards common to all of them are reported.
    let (first, others) = isolation.split_first()?;
    let common = first.iter();
    let common = common.filter(|guard| others.iter().all(|isolation| isolation.contains(guard)));
    let common: Vec<&str> = common.map(|guard| guard.as_str()).collect();
    Some(match common.as_slice() {
        [] => "its checks ran without a sandbox".to_owned(),
        words => format!("its checks ran in a sandbox: {}", words.join(" ")),
    })
}

fn end(record: &RunRecord, row: &StepRow) -> Option<String> {
    if let Some(path) = &row.stale {
        return Some(format!(
            "it is reported, not verified: its evidence is stale, {path} changed after it was \
             checked"
        ));
    }
    match row.state {
        StepState::Succeeded if state_word(row.state, row.standing) == "reported" => {
            if !row.reason.is_empty() && row.reused_from.is_none() {
                return Some(format!("it is reported, not verified: it was {}", first_line(&row.reason)));
            }
            Some(match record.ignored_findings(&task_of_row(row)).as_slice() {
                [] => "it is reported, not verified: it has no checks".into(),
                all => format!("it is reported, not verified: {}", all.join(", ")),
            })
        }
        StepState::Succeeded if row.standing == Standing::Plausible => {
            let rulings = record.rulings(&task_of_row(row));
            let counts = certainty_counts(rulings.iter().map(|check| &check.verdict));
            let counts = counts.map(|counts| format!(": {counts}")).unwrap_or_default();
            Some(format!("it is plausible, not verified: the weakest check decides{counts}"))
        }
        StepState::Failed if row.allowed_to_fail => {
            Some("its failure was ignored: on_error: continue".into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;

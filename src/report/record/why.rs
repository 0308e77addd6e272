mod cached;

use std::fmt::Write as _;

use super::Record;
use super::record::place;
use super::trust::untrusted_values;
use crate::machine::{Exit, Guard, NOT_CHOSEN, NOT_STARTED, Place, SPENT, StepState};
use crate::model::{Class, Mode, Plan, Step};
use crate::report::paint::{BOLD, DIM, paint, plain};
use crate::report::rounds::change;
use crate::report::{believed, first_line, state_style};
use crate::store::{AttemptRow, CheckRow, StepRow};
use crate::untrusted::{styled_line, untrusted};

pub use cached::CacheStory;
use cached::cached;

/// What a step's explanation is made of.
#[derive(Clone, Copy, Debug)]
pub struct Why<'a> {
    /// The run.
    pub record: &'a Record,
    /// The plan that it ran by.
    pub plan: &'a Plan,
    /// The step or item.
    pub place: &'a Place,
    /// What the cache was asked.
    pub cache: Option<&'a CacheStory>,
    /// Why it ran again, if the run repeats another.
    pub again: Option<&'a str>,
}

/// Why a step ran or did not, why it ended so, and by which rule.
pub fn why(of: &Why<'_>) -> String {
    let row = of.record.steps.iter().find(|row| place(row) == *of.place);
    let mut text = head(&of.record.called(of.place), row);
    for reason in reasons(of, row) {
        let _ = writeln!(text, "  {} {}", paint(DIM, "·"), styled_line(&reason));
    }
    text
}

/// The same as a document.
pub fn why_json(of: &Why<'_>) -> serde_json::Value {
    let row = of.record.steps.iter().find(|row| place(row) == *of.place);
    let reasons: Vec<String> = reasons(of, row)
        .iter()
        .map(|reason| plain(reason))
        .collect();
    serde_json::json!({
        "v": 1,
        "run": of.record.run.id,
        "step": of.record.called(of.place),
        "state": row.map(|row| row.state),
        "reasons": reasons,
    })
}

fn reasons(of: &Why<'_>, row: Option<&StepRow>) -> Vec<String> {
    let step = of
        .plan
        .find(of.place.step.as_str())
        .map(|ix| of.plan.step(ix));
    let mut reasons = Vec::new();
    match row {
        None => reasons.push("nothing happened to it: the run ended, or is not there yet".into()),
        Some(row) => {
            reasons.extend(beginning(of, row, step));
            reasons.extend(
                of.cache
                    .map(|story| cached(of, row, story))
                    .unwrap_or_default(),
            );
            reasons.extend(of.record.held.reasons(of.place));
            reasons.extend(attempts(of, row, step));
            reasons.extend(
                of.record
                    .gap(of.place)
                    .map(|gap| format!("{gap} of its criteria")),
            );
            reasons.extend(otherwise(of, row));
            reasons.extend(confined(of));
            reasons.extend(untrusted_values(of.plan, of.place.step.as_str()));
            reasons.extend(end(of.record, row));
        }
    }
    reasons
}

fn head(place: &str, row: Option<&StepRow>) -> String {
    let name = paint(BOLD, place);
    let Some(row) = row else {
        return format!("{name} · not begun\n");
    };
    let state = paint(state_style(row.state), believed(row.state, row.standing));
    match first_line(&row.why) {
        "" => format!("{name} · {state}\n"),
        why => format!("{name} · {state} · {}\n", untrusted(why)),
    }
}

/// Why it began, or did not.
fn beginning(of: &Why<'_>, row: &StepRow, step: Option<&Step>) -> Vec<String> {
    if let Some(from) = &row.kept_from {
        let short = from.short();
        return vec![format!(
            "it did not run: its result is that of run {short}, and a retry repeats only what \
             did not succeed"
        )];
    }
    let again = of.again.filter(|_| row.state != StepState::Skipped);
    let mut reasons: Vec<String> = again.map(|why| repeats(of, why)).into_iter().collect();
    reasons.extend(step.map(|step| needs(of, step)).unwrap_or_default());
    if row.state == StepState::Skipped {
        reasons.push(skip_rule(row, step));
    }
    reasons
}

/// Why it ran although the run that this one repeats had run it, or was to run it.
fn repeats(of: &Why<'_>, why: &str) -> String {
    match &of.record.run.retry_of {
        Some(earlier) => format!("it runs again after run {}: {why}", earlier.short()),
        None => format!("it runs again: {why}"),
    }
}

fn needs(of: &Why<'_>, step: &Step) -> Vec<String> {
    let mut reasons = Vec::new();
    for ix in &step.depends_on {
        let id = &of.plan.step(*ix).id;
        let own = |row: &&StepRow| row.step == *id && row.item.is_none();
        let state = match of.record.steps.iter().find(own) {
            Some(row) => believed(row.state, row.standing),
            None => "not ended",
        };
        reasons.push(format!("it depends on `{id}`, which is {state}"));
    }
    if let Some(on) = of.record.shaken_by(&step.id) {
        reasons.push(format!("it depends on `{on}`, whose evidence is stale"));
    }
    if step.depends_on.is_empty() {
        let finally = of
            .plan
            .find(step.id.as_str())
            .is_some_and(|ix| of.plan.is_finally(ix));
        reasons.push(if finally {
            "it is a `finally` step: it runs whatever happened".into()
        } else {
            "it depends on no other step".into()
        });
    }
    if let Some(when) = &step.when {
        reasons.push(format!("it runs when `{}`", when.source()));
    }
    reasons
}

fn skip_rule(row: &StepRow, step: Option<&Step>) -> String {
    let asks = step
        .and_then(|step| step.when.as_deref())
        .is_some_and(crate::expr::Expr::asks_status);
    if row.why.contains(SPENT) {
        "the rule: once a limit of the budget is reached, less what is kept, no step begins".into()
    } else if row.why == NOT_CHOSEN {
        "`wf retry --only` runs nothing that is not chosen, and it had no result to keep".into()
    } else if row.why.starts_with(NOT_STARTED) {
        "the rule: once a step has failed, no other begins, unless `on_failure` is `continue` or \
         its `when` asks for the state of steps"
            .into()
    } else if asks {
        "its `when` asks for the state of steps, so it decides alone; it was not true".into()
    } else {
        "the rule: a step is skipped if its `when` is not true, or if a step that it depends on \
         failed, was skipped or was cancelled"
            .into()
    }
}

fn attempts(of: &Why<'_>, row: &StepRow, step: Option<&Step>) -> Vec<String> {
    let own = |attempt: &&AttemptRow| attempt.step == row.step && attempt.item == row.item;
    let attempts: Vec<&AttemptRow> = of.record.attempts.iter().filter(own).collect();
    let mut reasons = Vec::new();
    for (at, attempt) in attempts.iter().enumerate() {
        let round = of.record.round_of(attempt);
        let next = attempts.get(at + 1).map(|next| of.record.round_of(next));
        reasons.push(told(of, row, attempt));
        let last = next.is_none();
        let class = attempt.class.or(if last {
            row.class
        } else {
            // Some attempts were not the last because their step began anew, though they held.
            let failed = next == Some(round) || !refuted(of, row, attempt.attempt).is_empty();
            failed.then_some(Class::Logical)
        });
        if let Some(looped) = of.record.looped_after(row, attempt.attempt) {
            reasons.push(looped);
        } else if let (Some(class), Some(step)) = (class, step) {
            let step = of.record.as_done(step, round);
            let made = counted(of, attempt);
            let over = last && row.state.is_final() || next.is_some_and(|next| next != round);
            reasons.extend(retried(made, class, step, over).or_else(|| unpaid(of, over)));
        }
        if let Some(next) = next.filter(|next| *next != round) {
            reasons.extend(redone(of, attempt, (round, next)));
        }
    }
    reasons
}

/// In which way it was done, if not as it is written.
fn otherwise(of: &Why<'_>, row: &StepRow) -> Option<String> {
    let done = matches!(row.state, StepState::Succeeded | StepState::Failed);
    let way = of.record.way(of.place).filter(|_| done)?;
    Some(format!("it was done {way}"))
}

/// How many attempts `retry` counted up to this one: those of its round that no loop asked for.
fn counted(of: &Why<'_>, attempt: &AttemptRow) -> u32 {
    let before = of.record.made_before(attempt);
    let loops = |until| of.record.loops_until(of.place, until);
    let looped = loops(attempt.attempt).saturating_sub(loops(before));
    let own = attempt.attempt.saturating_sub(before);
    own.saturating_sub(looped)
}

/// Why an attempt of a later round followed.
fn redone(of: &Why<'_>, attempt: &AttemptRow, (from, to): (usize, usize)) -> Vec<String> {
    let closed = of.record.held.rounds.iter().take(to.saturating_sub(1));
    let closed = closed.skip(from.saturating_sub(1));
    let step = &attempt.step;
    let again = closed.filter(|round| round.reopened.contains(step));
    let reasons = again.map(|round| {
        let changed = round.changes.iter().find(|one| one.step == *step);
        let number = round.number;
        match changed {
            Some(one) => format!("round {number} led to another way: {}", change(one)),
            None => format!("round {number} let it run again, with what failed in it"),
        }
    });
    reasons.collect()
}

/// How an attempt ended, and what its checks ruled.
fn told(of: &Why<'_>, row: &StepRow, attempt: &AttemptRow) -> String {
    let n = attempt.attempt;
    let Some(exit) = &attempt.exit else {
        return format!("attempt {n} has not ended");
    };
    let broken = refuted(of, row, n);
    let said = match exit {
        Exit::Code { code: 0 } | Exit::Done => "said that it succeeded".to_owned(),
        other => format!("ended: {other}"),
    };
    if broken.is_empty() {
        format!("attempt {n} {said}")
    } else {
        format!(
            "attempt {n} {said}; its checks found otherwise: {}",
            broken.join("; ")
        )
    }
}

/// What the checks of an attempt found otherwise; the cache's result is attempt 0.
fn refuted(of: &Why<'_>, row: &StepRow, attempt: u32) -> Vec<String> {
    let own = |check: &&CheckRow| {
        check.step.as_ref() == Some(&row.step)
            && (check.item, check.attempt) == (row.item, Some(attempt))
    };
    let checks = of.record.checks.iter().filter(own);
    checks
        .filter(|check| !check.verdict.passed())
        .map(|check| {
            let (name, verdict) = (&check.verdict.name, &check.verdict);
            let mut told = format!("`{name}` {}", verdict.mismatch());
            if verdict.mode == Mode::Plausible {
                told.push_str(" (plausible)");
            }
            told
        })
        .collect()
}

/// Why a failed attempt was followed by another, or not.
fn retried(made: u32, class: Class, step: &Step, last: bool) -> Option<String> {
    let (n, max) = (made, step.retry.max);
    let word = class_word(class);
    if !last {
        return Some(format!(
            "its failure was {word}, so it was repeated: {n} of {max} retries"
        ));
    }
    if max == 0 {
        return Some(format!("its failure was {word}; the step has no `retry`"));
    }
    if !step.retry.on.contains(&class) {
        return Some(format!(
            "its failure was {word}, and `retry.on` does not name that"
        ));
    }
    (n > max).then(|| format!("its failure was {word}, and all {max} retries were used"))
}

/// Why the budget let no attempt follow that `retry` would have allowed.
fn unpaid(of: &Why<'_>, over: bool) -> Option<String> {
    let spent = of.record.ledger.as_ref()?.spent?;
    let failed = of.record.steps.iter();
    let mut failed = failed.filter(|row| row.state == StepState::Failed);
    let failed = failed.any(|row| place(row) == *of.place);
    (over && failed).then(|| format!("it was not repeated: {SPENT}: {spent}"))
}

fn class_word(class: Class) -> &'static str {
    match class {
        Class::Logical => "logical (it ran, and the result was wrong)",
        Class::Environmental => "environmental (the world around it failed)",
        Class::Interrupted => "an interruption (nobody saw how it ended)",
    }
}

/// What confined the processes of its last checks; nothing where none was run.
fn confined(of: &Why<'_>) -> Option<String> {
    let rulings = of.record.rulings(of.place);
    let guards: Vec<&Vec<Guard>> = rulings
        .iter()
        .filter_map(|check| check.verdict.guards.as_ref())
        .collect();
    // What is said of all of them holds for each.
    let (first, others) = guards.split_first()?;
    let common = first.iter();
    let common = common.filter(|guard| others.iter().all(|guards| guards.contains(guard)));
    let common: Vec<&str> = common.map(|guard| guard.as_str()).collect();
    Some(match common.as_slice() {
        [] => "its checks ran with the sandbox: off".to_owned(),
        words => format!("its checks ran in a sandbox: {}", words.join(" ")),
    })
}

fn end(record: &Record, row: &StepRow) -> Option<String> {
    if let Some(path) = &row.stale {
        return Some(format!(
            "it is reported, not verified: its evidence is stale, {path} changed after it was \
             checked"
        ));
    }
    match row.state {
        StepState::Succeeded if believed(row.state, row.standing) == "reported" => {
            Some(match record.ignored(&place(row)).as_slice() {
                [] => "it is reported, not verified: it has no checks".into(),
                all => format!("it is reported, not verified: {}", all.join(", ")),
            })
        }
        StepState::Failed if row.tolerated => {
            Some("`on_error: continue` lets the run go on without it".into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::show::doubts_text;
use crate::{
    counts_text,
    record::record::{RunRecord, is_whole, step_duration, task_of_row},
    state_word,
};
use wf_base::{
    units::{elapsed, first_line},
    untrusted::untrusted,
};
use wf_core::machine::{StepState, TaskId};
use wf_store::{CheckRow, StepRow};

/// The maximum number of steps in a summary; failed ones first.
const MAX_STEP_ROWS: usize = 200;

/// A run as Markdown, for the step summary of GitHub Actions.
pub fn summary(record: &RunRecord) -> String {
    let run = &record.run;
    let life = record.life.as_str();
    let mut text = format!("### {} · {life}\n\n", escape(&run.plan));
    let took = run.duration().map(elapsed);
    let took = took.unwrap_or_default();
    let _ = writeln!(text, "{} · {took} · run `{}`\n", counts_text(&run.counts), run.id.short());
    if let Some(met) = run.accepted {
        let _ = writeln!(text, "**accepted within δ: {met}; the others fail**\n");
    }
    text.push_str("| step | result | took | why |\n|---|---|--:|---|\n");
    let rows: Vec<&StepRow> = record.steps.iter().filter(|row| is_whole(row)).collect();
    let failed = rows.iter().filter(|row| row.failure_class.is_some());
    let others = rows.iter().filter(|row| row.failure_class.is_none());
    for row in failed.chain(others).take(MAX_STEP_ROWS) {
        text.push_str(&line(record, row));
    }
    if rows.len() > MAX_STEP_ROWS {
        let _ = writeln!(text, "\nand {} more", rows.len() - MAX_STEP_ROWS);
    }
    text.push_str(&checks(record));
    text
}

fn line(record: &RunRecord, row: &StepRow) -> String {
    let took = step_duration(row).map(elapsed).unwrap_or_default();
    let result = match row.state {
        StepState::Failed if row.allowed_to_fail => "failed (ignored)",
        state => state_word(state, row.standing),
    };
    let mut reason = vec![first_line(&row.reason).to_owned()];
    reason.extend(record.gap(&task_of_row(row)));
    reason.extend(doubts_text(record, row));
    reason.retain(|reason| !reason.is_empty());
    let reason = escape(&reason.join("; "));
    format!("| `{}` | {result} | {took} | {reason} |\n", row.step)
}

/// The failed criteria.
fn checks(record: &RunRecord) -> String {
    let of_steps = record.steps.iter().flat_map(|row| record.rulings(&task_of_row(row)));
    let mut text = String::new();
    for check in of_steps.chain(record.own_rulings()) {
        if !check.verdict.passed() {
            text.push_str(&broken(record, check));
        }
    }
    text
}

fn broken(record: &RunRecord, check: &CheckRow) -> String {
    let verdict = &check.verdict;
    let step = match &check.step {
        Some(step) => record.task_display_name(&TaskId { step: step.clone(), item: check.item }),
        None => "the plan".to_owned(),
    };
    let step = escape(&step);
    let mismatch = escape(&verdict.mismatch());
    format!("\n**{step}: {}** {mismatch}\n", verdict.name)
}

/// Text escaped, whatever Markdown or HTML is in it.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in untrusted(text).to_string().chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '\\' | '|' | '*' | '_' | '[' | ']' | '`' | '#' | '~' | '$' | '@' => {
                escaped.extend(['\\', c]);
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::summary;
    use crate::record::tests::sample;

    #[test]
    fn what_failed_comes_first() {
        let expected = "\
### nightly-report · failed

1 failed, 1 verified, 1 skipped · 3.2s · run `1a2b3c4d`

| step | result | took | why |
|---|---|--:|---|
| `build` | failed | 1.2s | check \\`is\\_json\\` failed |
| `fetch` | verified | 1.2s |  |
| `publish` | skipped |  | \\`build\\` failed |

**build: is_json** expected exit code 0, found exit code 1
";
        assert_eq!(summary(&sample::record()), expected);
    }
}

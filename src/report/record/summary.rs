use std::fmt::Write as _;

use super::Record;
use super::record::{is_whole, place, took};
use super::show::doubts;
use crate::machine::{Place, StepState};
use crate::report::{believed, counts, elapsed, first_line};
use crate::store::{CheckRow, StepRow};
use crate::untrusted::untrusted;

/// The most steps that a summary lists; failed ones first.
const ROWS: usize = 200;

/// A run as Markdown, for the step summary of GitHub Actions.
pub fn summary(record: &Record) -> String {
    let run = &record.run;
    let life = record.life.as_str();
    let mut text = format!("### {} · {life}\n\n", escape(&run.plan));
    let took = run.took().map(elapsed);
    let took = took.unwrap_or_default();
    let _ = writeln!(
        text,
        "{} · {took} · run `{}`\n",
        counts(&run.tally),
        run.id.short()
    );
    if let Some(met) = run.accepted {
        let _ = writeln!(
            text,
            "**accepted within δ: {met}; the others do not hold**\n"
        );
    }
    text.push_str("| step | result | took | why |\n|---|---|--:|---|\n");
    let rows: Vec<&StepRow> = record.steps.iter().filter(|row| is_whole(row)).collect();
    let failed = rows.iter().filter(|row| row.class.is_some());
    let others = rows.iter().filter(|row| row.class.is_none());
    for row in failed.chain(others).take(ROWS) {
        text.push_str(&line(record, row));
    }
    if rows.len() > ROWS {
        let _ = writeln!(text, "\nand {} more", rows.len() - ROWS);
    }
    text.push_str(&checks(record));
    text
}

fn line(record: &Record, row: &StepRow) -> String {
    let took = took(row).map(elapsed).unwrap_or_default();
    let result = match row.state {
        StepState::Failed if row.tolerated => "allowed to fail",
        state => believed(state, row.standing),
    };
    let mut why = vec![first_line(&row.why).to_owned()];
    why.extend(record.gap(&place(row)));
    why.extend(doubts(record, row));
    why.retain(|why| !why.is_empty());
    let why = escape(&why.join("; "));
    format!("| `{}` | {result} | {took} | {why} |\n", row.step)
}

/// The criteria that do not hold.
fn checks(record: &Record) -> String {
    let of_steps = record
        .steps
        .iter()
        .flat_map(|row| record.rulings(&place(row)));
    let mut text = String::new();
    for check in of_steps.chain(record.own_rulings()) {
        if !check.verdict.passed() {
            text.push_str(&broken(record, check));
        }
    }
    text
}

fn broken(record: &Record, check: &CheckRow) -> String {
    let verdict = &check.verdict;
    let step = match &check.step {
        Some(step) => record.called(&Place {
            step: step.clone(),
            item: check.item,
        }),
        None => "the plan".to_owned(),
    };
    let step = escape(&step);
    let mismatch = escape(&verdict.mismatch());
    format!("\n**{step}: {}** {mismatch}\n", verdict.name)
}

/// Text as text, whatever Markdown or HTML is in it.
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
    use crate::report::record::sample;

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

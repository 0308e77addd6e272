//! The items of repeated steps, folded in a table: of many alike, a reader wants the first, and each unlike the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    lines::INDENT,
    record::record::{RunRecord, task_of_row},
    state_word,
};
use wf_base::{name::Name, units::plural};
use wf_core::machine::{StepState, TaskId};
use wf_store::{CheckRow, StepRow};

/// The number of items of a step to be shown in any case.
const SHOWN_ITEMS: usize = 20;

/// The smallest number of items to be folded into a line.
const MIN_FOLDED: usize = 10;

/// The folded items.
#[derive(Debug, Default)]
pub(super) struct FoldedItems {
    items: BTreeSet<TaskId>,
    /// The line in their place, below the last of them.
    lines: BTreeMap<TaskId, String>,
}

impl FoldedItems {
    /// Returns those of a run.
    pub(super) fn from_record(record: &RunRecord) -> Self {
        let noted = noted_tasks(record);
        let mut of_steps: BTreeMap<&Name, Vec<&StepRow>> = BTreeMap::new();
        for row in record.steps.iter().filter(|row| row.item.is_some()) {
            of_steps.entry(&row.step).or_default().push(row);
        }
        let mut folded = Self::default();
        for rows in of_steps.into_values() {
            let rest = rows.into_iter().skip(SHOWN_ITEMS);
            let same_rows: Vec<&StepRow> =
                rest.filter(|row| is_alike(row) && !noted.contains(&task_of_row(row))).collect();
            if same_rows.len() >= MIN_FOLDED {
                folded.lines.extend(same_rows.last().map(|last| (task_of_row(last), line(&same_rows))));
                folded.items.extend(same_rows.into_iter().map(task_of_row));
            }
        }
        folded
    }

    /// Returns what stands in the place of an item: nothing, or the line; `None`: it is shown.
    pub(super) fn line(&self, task: &TaskId, depth: usize) -> Option<String> {
        let line = || self.lines.get(task).map(|line| format!("{INDENT}{}{line}\n", "  ".repeat(depth + 1)));
        self.items.contains(task).then(|| line().unwrap_or_default())
    }
}

/// Returns the tasks with checks not passed, or with runs inside.
fn noted_tasks(record: &RunRecord) -> BTreeSet<TaskId> {
    let checks = record.checks.iter().filter(|check| !check.verdict.passed());
    let of_check = |check: &CheckRow| Some(TaskId { step: check.step.clone()?, item: check.item });
    let nested = record.nested.iter().filter_map(|nested| nested.attempt.split('#').next()?.parse().ok());
    let unbegun = record.unbegun.iter().map(|child| child.id.attempt.task_id.clone());
    checks.filter_map(of_check).chain(nested).chain(unbegun).collect()
}

fn is_alike(row: &StepRow) -> bool {
    let ended = matches!(row.state, StepState::Succeeded | StepState::Skipped | StepState::Cancelled);
    ended && row.stale.is_none() && row.attempts <= 1
}

/// Returns the line about items: `… 4,980 more items: 4,979 verified, 1 skipped`.
fn line(rows: &[&StepRow]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(state_word(row.state, row.standing)).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("… {}: {}", plural(rows.len(), "more item"), counts.join(", "))
}

#[cfg(test)]
mod tests {
    use wf_base::untrusted::plain;
    use wf_core::machine::{CheckRuling, Standing, StepState};

    use super::super::show::show;
    use crate::record::{record::RunRecord, tests::sample};
    use wf_base::time::Moment;

    /// A run of one repeated step, shown.
    fn shown(items: u32, change: impl FnOnce(&mut RunRecord)) -> Vec<String> {
        let item = |number: u32| {
            let mut row = sample::step("fetch", StepState::Succeeded, Standing::Verified);
            (row.item, row.item_key) = (Some(number), Some(format!("i{number}")));
            row
        };
        let mut record = RunRecord { steps: (0..items).map(item).collect(), ..sample::record() };
        change(&mut record);
        let text = plain(&show(&record, Moment::from_millis(1_700_000_100_000)));
        let rows = text.lines().filter(|line| line.starts_with(' '));
        rows.filter(|line| line.contains("fetch[") || line.contains('…')).map(str::to_owned).collect()
    }

    #[test]
    fn of_many_items_the_first_and_the_unlike_are_shown() {
        assert_eq!(shown(29, |_| {}).len(), 29);
        let lines = shown(20_000, |record| {
            record.steps[777].state = StepState::Failed;
            record.steps[778].stale = Some("out.txt".into());
            let mut check = sample::check("fetch", 1, CheckRuling::Fail);
            (check.item, check.attempt) = (Some(900), Some(1));
            record.checks.push(check);
        });
        assert_eq!(lines.len(), 20 + 3 + 1, "{lines:#?}");
        for item in ["i0", "i19", "i777", "i778", "i900"] {
            assert!(lines.iter().any(|line| line.contains(&format!("fetch[{item}]"))), "{item}: {lines:#?}");
        }
        assert_eq!(lines[23].trim(), "… 19977 more items: 19977 verified");
    }
}

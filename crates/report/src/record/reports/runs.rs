use anstyle::Style;

use crate::{ColumnAlign, TextTable, counts_text, record::lifecycle::RunLifecycle};
use wf_base::{
    time::Moment,
    units::{elapsed, moment},
    untrusted::{DIM, NAME, WARN},
};
use wf_store::{RunOwner, RunRow, RunState};

/// Runs as a table, newest first.
pub fn runs(rows: &[(RunRow, Option<RunOwner>)], now: Moment) -> String {
    let mut table = TextTable::new(&[
        ("run", ColumnAlign::Left),
        ("plan", ColumnAlign::Left),
        ("state", ColumnAlign::Left),
        ("steps", ColumnAlign::Left),
        ("started", ColumnAlign::Left),
        ("took", ColumnAlign::Right),
    ]);
    for (row, owner) in rows {
        let life = RunLifecycle::of(row, *owner);
        let steps = match row.state {
            RunState::Running => String::new(),
            RunState::Ended(_) => counts_text(&row.counts),
        };
        let plan = match (&row.parent, row.goal) {
            (Some((_, attempt)), _) => match &row.dispatched {
                Some(own) => format!("{} (dispatched by {attempt} as {})", row.plan, own.child),
                None => format!("{} (in {attempt})", row.plan),
            },
            (None, Some(part)) => format!("{} ({})", row.plan, part.as_str()),
            (None, None) => row.plan.clone(),
        };
        let took = match (row.duration(), life) {
            (Some(took), _) => elapsed(took),
            (None, RunLifecycle::Running) => elapsed(row.duration_until(now)),
            (None, _) => String::new(),
        };
        table.row(vec![
            (row.id.short().to_owned(), NAME),
            (plan, Style::new()),
            state(row, life),
            (steps, Style::new()),
            (moment(row.created), DIM),
            (took, Style::new()),
        ]);
    }
    table.render()
}

/// The word for the life of a run. A run accepted with less than all is not shown as an
/// ordinary success.
fn state(row: &RunRow, life: RunLifecycle) -> (String, Style) {
    if row.accepted.is_some() {
        ("accepted".to_owned(), WARN)
    } else {
        (life.as_str().to_owned(), life.style())
    }
}

#[cfg(test)]
mod tests {
    use super::runs;
    use crate::record::tests::sample;
    use wf_base::{time::Moment, untrusted::plain};
    use wf_store::{RunOwner, RunState};

    #[test]
    fn a_dead_run_is_not_shown_as_running() {
        let mut going = sample::run();
        (going.state, going.ended) = (RunState::Running, None);
        let owner = |alive| Some(RunOwner { pid: 7, alive });
        let look = wf_store::RunRow { goal: Some(wf_core::goal::ReconciliationPart::Look), ..sample::run() };
        let rows = [(look, None), (going.clone(), owner(true)), (going, owner(false)), (sample::run(), None)];
        let now = Moment::from_millis(1_700_000_060_000);
        let expected = "\
run       plan                   state        steps                            started                took
1a2b3c4d  nightly-report (look)  failed       1 failed, 1 verified, 1 skipped  2023-11-14 22:13:20    3.2s
1a2b3c4d  nightly-report         running                                       2023-11-14 22:13:20  1m 00s
1a2b3c4d  nightly-report         interrupted                                   2023-11-14 22:13:20
1a2b3c4d  nightly-report         failed       1 failed, 1 verified, 1 skipped  2023-11-14 22:13:20    3.2s
";
        assert_eq!(plain(&runs(&rows, now)), expected);
    }
}

use anstyle::Style;

use crate::{
    ColumnAlign, TextTable, counts_text,
    record::{
        lifecycle::RunLifecycle,
        listing::{RunListing, StepProgress},
    },
};
use wf_base::{
    units::{elapsed, moment},
    untrusted::{DIM, NAME, WARN},
};
use wf_store::{RunRow, RunState};

/// Runs as a table, newest first.
pub fn runs(run_listings: &[RunListing]) -> String {
    let mut table = TextTable::new(&[
        ("run", ColumnAlign::Left),
        ("plan", ColumnAlign::Left),
        ("state", ColumnAlign::Left),
        ("steps", ColumnAlign::Left),
        ("started", ColumnAlign::Left),
        ("took", ColumnAlign::Right),
    ]);
    for listing in run_listings {
        let row = &listing.row;
        let steps = match row.state {
            RunState::Running => listing.progress.map(StepProgress::text).unwrap_or_default(),
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
        table.row(vec![
            (row.id.short().to_owned(), NAME),
            (plan, Style::new()),
            state(row, listing.life()),
            (steps, Style::new()),
            (moment(row.created), DIM),
            (listing.took().map(elapsed).unwrap_or_default(), Style::new()),
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
    use std::time::Duration;

    use super::runs;
    use crate::record::{RunListing, StepProgress, tests::sample};
    use wf_base::untrusted::plain;
    use wf_core::goal::ReconciliationPart;
    use wf_store::{RunOwner, RunRow, RunState};

    #[test]
    fn a_dead_run_is_not_shown_as_running() {
        let going = RunRow { state: RunState::Running, ended: None, ..sample::run() };
        let asking = RunRow { pending_approvals: 1, waits_for_people: true, ..going.clone() };
        let look = RunRow { goal: Some(ReconciliationPart::Look), ..sample::run() };
        let owner = |alive| Some(RunOwner { pid: 7, alive });
        let going_on = |row: &RunRow, alive, total| RunListing {
            progress: Some(StepProgress { done: 2, total }),
            so_far: Some(Duration::from_mins(1)),
            ..RunListing::new(row.clone(), owner(alive))
        };
        let run_listings = [
            RunListing::new(look, None),
            going_on(&going, true, Some(5)),
            going_on(&asking, false, None),
            RunListing::new(going, owner(false)),
            RunListing::new(sample::run(), None),
        ];
        let expected = "\
run       plan                   state        steps                            started                took
1a2b3c4d  nightly-report (look)  failed       1 failed, 1 verified, 1 skipped  2023-11-14 22:13:20    3.2s
1a2b3c4d  nightly-report         running      2 of 5                           2023-11-14 22:13:20  1m 00s
1a2b3c4d  nightly-report         waiting      2 ended                          2023-11-14 22:13:20  1m 00s
1a2b3c4d  nightly-report         interrupted                                   2023-11-14 22:13:20
1a2b3c4d  nightly-report         failed       1 failed, 1 verified, 1 skipped  2023-11-14 22:13:20    3.2s
";
        assert_eq!(plain(&runs(&run_listings)), expected);
    }
}

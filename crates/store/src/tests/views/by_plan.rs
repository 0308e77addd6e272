//! The last runs of each plan, and their outcomes: read in one pass over all runs.

use wf_base::name::RunId;
use wf_core::machine::{RunOutcome, Standing};

use crate::{
    PlanOutcomeCount, RunState, StoreReader,
    tests::fixture::{LATER, NOW, first, new_run, open, run_ended, run_id},
};

#[test]
fn the_last_runs_of_each_plan_are_read_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for number in 1..=9_u8 {
        let plan = if number % 3 == 0 { "rare" } else { "often" };
        let mut new = new_run(plan);
        if number == 8 {
            new.parent = Some((run_id(7), "inner#1".to_owned()));
        }
        let facts = if number == 9 { vec![] } else { vec![run_ended()] };
        store.append(first(&run_id(number), new, facts)).wait().unwrap();
    }
    let reader = StoreReader::open(dir.path()).unwrap();
    let rows = reader.runs().latest_by_plan(2).unwrap();
    let ids: Vec<RunId> = rows.iter().map(|row| row.id.clone()).collect();
    assert_eq!(ids, [9, 7, 6, 5].map(run_id), "newest first, and none that is nested");
    assert_eq!(rows[0].state, RunState::Running);
    assert_eq!(
        (rows[1].state, rows[1].standing),
        (RunState::Ended(RunOutcome::Succeeded), Standing::Verified)
    );
    let count =
        |plan: &str, count| PlanOutcomeCount { plan: plan.to_owned(), outcome: RunOutcome::Succeeded, count };
    assert_eq!(reader.runs().outcomes_by_plan(NOW).unwrap(), [count("often", 5), count("rare", 2)]);
    assert_eq!(reader.runs().outcomes_by_plan(LATER).unwrap(), []);
}

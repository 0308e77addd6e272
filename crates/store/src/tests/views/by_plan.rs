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

#[test]
fn measure_many() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut last = None;
    for number in 1..=10_000_u128 {
        let plan = format!("plan{}", number % 50);
        let id =
            RunId::from_bytes((number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)).to_be_bytes());
        last = Some(store.append(first(&id, new_run(&plan), vec![run_ended()])));
        if number % 500 == 0 {
            last.take().unwrap().wait().unwrap();
        }
    }
    drop(last);
    let reader = StoreReader::open(dir.path()).unwrap();
    for _ in 0..3 {
        let began = std::time::Instant::now();
        let rows = reader.runs().latest_by_plan(20).unwrap();
        let middle = began.elapsed();
        let counts = reader.runs().outcomes_by_plan(NOW).unwrap();
        println!(
            "MEASURED {} rows {:?}, {} counts {:?}",
            rows.len(),
            middle,
            counts.len(),
            began.elapsed() - middle
        );
        let began = std::time::Instant::now();
        let plan = wf_base::name::PlanId::parse("plan3").unwrap();
        let filter = crate::RunFilter { plan: Some(plan), ..crate::RunFilter::default() };
        let rows = reader.runs().list(20, &filter).unwrap();
        println!("MEASURED of one plan {} rows {:?}", rows.len(), began.elapsed());
    }
}

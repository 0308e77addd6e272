//! The store accounts for slots as the ledger in memory does.

use std::{borrow::Cow, sync::Arc, time::Duration};

use proptest::prelude::*;
use wf_base::{
    keyword::Keyword,
    name::{PlanId, RunId},
    time::{Moment, SystemClock},
};
use wf_core::goal::{
    GoalLedger, GoalLedgerState, GoalOutcome, InMemoryLedger, ReconciliationCause, ReconciliationHealth,
    SlotDecision, turn,
};
use wf_model::{
    Goal, GoalApproval, GoalOverlapPolicy, JsonObject, MissedTimesChoice, MissedTimesPolicy, OnUnmet,
    schedule::{CronExpression, DstPolicy, GoalSchedule, ScheduleZone, TimingRule},
};
use wf_store::{
    EventBatch, FencingToken, LedgerGoal, NewRun, ReconciliationClaim, ReconciliationEnd, Store,
    StoreDurability, StoreError, StoreReader,
};

/// The store as a ledger, as the daemon has it.
struct Real<'a>(&'a Store, &'a StoreReader);

impl GoalLedger for Real<'_> {
    type Error = StoreError;

    fn known(&self, goal: &PlanId) -> Result<Option<Cow<'_, GoalLedgerState>>, StoreError> {
        Ok(self.1.goals().ledger(goal)?.map(Cow::Owned))
    }

    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &SlotDecision,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let note = LedgerGoal { id: goal.id.clone(), path: goal.path.clone(), schedule: goal.timing.clone() };
        let written = self.0.goals().record_decision(note, after, decision.clone(), None, now);
        written.wait()
    }
}

fn timing(cron: &str) -> GoalSchedule {
    GoalSchedule::of(TimingRule::Cron {
        expression: CronExpression::parse(cron).unwrap(),
        zone: ScheduleZone::utc(),
        dst: DstPolicy::default(),
    })
}

fn goal(run: MissedTimesChoice, overlap: GoalOverlapPolicy) -> Goal {
    Goal {
        id: PlanId::parse("kept").unwrap(),
        title: None,
        path: "goals/kept.md".into(),
        timing: timing("*/10 * * * * *"),
        missed: MissedTimesPolicy { run, window: Duration::from_mins(3), cap: 3 },
        window: Duration::from_secs(15),
        overlap,
        auto_pause_after: None,
        backend: None,
        on_failure: OnUnmet::default(),
        is_job: false,
        approval: GoalApproval::default(),
        notify: Vec::new(),
    }
}

/// A run that is begun for a slot.
fn begun(goal: &Goal, slot: Moment, run: &RunId, now: Moment) -> EventBatch {
    let claim = ReconciliationClaim::Look {
        goal: goal.id.clone(),
        slot: Some(slot),
        cause: ReconciliationCause::Schedule,
        token: None,
        by_backend: false,
    };
    let new = NewRun {
        plan: goal.id.clone(),
        path: goal.path.clone(),
        params: JsonObject::new(),
        parent: None,
        retry_of: None,
        session: None,
        sources: vec![(goal.path.clone(), "# A goal".into())],
        created: now,
        config: serde_json::Value::Null,
        claim: Some(claim),
    };
    let token = FencingToken { run: run.clone(), number: 0 };
    EventBatch { run: run.clone(), token, after: Some(0), new: Some(new), events: Vec::new() }
}

/// What both ledgers say of all rows.
fn rows(memory: &InMemoryLedger, reader: &StoreReader, goal: &PlanId) -> (Vec<String>, Vec<String>) {
    let memory = memory.rows(goal);
    let memory = memory.map(|(row, at)| {
        format!("{} {} {} {:?} {:?} {} {at}", row.slot, row.last, row.count, row.state, row.cause, row.reason)
    });
    let store = reader.slots().between(goal, None, None).unwrap();
    let store = store.iter().map(|row| {
        let (slot, last, count, at) = (row.slot, row.last, row.count, row.at);
        format!("{slot} {last} {count} {:?} {:?} {} {at}", row.state, row.cause, row.reason)
    });
    (memory.collect(), store.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn the_store_accounts_for_slots_as_the_ledger_in_memory_does(
        run in prop::sample::select(MissedTimesChoice::ALL),
        overlap in prop::sample::select(GoalOverlapPolicy::ALL),
        acts in prop::collection::vec((0..8u8, 0..90_000i64), 1..25),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), StoreDurability::Normal, Arc::new(SystemClock)).unwrap();
        let reader = store.reader().unwrap();
        let mut memory = InMemoryLedger::default();
        let mut goal = goal(run, overlap);
        let mut now = Moment::from_millis(1_800_000_000_123);
        let (mut live, mut number): (Vec<RunId>, u128) = (Vec::new(), 0);
        for (act, time) in acts {
            now = Moment::from_millis(now.millis() + if act == 0 { -time } else { time });
            let turned = turn(&goal, &mut memory, now).unwrap();
            prop_assert_eq!(&turned, &turn(&goal, &mut Real(&store, &reader), now).unwrap());
            // Sometimes nothing follows from a decision.
            let start = turned.start.iter().filter(|_| act != 1);
            for (slot, _) in start {
                number += 1;
                let run = RunId::from_bytes(number.to_be_bytes());
                prop_assert!(memory.start(&goal.id, *slot, run.clone()));
                store.append(begun(&goal, *slot, &run, now)).wait().unwrap();
                live.push(run);
            }
            if act > 3 && !live.is_empty() {
                let run = live.remove(0);
                memory.end(&goal.id, &run);
                let outcome = GoalOutcome { health: ReconciliationHealth::Healthy, reason: String::new() };
                let end = ReconciliationEnd { run, outcome, at: now, pause: None, notices: Vec::new() };
                prop_assert!(store.reconciliations().end(end).wait().unwrap());
            }
            match act {
                2 => {
                    memory.pause(&goal.id, "so", now);
                    store.goals().pause(&goal.id, "so", now).wait().unwrap();
                }
                3 | 4 => {
                    memory.resume(&goal.id);
                    store.goals().resume(&goal.id, now).wait().unwrap();
                }
                5 => goal.timing = timing(["*/10 * * * * *", "*/7 * * * * *"][usize::from(time % 2 == 0)]),
                _ => {}
            }
            let remembered = memory.known(&goal.id).unwrap().map(Cow::into_owned);
            prop_assert_eq!(remembered, reader.goals().ledger(&goal.id).unwrap());
            let (wanted, found) = rows(&memory, &reader, &goal.id);
            prop_assert_eq!(wanted, found);
        }
    }
}

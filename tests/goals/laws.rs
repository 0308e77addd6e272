//! The store accounts for slots as the ledger in memory does.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use wf::goal::{Cause, Decision, Health, Known, Ledger, MemoryLedger, Verdict, turn};
use wf::model::{Goal, GoalApproval, Missed, MissedRun, Object, OnUnmet, Overlap};
use wf::name::{PlanId, RunId};
use wf::schedule::{Cron, Dst, Timing, When, Zone};
use wf::store::{
    Batch, Claim, CycleEnd, Durability, GoalNote, NewRun, Reader, Store, StoreError, Token,
};
use wf::time::{Moment, SystemClock};

/// The store as a ledger, as the daemon has it.
struct Real<'a>(&'a Store, &'a Reader);

impl Ledger for Real<'_> {
    type Error = StoreError;

    fn known(&self, goal: &PlanId) -> Result<Option<Cow<'_, Known>>, StoreError> {
        Ok(self.1.known(goal)?.map(Cow::Owned))
    }

    fn record(
        &mut self,
        goal: &Goal,
        after: Option<Moment>,
        decision: &Decision,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let note = GoalNote {
            id: goal.id.clone(),
            path: goal.path.clone(),
            timing: goal.timing.clone(),
        };
        let written = self.0.decided(note, after, decision.clone(), (None, now));
        written.wait()
    }
}

fn timing(cron: &str) -> Timing {
    Timing::of(When::Cron {
        expression: Cron::parse(cron).unwrap(),
        zone: Zone::utc(),
        dst: Dst::default(),
    })
}

fn goal(run: MissedRun, overlap: Overlap) -> Goal {
    Goal {
        id: PlanId::parse("kept").unwrap(),
        title: None,
        path: "goals/kept.md".into(),
        timing: timing("*/10 * * * * *"),
        missed: Missed {
            run,
            window: Duration::from_mins(3),
            cap: 3,
        },
        window: Duration::from_secs(15),
        overlap,
        auto_pause_after: None,
        on_failure: OnUnmet::default(),
        approval: GoalApproval::default(),
        notify: Vec::new(),
    }
}

/// A run that is begun for a slot.
fn begun(goal: &Goal, slot: Moment, run: &RunId, now: Moment) -> Batch {
    let claim = Claim::Look {
        goal: goal.id.clone(),
        slot: Some(slot),
        cause: Cause::Schedule,
        token: None,
    };
    let new = NewRun {
        plan: goal.id.clone(),
        path: goal.path.clone(),
        params: Object::new(),
        parent: None,
        retry_of: None,
        sources: vec![(goal.path.clone(), "# A goal".into())],
        created: now,
        config: serde_json::Value::Null,
        claim: Some(claim),
    };
    let token = Token {
        run: run.clone(),
        number: 0,
    };
    Batch {
        run: run.clone(),
        token,
        after: Some(0),
        new: Some(new),
        events: Vec::new(),
    }
}

/// What both ledgers say of all rows.
fn rows(memory: &MemoryLedger, reader: &Reader, goal: &PlanId) -> (Vec<String>, Vec<String>) {
    let memory = memory.rows(goal);
    let memory = memory.map(|(row, at)| {
        format!(
            "{} {} {} {:?} {:?} {} {at}",
            row.slot, row.last, row.count, row.state, row.cause, row.why
        )
    });
    let store = reader.slots(goal, (None, None)).unwrap();
    let store = store.iter().map(|row| {
        let (slot, last, count, at) = (row.slot, row.last, row.count, row.at);
        format!(
            "{slot} {last} {count} {:?} {:?} {} {at}",
            row.state, row.cause, row.why
        )
    });
    (memory.collect(), store.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn the_store_accounts_for_slots_as_the_ledger_in_memory_does(
        run in prop::sample::select(MissedRun::ALL),
        overlap in prop::sample::select(Overlap::ALL),
        acts in prop::collection::vec((0..8u8, 0..90_000i64), 1..25),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Durability::Normal, Arc::new(SystemClock)).unwrap();
        let reader = store.reader().unwrap();
        let mut memory = MemoryLedger::default();
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
                let verdict = Verdict { health: Health::Healthy, why: String::new() };
                let end = CycleEnd { run, verdict, at: now, pause: None, notices: Vec::new() };
                prop_assert!(store.end_cycle(end).wait().unwrap());
            }
            match act {
                2 => {
                    memory.pause(&goal.id, "so", now);
                    store.pause_goal(&goal.id, "so", now).wait().unwrap();
                }
                3 | 4 => {
                    memory.resume(&goal.id);
                    store.resume_goal(&goal.id, now).wait().unwrap();
                }
                5 => goal.timing = timing(["*/10 * * * * *", "*/7 * * * * *"][usize::from(time % 2 == 0)]),
                _ => {}
            }
            let remembered = memory.known(&goal.id).unwrap().map(Cow::into_owned);
            prop_assert_eq!(remembered, reader.known(&goal.id).unwrap());
            let (wanted, found) = rows(&memory, &reader, &goal.id);
            prop_assert_eq!(wanted, found);
        }
    }
}

//! The driver of a goal that is kept elsewhere: it decides as a daemon does, and what it records leads to the same ledger.

use std::{convert::Infallible, sync::Arc, time::Duration};

use proptest::prelude::*;

use super::{
    every::{any_scenario, rows},
    world::{at, goal, seconds},
};
use crate::{
    goal::{
        GoalAccountAtDeployment, GoalCommand, GoalDriver, GoalFact, GoalLedger, GoalLedgerState,
        GoalOccurrence, GoalOutcome, GoalRecord, InMemoryLedger, ReconciliationCause, ReconciliationHealth,
        ReconciliationPart, ReconciliationRun, ReconciliationRunEnd, RunPermits, SimulationScenario,
        SlotState, simulate,
    },
    machine::{CheckRuling, CheckVerdict, RunOutcome},
};
use wf_base::{name::RunId, time::Moment};
use wf_model::{Goal, GoalEvent, GoalOverlapPolicy, NotificationDelivery, NotificationRule, OnUnmet};

/// The number of steps after which a goal is stored and read again.
const STORED: usize = 7;

/// Permits everything, as long as there is no reason against it.
#[derive(Default)]
struct Permits(Option<&'static str>);

impl RunPermits for Permits {
    fn permit(&mut self, _: &ReconciliationRun) -> Result<(), String> {
        self.0.map_or(Ok(()), |reason| Err(reason.to_owned()))
    }
}

/// A backend without a machine: its clock is an argument, and runs take a given time and end as they are told.
struct Keeper {
    driver: GoalDriver,
    permits: Permits,
    takes: Duration,
    /// The ends of check runs and of repairs that start now.
    ends: [ReconciliationRunEnd; 2],
    running: Vec<(ReconciliationRun, Moment, ReconciliationRunEnd)>,
    begun: Vec<ReconciliationRun>,
    notified: Vec<String>,
    records: Vec<GoalRecord>,
    steps: usize,
}

fn end(outcome: RunOutcome, ruling: Option<CheckRuling>) -> ReconciliationRunEnd {
    let verdict = |ruling: CheckRuling| -> CheckVerdict {
        let value = serde_json::json!({"name": "there", "ruling": ruling, "duration_ms": 0});
        serde_json::from_value(value).unwrap()
    };
    let reason = if outcome == RunOutcome::Succeeded { "" } else { "a reason" };
    let checks = ruling.map(verdict).into_iter().collect();
    ReconciliationRunEnd { outcome, reason: reason.into(), is_accepted: false, checks }
}

fn passed() -> ReconciliationRunEnd {
    end(RunOutcome::Succeeded, Some(CheckRuling::Pass))
}

fn unmet() -> ReconciliationRunEnd {
    end(RunOutcome::Failed, Some(CheckRuling::Fail))
}

impl Keeper {
    fn new(goal: &Goal, from: Moment) -> Self {
        let known = GoalLedgerState::first_seen(goal.timing.clone(), from);
        let account = GoalAccountAtDeployment { known, ends: Vec::new(), resumed: None };
        Self {
            driver: GoalDriver::new(goal.clone(), "deployment".into(), account),
            permits: Permits::default(),
            takes: Duration::ZERO,
            ends: [passed(), passed()],
            running: Vec::new(),
            begun: Vec::new(),
            notified: Vec::new(),
            records: Vec::new(),
            steps: 0,
        }
    }

    /// Lets something happen, and what follows from it at once.
    fn step(&mut self, now: Moment, occurrence: GoalOccurrence) {
        let mut next = vec![occurrence];
        while !next.is_empty() {
            let occurrence = next.remove(0);
            for command in self.driver.step(now, occurrence, &mut self.permits) {
                next.extend(self.carry_out(now, command));
            }
            self.records.extend(self.driver.take_records());
            self.steps += 1;
            if !self.steps.is_multiple_of(STORED) {
                continue;
            }
            // Another worker goes on with what was stored.
            let stored = serde_json::to_string(&self.driver).unwrap();
            self.driver = serde_json::from_str(&stored).unwrap();
        }
    }

    fn carry_out(&mut self, now: Moment, command: GoalCommand) -> Option<GoalOccurrence> {
        match command {
            GoalCommand::Start(run) => {
                let [look, repair] = self.ends.clone();
                let end = if run.part == ReconciliationPart::Look { look } else { repair };
                self.begun.push(run.clone());
                if self.takes.is_zero() {
                    return Some(GoalOccurrence::Ended { run: run.run, end });
                }
                self.running.push((run, now.after(self.takes), end));
                None
            }
            GoalCommand::Cancel(run) => {
                self.running.retain(|(other, ..)| other.run != run);
                Some(GoalOccurrence::Ended { run, end: end(RunOutcome::Cancelled, None) })
            }
            GoalCommand::Notify(notices) => {
                let news =
                    notices.iter().map(|notice| notice["message"]["news"].as_str().unwrap().to_owned());
                self.notified.extend(news);
                None
            }
        }
    }

    /// Ends the runs that are over, and wakes the goal if it wants that.
    fn look(&mut self, now: Moment) {
        let is_over = |(_, ends, _): &mut (ReconciliationRun, Moment, ReconciliationRunEnd)| *ends <= now;
        let over: Vec<_> = self.running.extract_if(.., is_over).collect();
        for (run, _, end) in over {
            self.step(now, GoalOccurrence::Ended { run: run.run, end });
        }
        self.step(now, GoalOccurrence::Woke);
    }

    /// Returns the time of the next event, later than now.
    fn next(&self, now: Moment) -> Option<Moment> {
        let ends = self.running.iter().map(|(_, ends, _)| *ends);
        let next = ends.chain(self.driver.wake()).min();
        next.map(|next| next.max(Moment::from_millis(now.millis() + 1)))
    }

    fn live(&mut self, from: Moment, to: Moment) {
        let mut now = from;
        while now < to {
            self.look(now);
            now = self.next(now).map_or(to, |next| next.min(to));
        }
    }

    /// The ledger of a workspace that records what happened here.
    fn imported(&self, from: Moment) -> InMemoryLedger {
        let goal = self.driver.goal();
        let known = GoalLedgerState::first_seen(goal.timing.clone(), from);
        let mut ledger = InMemoryLedger::of(goal.id.clone(), known);
        for GoalRecord { at, fact } in &self.records {
            match fact {
                GoalFact::Decided { after, decision } => {
                    let written: Result<bool, Infallible> = ledger.record(goal, *after, decision, *at);
                    assert!(written.unwrap(), "a decision is about the ledger as it was recorded");
                }
                GoalFact::Requested { slot } => {
                    assert!(ledger.queue(&goal.id, *slot, ReconciliationCause::Person, *at));
                }
                GoalFact::Started { run, slot, .. } => assert!(ledger.start(&goal.id, *slot, run.clone())),
                GoalFact::Ended { look, pause, .. } => {
                    ledger.end(&goal.id, look);
                    if let Some(reason) = pause {
                        ledger.pause(&goal.id, reason, *at);
                    }
                }
                GoalFact::Paused { reason } => ledger.pause(&goal.id, reason, *at),
                GoalFact::Resumed => ledger.resume(&goal.id),
                GoalFact::RepairStarted { .. } | GoalFact::Recalled => {}
            }
        }
        ledger
    }

    fn verdicts(&self) -> Vec<(ReconciliationHealth, &str)> {
        let ended = self.records.iter().filter_map(|record| match &record.fact {
            GoalFact::Ended { outcome: GoalOutcome { health, reason }, .. } => {
                Some((*health, reason.as_str()))
            }
            _ => None,
        });
        ended.collect()
    }

    /// The slots of the ledger here, by what was decided about them last.
    fn states(&self, from: Moment) -> Vec<(Moment, SlotState)> {
        let ledger = self.imported(from);
        ledger.rows(&self.driver.goal().id).map(|(row, _)| (row.slot, row.state)).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// The slots are the same, whether a daemon decides about them or a backend does, through outages of either.
    #[test]
    fn a_backend_decides_what_a_daemon_does(scenario in any_scenario()) {
        for goal in scenario.goals.clone() {
            let mut scenario = SimulationScenario { goals: vec![Arc::clone(&goal)], ..scenario.clone() };
            if goal.overlap == GoalOverlapPolicy::Allow {
                // Ends that come in an outage are heard of one by one after it, and a missed time that waits for the first
                // of them may find another reconciliation under way.
                scenario.outages.clear();
            }
            let (from, to, outages) = (scenario.from, scenario.to, scenario.outages.clone());
            let mut keeper = Keeper::new(&goal, from);
            keeper.takes = scenario.takes[&goal.id];
            let mut now = from;
            for (down, up) in outages.into_iter().chain([(to, to)]) {
                keeper.live(now, down.min(to));
                now = up;
            }
            let wanted = rows(&simulate(scenario).ledger, std::slice::from_ref(&goal));
            prop_assert_eq!(rows(&keeper.imported(from), std::slice::from_ref(&goal)), wanted);
        }
    }
}

/// A goal that is due each minute, is repaired, and tells of all that happens.
fn repaired_goal() -> Goal {
    let mut goal = goal("* * * * *", "UTC");
    goal.on_failure = OnUnmet::SpawnPlan;
    let on = vec![
        GoalEvent::Failed,
        GoalEvent::Repaired,
        GoalEvent::Healthy,
        GoalEvent::Waiting,
        GoalEvent::Paused,
    ];
    goal.notify = vec![NotificationRule { on, by: NotificationDelivery::Exec(vec!["tell".into()]) }];
    goal
}

fn start() -> Moment {
    at("2026-01-01T00:00:30Z")
}

fn minute(number: u64) -> Moment {
    start().after(seconds(30 + 60 * (number - 1)))
}

#[test]
fn checks_that_fail_are_repaired_and_the_repair_is_told_what_failed() {
    let mut keeper = Keeper::new(&repaired_goal(), start());
    keeper.ends = [unmet(), passed()];
    keeper.look(minute(1));
    let [look, repair] = keeper.begun.as_slice() else { panic!("{:?}", keeper.begun) };
    assert_eq!((look.part, look.checks.len()), (ReconciliationPart::Look, 0));
    assert_eq!((repair.part, &repair.look, repair.slot), (ReconciliationPart::Repair, &look.run, minute(1)));
    assert_eq!(repair.checks, unmet().checks);
    assert_eq!(keeper.verdicts(), [(ReconciliationHealth::Repaired, "checks failed: there")]);
    assert_eq!(keeper.notified, ["repaired"]);
    // The ids follow from the deployment and the slot.
    let mut again = Keeper::new(&repaired_goal(), start());
    again.ends = [unmet(), passed()];
    again.look(minute(1));
    assert_eq!(again.begun, keeper.begun);
}

#[test]
fn what_may_not_start_is_blocked_and_told_once() {
    let mut keeper = Keeper::new(&repaired_goal(), start());
    keeper.permits = Permits(Some("the approval has expired"));
    keeper.look(minute(1));
    keeper.look(minute(2));
    assert_eq!(keeper.states(start()), [(minute(1), SlotState::Blocked), (minute(2), SlotState::Blocked)]);
    assert_eq!(keeper.notified, ["blocked"]);
    keeper.permits = Permits(None);
    keeper.look(minute(3));
    assert_eq!(keeper.states(start()).last(), Some(&(minute(3), SlotState::Started)));
}

#[test]
fn a_repair_that_may_not_start_waits_and_the_next_slot_tries_again() {
    let mut keeper = Keeper::new(&repaired_goal(), start());
    (keeper.ends, keeper.takes) = ([unmet(), passed()], seconds(1));
    keeper.look(minute(1));
    keeper.permits = Permits(Some("no execution is left"));
    keeper.look(minute(1).after(seconds(1)));
    let reason = "checks failed: there; the repair is waiting: no execution is left";
    assert_eq!(keeper.verdicts(), [(ReconciliationHealth::Waiting, reason)]);
    keeper.permits = Permits(None);
    keeper.live(minute(2), minute(2).after(seconds(10)));
    assert_eq!(keeper.verdicts().last().map(|(health, _)| *health), Some(ReconciliationHealth::Repaired));
    assert_eq!(keeper.notified, ["waiting", "repaired"]);
}

#[test]
fn a_repair_that_waits_for_people_blocks_no_slot_and_ends_anew() {
    let mut keeper = Keeper::new(&repaired_goal(), start());
    (keeper.ends, keeper.takes) = ([unmet(), passed()], seconds(1));
    keeper.look(minute(1));
    keeper.takes = seconds(300);
    keeper.look(minute(1).after(seconds(1)));
    let repair = keeper.begun.last().unwrap().run.clone();
    keeper.step(minute(1).after(seconds(2)), GoalOccurrence::Waits { run: repair.clone() });
    keeper.step(minute(1).after(seconds(3)), GoalOccurrence::Waits { run: repair.clone() });
    assert_eq!(keeper.verdicts().len(), 1, "it waits once");
    assert_eq!(keeper.driver.running().collect::<Vec<_>>(), [(&repair, true)]);
    // Another slot is checked meanwhile, and is not repaired beside it.
    keeper.takes = seconds(1);
    keeper.look(minute(2));
    keeper.look(minute(2).after(seconds(1)));
    let short = repair.short();
    let other = format!("checks failed: there; the repair is waiting: another repair is running: {short}");
    assert_eq!(keeper.verdicts().last(), Some(&(ReconciliationHealth::Waiting, other.as_str())));
    keeper.look(minute(1).after(seconds(301)));
    assert_eq!(keeper.verdicts().last().unwrap().0, ReconciliationHealth::Repaired);
    assert_eq!(keeper.notified, ["waiting", "repaired"]);
}

#[test]
fn a_goal_pauses_after_failures_and_goes_on_when_it_is_resumed() {
    use SlotState::{Skipped, Started};
    let mut goal = repaired_goal();
    (goal.auto_pause_after, goal.on_failure) = (Some(2), OnUnmet::Report);
    let mut keeper = Keeper::new(&goal, start());
    keeper.ends = [unmet(), passed()];
    (1..=4).for_each(|number| keeper.look(minute(number)));
    let states =
        |keeper: &Keeper| -> Vec<_> { keeper.states(start()).into_iter().map(|(_, state)| state).collect() };
    assert_eq!(states(&keeper), [Started, Started, Skipped, Skipped]);
    assert_eq!(keeper.notified, ["failed", "paused"]);
    keeper.step(minute(4).after(seconds(1)), GoalOccurrence::Resume);
    keeper.look(minute(5));
    assert_eq!(states(&keeper), [Started, Started, Skipped, Skipped, Started]);
    keeper.step(minute(5).after(seconds(1)), GoalOccurrence::Pause { reason: "a person".into() });
    keeper.look(minute(6));
    assert_eq!(states(&keeper).last(), Some(&Skipped));
    // Nobody can ask for it in a pause.
    keeper.step(minute(6).after(seconds(1)), GoalOccurrence::Request);
    assert_eq!(keeper.states(start()).len(), 6);
    keeper.step(minute(6).after(seconds(2)), GoalOccurrence::Resume);
    keeper.step(minute(6).after(seconds(3)), GoalOccurrence::Request);
    assert_eq!(keeper.begun.last().map(|run| run.slot), Some(minute(6).after(seconds(3))));
}

#[test]
fn a_goal_that_is_recalled_starts_nothing_and_is_over_with_what_runs() {
    for cancels in [false, true] {
        let mut keeper = Keeper::new(&repaired_goal(), start());
        keeper.takes = seconds(200);
        keeper.look(minute(1));
        keeper.step(minute(1).after(seconds(1)), GoalOccurrence::Recall { cancels });
        assert_eq!((keeper.driver.is_over(), keeper.driver.wake()), (cancels, None));
        keeper.look(minute(2));
        keeper.look(minute(10));
        keeper.step(minute(11), GoalOccurrence::Pause { reason: "too late".into() });
        assert!(keeper.driver.is_over());
        assert_eq!(keeper.begun.len(), 1);
        let health = if cancels { ReconciliationHealth::Cancelled } else { ReconciliationHealth::Healthy };
        assert_eq!(keeper.verdicts().first().unwrap().0, health);
        let recalls = keeper.records.iter().filter(|record| record.fact == GoalFact::Recalled);
        assert_eq!(recalls.count(), 1, "the recall is recorded once, and last");
        assert_eq!(keeper.records.last().unwrap().fact, GoalFact::Recalled);
    }
}

#[test]
fn reports_about_runs_that_nobody_knows_change_nothing() {
    let mut keeper = Keeper::new(&repaired_goal(), start());
    let run = RunId::from_bytes([7; 16]);
    keeper.step(start(), GoalOccurrence::Waits { run: run.clone() });
    keeper.step(start(), GoalOccurrence::Ended { run, end: passed() });
    assert!(keeper.records.is_empty());
}

#[test]
fn a_later_slot_replaces_a_reconciliation() {
    let mut goal = repaired_goal();
    goal.overlap = GoalOverlapPolicy::Replace;
    let mut keeper = Keeper::new(&goal, start());
    keeper.takes = seconds(90);
    keeper.live(minute(1), minute(2).after(seconds(1)));
    assert_eq!(keeper.verdicts(), [(ReconciliationHealth::Cancelled, "the check was cancelled")]);
    assert_eq!(keeper.begun.len(), 2);
}

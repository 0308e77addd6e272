//! A daemon without a machine: its clock is an argument, its reconciliations take a given time.

use std::time::Duration;

use crate::goal::{DueActions, GoalLedger, InMemoryLedger, ReconciliationCause, paused_until, turn};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_model::{
    Goal, GoalApproval, GoalOverlapPolicy, MissedTimesChoice, MissedTimesPolicy, OnUnmet,
    schedule::{CronExpression, DstPolicy, GoalSchedule, ScheduleZone, TimingRule},
};

pub fn at(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

pub fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub fn minutes(count: u64) -> Duration {
    Duration::from_mins(count)
}

pub fn timing(cron: &str, zone: &str) -> GoalSchedule {
    GoalSchedule::of(TimingRule::Cron {
        expression: CronExpression::parse(cron).unwrap(),
        zone: ScheduleZone::parse(zone).unwrap(),
        dst: DstPolicy::default(),
    })
}

/// A goal with the defaults of the language.
pub fn goal(cron: &str, zone: &str) -> Goal {
    Goal {
        id: PlanId::parse("goal").unwrap(),
        title: None,
        path: "goals/goal.md".into(),
        timing: timing(cron, zone),
        missed: MissedTimesPolicy::default(),
        window: Goal::WINDOW,
        overlap: GoalOverlapPolicy::default(),
        auto_pause_after: None,
        backend: None,
        on_failure: OnUnmet::default(),
        is_job: false,
        approval: GoalApproval::default(),
        notify: Vec::new(),
    }
}

pub fn missing(run: MissedTimesChoice) -> MissedTimesPolicy {
    MissedTimesPolicy { run, ..MissedTimesPolicy::default() }
}

/// A reconciliation that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    pub slot: Moment,
    pub at: Moment,
    pub cause: ReconciliationCause,
    /// True if another one was running.
    pub beside: bool,
}

pub struct World {
    pub goal: Goal,
    pub ledger: InMemoryLedger,
    /// The duration of a reconciliation that starts now.
    pub takes: Duration,
    pub begun: Vec<Begun>,
    pub cancelled: usize,
    /// The earliest instant after which decisions were still open.
    pub lowest: Moment,
    running: Vec<(RunId, Moment)>,
    runs: u128,
}

impl World {
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            ledger: InMemoryLedger::default(),
            takes: Duration::ZERO,
            begun: Vec::new(),
            cancelled: 0,
            lowest: Moment::from_millis(i64::MAX),
            running: Vec::new(),
            runs: 0,
        }
    }

    /// Takes turns and starts due slots as long as reconciliations end at once. Returns the time of
    /// the next event.
    pub fn look(&mut self, now: Moment) -> Option<Moment> {
        self.end(now);
        loop {
            let turn = self.turn(now);
            let mut again = !turn.cancel.is_empty();
            for run in &turn.cancel {
                self.cancelled += 1;
                self.running.retain(|(other, _)| other != run);
                self.ledger.end(&self.goal.id, run);
            }
            for (slot, cause) in turn.start {
                again |= self.begin(slot, cause, now);
            }
            if !again {
                let ends = self.running.iter().map(|(_, ends)| *ends);
                return ends.chain(turn.wake).min();
            }
        }
    }

    /// Takes one turn, and dies before anything starts.
    pub fn look_and_die(&mut self, now: Moment) {
        self.end(now);
        self.turn(now);
    }

    fn turn(&mut self, now: Moment) -> DueActions {
        let turn = turn(&self.goal, &mut self.ledger, now).unwrap();
        let known = self.ledger.known(&self.goal.id).unwrap().unwrap();
        self.lowest = self.lowest.min(known.decided_until);
        turn
    }

    /// Starts the reconciliation of a slot; returns true if it has ended, too.
    fn begin(&mut self, slot: Moment, cause: ReconciliationCause, now: Moment) -> bool {
        self.runs += 1;
        let run = RunId::from_bytes(self.runs.to_be_bytes());
        let beside = !self.running.is_empty();
        if !self.ledger.start(&self.goal.id, slot, run.clone()) {
            return false;
        }
        self.begun.push(Begun { slot, at: now, cause, beside });
        self.running.push((run, now.after(self.takes)));
        self.end(now);
        self.takes.is_zero()
    }

    /// Ends the reconciliations that are over, with or without a daemon.
    fn end(&mut self, now: Moment) {
        for (run, ends) in &self.running {
            if *ends <= now {
                self.ledger.end(&self.goal.id, run);
            }
        }
        self.running.retain(|(_, ends)| *ends > now);
    }

    /// Runs a daemon from one instant to another, both included.
    pub fn live(&mut self, from: Moment, to: Moment) {
        let mut now = from;
        loop {
            let next = self.look(now);
            match next.filter(|next| *next <= to) {
                Some(next) => now = next.max(now.after(Duration::from_millis(1))),
                None => break,
            }
        }
        if now < to {
            self.look(to);
        }
    }

    /// As [`Self::live`], with the instants as text.
    pub fn lives(&mut self, from: &str, to: &str) {
        self.live(at(from), at(to));
    }

    /// Pauses the goal, as the command does.
    pub fn pause(&mut self, now: Moment) {
        self.turn(now);
        self.ledger.pause(&self.goal.id, "somebody did", now);
    }

    /// Resumes the goal, as the command does.
    pub fn resume(&mut self, now: Moment) {
        let known = self.ledger.known(&self.goal.id).unwrap();
        if let Some(known) = known.filter(|known| known.paused.is_some()) {
            let decision = paused_until(&self.goal, &known, now);
            let after = Some(known.decided_until);
            let goal = &self.goal;
            assert!(self.ledger.record(goal, after, &decision, now).unwrap());
            self.lowest = self.lowest.min(decision.decided_until);
            self.ledger.resume(&self.goal.id);
        }
    }

    /// The slots whose reconciliations were started, in that order.
    pub fn slots(&self) -> Vec<String> {
        let begun = self.begun.iter();
        begun.map(|begun| begun.slot.to_second()).collect()
    }

    /// The whole ledger: a line for each row.
    pub fn rows(&self) -> Vec<String> {
        let rows = self.ledger.rows(&self.goal.id);
        rows.map(|(row, _)| {
            let (slot, state) = (row.slot.to_second(), row.state.as_str());
            let what = match row.count {
                1 => format!("{slot} {state}"),
                count => format!("{slot}…{} {count} {state}", row.last.to_second()),
            };
            match (row.cause, row.reason.as_str()) {
                (ReconciliationCause::Schedule, "") => what,
                (ReconciliationCause::Schedule, reason) => format!("{what}: {reason}"),
                (cause, reason) => format!("{what} by {}: {reason}", cause.as_str()),
            }
        })
        .collect()
    }
}

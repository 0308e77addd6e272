//! A daemon without a machine: its clock is an argument, its cycles take as long as tests say.

use std::time::Duration;

use crate::goal::{Cause, Ledger, MemoryLedger, Turn, paused_until, turn};
use crate::model::{Goal, GoalApproval, Missed, MissedRun, OnUnmet, Overlap};
use crate::name::{PlanId, RunId};
use crate::schedule::{Cron, Dst, Timing, When, Zone};
use crate::time::Moment;

pub fn at(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

pub fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub fn minutes(count: u64) -> Duration {
    Duration::from_mins(count)
}

pub fn timing(cron: &str, zone: &str) -> Timing {
    Timing::of(When::Cron {
        expression: Cron::parse(cron).unwrap(),
        zone: Zone::parse(zone).unwrap(),
        dst: Dst::default(),
    })
}

/// A goal with all that it does not say as the language has it.
pub fn goal(cron: &str, zone: &str) -> Goal {
    Goal {
        id: PlanId::parse("goal").unwrap(),
        title: None,
        path: "goals/goal.md".into(),
        timing: timing(cron, zone),
        missed: Missed::default(),
        window: Goal::WINDOW,
        overlap: Overlap::default(),
        auto_pause_after: None,
        on_failure: OnUnmet::default(),
        approval: GoalApproval::default(),
        notify: Vec::new(),
    }
}

pub fn missing(run: MissedRun) -> Missed {
    Missed {
        run,
        ..Missed::default()
    }
}

/// A cycle that began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    pub slot: Moment,
    pub at: Moment,
    pub cause: Cause,
    /// Whether another one went on.
    pub beside: bool,
}

pub struct World {
    pub goal: Goal,
    pub ledger: MemoryLedger,
    /// How long a cycle takes that begins now.
    pub takes: Duration,
    pub begun: Vec<Begun>,
    pub cancelled: usize,
    /// The earliest instant after which anything was still to be decided.
    pub lowest: Moment,
    running: Vec<(RunId, Moment)>,
    runs: u128,
}

impl World {
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            ledger: MemoryLedger::default(),
            takes: Duration::ZERO,
            begun: Vec::new(),
            cancelled: 0,
            lowest: Moment::from_millis(i64::MAX),
            running: Vec::new(),
            runs: 0,
        }
    }

    /// Looks once, begins what is due, and again as long as cycles end at once. Gives when
    /// something happens next.
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

    /// Looks once, and dies before anything begins.
    pub fn look_and_die(&mut self, now: Moment) {
        self.end(now);
        self.turn(now);
    }

    fn turn(&mut self, now: Moment) -> Turn {
        let turn = turn(&self.goal, &mut self.ledger, now).unwrap();
        let known = self.ledger.known(&self.goal.id).unwrap().unwrap();
        self.lowest = self.lowest.min(known.decided);
        turn
    }

    /// Begins the cycle of a slot; answers whether it has ended, too.
    fn begin(&mut self, slot: Moment, cause: Cause, now: Moment) -> bool {
        self.runs += 1;
        let run = RunId::from_bytes(self.runs.to_be_bytes());
        let beside = !self.running.is_empty();
        if !self.ledger.start(&self.goal.id, slot, run.clone()) {
            return false;
        }
        self.begun.push(Begun {
            slot,
            at: now,
            cause,
            beside,
        });
        self.running.push((run, now.after(self.takes)));
        self.end(now);
        self.takes.is_zero()
    }

    /// Ends the cycles that are over, whoever looks.
    fn end(&mut self, now: Moment) {
        for (run, ends) in &self.running {
            if *ends <= now {
                self.ledger.end(&self.goal.id, run);
            }
        }
        self.running.retain(|(_, ends)| *ends > now);
    }

    /// A daemon that is there from one instant to another, both included.
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

    /// As [`Self::live`], with the instants as people write them.
    pub fn lives(&mut self, from: &str, to: &str) {
        self.live(at(from), at(to));
    }

    /// Somebody pauses the goal, as the command does.
    pub fn pause(&mut self, now: Moment) {
        self.turn(now);
        self.ledger.pause(&self.goal.id, "somebody did", now);
    }

    /// Somebody ends the pause, as the command does.
    pub fn resume(&mut self, now: Moment) {
        let known = self.ledger.known(&self.goal.id).unwrap();
        if let Some(known) = known.filter(|known| known.paused.is_some()) {
            let decision = paused_until(&self.goal, &known, now);
            let after = Some(known.decided);
            let goal = &self.goal;
            assert!(self.ledger.record(goal, after, &decision, now).unwrap());
            self.lowest = self.lowest.min(decision.decided);
            self.ledger.resume(&self.goal.id);
        }
    }

    /// The slots whose cycles began, in the order in which they did.
    pub fn slots(&self) -> Vec<String> {
        let begun = self.begun.iter();
        begun.map(|begun| begun.slot.to_second()).collect()
    }

    /// What is accounted for: a line for each row.
    pub fn rows(&self) -> Vec<String> {
        let rows = self.ledger.rows(&self.goal.id);
        rows.map(|(row, _)| {
            let (slot, state) = (row.slot.to_second(), row.state.as_str());
            let what = match row.count {
                1 => format!("{slot} {state}"),
                count => format!("{slot}…{} {count} {state}", row.last.to_second()),
            };
            match (row.cause, row.why.as_str()) {
                (Cause::Schedule, "") => what,
                (Cause::Schedule, why) => format!("{what}: {why}"),
                (cause, why) => format!("{what} by {}: {why}", cause.as_str()),
            }
        })
        .collect()
    }
}

//! Budgets of plans, what attempts use up, and what a list of events says of both.

use std::collections::BTreeMap;

use wf_base::time::Moment;
use wf_core::machine::{AttemptUsage, CompactionEnd, Event, EventKind, GuidanceEnd, PlannerRejection};
use wf_model::{BudgetResource, Money, RunBudget};

use super::dice::Dice;

/// A random budget of a plan with some steps.
pub fn of_plan(dice: &mut Dice, steps: usize) -> RunBudget {
    let steps = u32::try_from(steps).expect("plans are small");
    let mut budget = RunBudget { reserve_ppm: *dice.pick(&[0, 100_000, 500_000]), ..RunBudget::default() };
    if dice.one_in(2) {
        budget.max_attempts = Some(1 + dice.up_to(2 * steps));
    }
    if dice.one_in(2) {
        budget.max_wall_time_ms = Some(u64::from(1 + dice.up_to(200)) * 100);
        budget.progress = dice.one_in(2);
    }
    if dice.one_in(3) {
        budget.max_tokens = Some(u64::from(1 + dice.up_to(1000)));
    }
    if dice.one_in(3) {
        budget.max_cost = Some(Money::of_micros(u64::from(1 + dice.up_to(1000))));
    }
    budget
}

/// What an attempt uses up: a function of the attempt alone.
pub fn usage(attempt: &impl std::fmt::Display) -> AttemptUsage {
    let mut dice = Dice::of(7, &attempt.to_string());
    let mut some = |most: u32| {
        if dice.one_in(2) { u64::from(dice.up_to(most)) } else { 0 }
    };
    AttemptUsage { attempts: some(2), tokens: some(200), cost: Money::of_micros(some(200)) }
}

/// What is known of what a run has used up.
#[derive(Clone, Debug, Default)]
pub struct Book {
    pub budget: Option<RunBudget>,
    pub since: Option<Moment>,
    pub used: AttemptUsage,
    pub noticed: BTreeMap<BudgetResource, u32>,
    pub time: Option<u64>,
    pub spent: bool,
    /// Whether its time is over.
    pub overtime: bool,
}

impl Book {
    /// Takes one more event into account.
    pub fn take(&mut self, event: &Event) {
        match &event.fact {
            EventKind::RunStarted { .. } => self.since = Some(event.at),
            EventKind::BudgetSet(budget) => {
                self.time = budget.max_wall_time_ms;
                self.budget = Some((**budget).clone());
            }
            EventKind::AttemptStarted(_) => self.used.attempts += 1,
            EventKind::PlannerAccepted { calls, .. }
            | EventKind::PlannerRejected(PlannerRejection { calls, .. }) => {
                self.used = self.used.plus(calls.usage);
            }
            EventKind::AttemptEnded { usage, .. }
            | EventKind::GuidanceEnded(GuidanceEnd { usage, .. })
            | EventKind::CompactionEnded(CompactionEnd { usage, .. }) => self.used = self.used.plus(*usage),
            EventKind::ChildEnded(end) => self.used = self.used.plus(end.usage),
            EventKind::GateEvaluated { result, .. } => {
                let (tokens, cost) = (result.tokens, result.cost);
                self.used = self.used.plus(AttemptUsage { attempts: 0, tokens, cost });
            }
            EventKind::ModelCallEnded(end) => {
                let (tokens, cost) = (end.effort.usage.total(), end.effort.cost);
                self.used = self.used.plus(AttemptUsage { attempts: 0, tokens, cost });
            }
            EventKind::CheckCompleted { verdict, .. } => {
                if let Some(judged) = &verdict.judgement {
                    let (tokens, cost) = (judged.tokens, judged.cost);
                    self.used = self.used.plus(AttemptUsage { attempts: 0, tokens, cost });
                }
            }
            EventKind::BudgetThresholdReached { spent, percent } => {
                self.noticed.insert(spent.resource, *percent);
            }
            EventKind::BudgetExtended { limit_ms: limit } => self.time = Some(*limit),
            EventKind::BudgetExhausted { hard, .. } => {
                self.spent = true;
                self.overtime |= hard;
            }
            _ => {}
        }
    }

    /// How much is used up at an instant.
    pub fn used(&self, what: BudgetResource, at: Moment) -> u64 {
        match what {
            BudgetResource::Attempts => self.used.attempts,
            BudgetResource::Rounds => 0,
            BudgetResource::Tokens => self.used.tokens,
            BudgetResource::Cost => self.used.cost.micros(),
            BudgetResource::WallTime => {
                let duration_ms = self.since.map_or(0, |since| at.since(since).as_millis());
                u64::try_from(duration_ms).expect("worlds are short")
            }
        }
    }

    /// What is limited, and how.
    pub fn limits(&self) -> Vec<(BudgetResource, u64)> {
        let Some(budget) = &self.budget else {
            return Vec::new();
        };
        let attempts = budget.max_attempts.map(u64::from);
        let cost = budget.max_cost.map(Money::micros);
        let all = [
            (BudgetResource::Attempts, attempts),
            (BudgetResource::WallTime, self.time),
            (BudgetResource::Tokens, budget.max_tokens),
            (BudgetResource::Cost, cost),
        ];
        let limited = all.into_iter();
        limited.filter_map(|(what, limit)| Some((what, limit?))).collect()
    }

    /// How much of a limit main steps leave for others, of which some are `finally` steps.
    pub fn kept(&self, what: BudgetResource, limit: u64, last: usize) -> u64 {
        let share = self.budget.as_ref().map_or(0, |budget| budget.reserve_ppm);
        let part = limit * u64::from(share) / 1_000_000;
        match what {
            BudgetResource::Attempts if last == 0 => 0,
            BudgetResource::Attempts => part.max(last as u64).min(limit - 1),
            _ => part,
        }
    }
}

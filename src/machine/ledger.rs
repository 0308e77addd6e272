//! What a run has used up: the fold of its events, the same for the machine and for whoever
//! only looks on. A restart resets nothing, since it is not kept anywhere else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Event, Fact, StepState};
use crate::model::{Budget, Money, Resource};
use crate::time::Moment;

/// What one attempt used up, as its work said it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Usage {
    /// The attempts of a nested run and of all below it; the attempt itself is not among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u64,
    /// Tokens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money, in millionths of a US dollar.
    #[serde(
        default,
        rename = "cost_micro_usd",
        skip_serializing_if = "Money::is_zero"
    )]
    pub cost: Money,
}

/// What of a budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Spent {
    /// What.
    pub what: Resource,
    /// How much was used, in its unit.
    pub used: u64,
    /// The limit, in the same unit; a limit on the time as it was extended.
    pub limit: u64,
}

/// What a run has used up so far, and of what budget.
///
/// **Invariant:** it is the fold of the run's events, in their order, with [`Ledger::take`].
/// Nested runs are counted when their attempt has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// What it may use up, if that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Attempts that began, those of nested runs that ended among them.
    pub attempts: u64,
    /// Rounds of replanning.
    pub rounds: u64,
    /// Tokens.
    pub tokens: u64,
    /// Money, in millionths of a US dollar.
    #[serde(rename = "cost_micro_usd")]
    pub cost: Money,
    /// When the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Moment>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// The limit on the time as it was extended, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_ms: Option<u64>,
    /// The highest part of each limit that was noticed, in percent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noticed: BTreeMap<Resource, u32>,
    /// What was used up first, once something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// Whether the time is over, so that what runs is ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtime: bool,
    /// When the run came further last: a place ended well, or a gap shrank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Moment>,
}

impl Usage {
    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            attempts: self.attempts.saturating_add(other.attempts),
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.plus(other.cost),
        }
    }
}

impl Ledger {
    /// The events that it is made of.
    pub const EVENTS: [&'static str; 9] = [
        "run_started",
        "budget_set",
        "attempt_started",
        "attempt_ended",
        "step_ended",
        "budget_noticed",
        "budget_extended",
        "budget_spent",
        "run_ended",
    ];

    /// What events say was used up.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut ledger = Self::default();
        for event in events {
            ledger.take(event.at, &event.fact);
        }
        ledger
    }

    /// Takes one more fact of the run into account.
    pub fn take(&mut self, at: Moment, fact: &Fact) {
        match fact {
            Fact::RunStarted { .. } => self.since = Some(at),
            Fact::BudgetSet(budget) => self.budget = Some((**budget).clone()),
            Fact::AttemptStarted(_) => self.attempts = self.attempts.saturating_add(1),
            Fact::AttemptEnded { usage, .. } => self.add(*usage),
            // What was taken over from an earlier run is no step forward.
            Fact::StepEnded {
                state: StepState::Succeeded,
                from: None,
                ..
            } => self.progress = Some(at),
            Fact::BudgetNoticed { spent, percent } => {
                self.noticed.insert(spent.what, *percent);
            }
            Fact::BudgetExtended { limit } => self.extended_ms = Some(*limit),
            Fact::BudgetSpent { spent, at_once } => {
                self.spent.get_or_insert(*spent);
                self.overtime |= at_once;
            }
            Fact::RunEnded { .. } => self.until = Some(at),
            _ => {}
        }
    }

    fn add(&mut self, usage: Usage) {
        let all = self.usage().plus(usage);
        (self.attempts, self.tokens, self.cost) = (all.attempts, all.tokens, all.cost);
    }

    /// Counts one more round of replanning: for the fact that says that one began.
    #[expect(dead_code, reason = "rounds of replanning are not built yet")]
    pub(super) fn count_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    /// What a run that this one is nested in counts of it.
    pub fn usage(&self) -> Usage {
        Usage {
            attempts: self.attempts,
            tokens: self.tokens,
            cost: self.cost,
        }
    }

    /// How much of a resource is used up at an instant, in its unit. The time counts from the
    /// beginning of the run to its end, also while nobody works on it.
    pub fn used(&self, what: Resource, now: Moment) -> u64 {
        match what {
            Resource::Attempts => self.attempts,
            Resource::Rounds => self.rounds,
            Resource::WallTime => {
                let passed = self
                    .since
                    .map(|since| self.until.unwrap_or(now).since(since));
                let millis = passed.unwrap_or_default().as_millis();
                u64::try_from(millis).unwrap_or(u64::MAX)
            }
            Resource::Tokens => self.tokens,
            Resource::Cost => self.cost.micros(),
        }
    }

    /// The limit on a resource, in its unit; on the time as it was extended.
    pub fn limit(&self, what: Resource) -> Option<u64> {
        let limit = self.budget.as_ref()?.limit(what);
        match what {
            Resource::WallTime => self.extended_ms.or(limit),
            _ => limit,
        }
    }

    /// Whether there is anything to tell of it: a budget, or what only a ledger tells.
    pub fn is_worth_telling(&self) -> bool {
        self.budget.is_some() || self.tokens > 0 || !self.cost.is_zero()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An amount of a resource, as people read it: `20 attempts`, `30m`, `12k tokens`, `$0.40`.
impl std::fmt::Display for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, used, limit } = *self;
        let time = |millis| crate::time::format_duration(std::time::Duration::from_millis(millis));
        match what {
            Resource::Attempts => write!(f, "{used} of {limit} attempts"),
            Resource::Rounds => write!(f, "{used} of {limit} rounds"),
            Resource::Tokens => write!(f, "{used} of {limit} tokens"),
            Resource::WallTime => write!(f, "{} of {}", time(used), time(limit)),
            Resource::Cost => {
                let (used, limit) = (Money::of_micros(used), Money::of_micros(limit));
                write!(f, "{used} of {limit}")
            }
        }
    }
}

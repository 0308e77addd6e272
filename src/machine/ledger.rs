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
    pub const EVENTS: [&'static str; 10] = [
        "run_started",
        "budget_set",
        "attempt_started",
        "attempt_ended",
        "step_ended",
        "round_closed",
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
            Fact::RoundClosed(round) if round.goes_on() => self.count_round(),
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

#[cfg(test)]
mod tests {
    use super::{Ledger, Spent, Usage};
    use crate::machine::{Attempt, Exit, Fact, Phase, Place};
    use crate::model::{Budget, Money, Object, Resource};
    use crate::name::{Name, PlanId};
    use crate::time::Moment;
    use proptest::prelude::*;

    fn attempt(number: u32) -> Attempt {
        let place = Place::of(&Name::parse("a").unwrap());
        Attempt {
            place,
            attempt: number,
        }
    }

    fn ended(usage: Usage) -> Fact {
        Fact::AttemptEnded {
            attempt: attempt(1),
            how: Exit::Code { code: 1 },
            class: None,
            outputs: Object::new(),
            artifacts: Vec::new(),
            standing: None,
            usage,
            service: false,
        }
    }

    fn begun() -> Fact {
        Fact::RunStarted {
            logic: 1,
            plan: PlanId::parse("p").unwrap(),
            params: Object::new(),
        }
    }

    #[test]
    fn an_extended_limit_replaces_that_on_time_alone() {
        let mut ledger = Ledger::default();
        let budget = Budget {
            max_attempts: Some(3),
            max_wall_time_ms: Some(1_000),
            ..Budget::default()
        };
        for fact in [
            begun(),
            Fact::BudgetSet(Box::new(budget)),
            Fact::BudgetExtended { limit: 1_250 },
        ] {
            ledger.take(Moment::from_millis(500), &fact);
        }
        assert_eq!(ledger.limit(Resource::WallTime), Some(1_250));
        assert_eq!(ledger.limit(Resource::Attempts), Some(3));
        assert_eq!(ledger.limit(Resource::Tokens), None);
        let late = Moment::from_millis(2_000);
        assert_eq!(ledger.used(Resource::WallTime, late), 1_500);
        assert!(ledger.is_worth_telling());
    }

    #[test]
    fn amounts_are_told_in_their_units() {
        for (what, used, limit, text) in [
            (Resource::Attempts, 20, 20, "20 of 20 attempts"),
            (Resource::Rounds, 1, 3, "1 of 3 rounds"),
            (Resource::WallTime, 61_000, 90_000, "1m1s of 1m30s"),
            (Resource::Tokens, 5, 7, "5 of 7 tokens"),
            (Resource::Cost, 400_000, 2_000_000, "$0.40 of $2.00"),
        ] {
            assert_eq!(Spent { what, used, limit }.to_string(), text);
        }
    }

    fn any_fact() -> impl Strategy<Value = Fact> {
        let most = u64::MAX;
        let usage = (0..4_u64, 0..most, 0..most).prop_map(|(attempts, tokens, micros)| Usage {
            attempts,
            tokens,
            cost: Money::of_micros(micros),
        });
        prop_oneof![
            Just(begun()),
            (1..9_u32).prop_map(|number| Fact::AttemptStarted(attempt(number))),
            usage.prop_map(ended),
            (0..9_u64).prop_map(|limit| Fact::BudgetExtended { limit }),
            Just(Fact::PhaseEntered {
                phase: Phase::Finally
            }),
        ]
    }

    proptest! {
        /// What is kept at any point, and gone on with, is what the events alone lead to.
        #[test]
        fn it_is_the_fold_of_the_events(
            facts in proptest::collection::vec(any_fact(), 0..30), cut in 0..30_usize
        ) {
            let (mut whole, mut kept) = (Ledger::default(), Ledger::default());
            for (at, fact) in facts.iter().enumerate() {
                if at == cut {
                    let text = serde_json::to_string(&kept).unwrap();
                    kept = serde_json::from_str(&text).unwrap();
                }
                let at = Moment::from_millis(i64::try_from(at).unwrap());
                let before = whole.usage();
                whole.take(at, fact);
                kept.take(at, fact);
                prop_assert!(whole.tokens >= before.tokens && whole.cost >= before.cost);
            }
            prop_assert_eq!(whole, kept);
        }
    }
}

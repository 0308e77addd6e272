//! The resources used by a run: the fold of its events, the same for the machine and for a
//! mere observer. A restart resets nothing, since they are not stored anywhere else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::machine::words::{
    CheckVerdict, CompactionEnd, Event, EventKind, GuidanceEnd, PlannerRejection, StepState,
};
use wf_base::time::Moment;
use wf_model::{BudgetResource, Money, RunBudget};

/// The resources used by one attempt, as its work reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttemptUsage {
    /// The attempts of a nested run and of all below it; the attempt itself is not among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u64,
    /// Tokens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money, in millionths of a US dollar.
    #[serde(default, rename = "cost_micro_usd", skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
}

/// A budgeted resource and the amount used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BudgetUsage {
    /// The resource.
    pub resource: BudgetResource,
    /// The amount used, in its unit.
    pub used: u64,
    /// The limit, in the same unit; for time, as extended.
    pub limit: u64,
}

/// The resources used by a run so far, and its budget.
///
/// **Invariant:** it is the fold of the run's events, in their order, with [`BudgetLedger::apply_fact`].
/// Nested runs are counted when their attempt has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BudgetLedger {
    /// The budget, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RunBudget>,
    /// Attempts begun, including those of ended nested runs.
    pub attempts: u64,
    /// Rounds of replanning.
    pub rounds: u64,
    /// Tokens.
    pub tokens: u64,
    /// Money, in millionths of a US dollar.
    #[serde(rename = "cost_micro_usd")]
    pub cost: Money,
    /// The start time of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Moment>,
    /// The end time of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// The time limit as extended, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_ms: Option<u64>,
    /// The highest reported threshold of each limit, in percent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noticed: BTreeMap<BudgetResource, u32>,
    /// The first exhausted resource, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<BudgetUsage>,
    /// True if the time is over, and running work is ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtime: bool,
    /// The time of the run's last progress: a task ended well, or a gap shrank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Moment>,
}

impl AttemptUsage {
    /// True if nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            attempts: self.attempts.saturating_add(other.attempts),
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.plus(other.cost),
        }
    }
}

impl BudgetLedger {
    /// The events of its fold.
    pub const EVENTS: [&'static str; 18] = [
        "run_started",
        "budget_set",
        "attempt_started",
        "attempt_ended",
        "child_ended",
        "model_call_ended",
        "gate_evaluated",
        "check_completed",
        "planner_accepted",
        "planner_rejected",
        "guidance_ended",
        "compaction_ended",
        "step_ended",
        "round_completed",
        "budget_threshold_reached",
        "budget_extended",
        "budget_exhausted",
        "run_ended",
    ];

    /// Returns the ledger of the given events.
    pub fn of_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut ledger = Self::default();
        for event in events {
            ledger.apply_fact(event.at, &event.fact);
        }
        ledger
    }

    /// Applies one more fact of the run.
    pub fn apply_fact(&mut self, at: Moment, kind: &EventKind) {
        match kind {
            EventKind::RunStarted { .. } => self.since = Some(at),
            EventKind::BudgetSet(budget) => self.budget = Some((**budget).clone()),
            EventKind::AttemptStarted(_) => self.attempts = self.attempts.saturating_add(1),
            EventKind::PlannerAccepted { calls, .. }
            | EventKind::PlannerRejected(PlannerRejection { calls, .. }) => {
                self.add(calls.usage);
            }
            EventKind::AttemptEnded { usage, .. }
            | EventKind::GuidanceEnded(GuidanceEnd { usage, .. })
            | EventKind::CompactionEnded(CompactionEnd { usage, .. }) => self.add(*usage),
            EventKind::ChildEnded(end) => self.add(end.usage),
            EventKind::GateEvaluated { result, .. } => {
                self.add(AttemptUsage { attempts: 0, tokens: result.tokens, cost: result.cost });
            }
            EventKind::CheckCompleted { verdict: CheckVerdict { judgement: Some(judged), .. }, .. } => {
                self.add(AttemptUsage { attempts: 0, tokens: judged.tokens, cost: judged.cost });
            }
            EventKind::ModelCallEnded(end) => {
                self.add(AttemptUsage {
                    attempts: 0,
                    tokens: end.effort.usage.total(),
                    cost: end.effort.cost,
                });
            }
            // A result reused from an earlier run is no progress.
            EventKind::StepEnded { state: StepState::Succeeded, reused_from: None, .. } => {
                self.progress = Some(at);
            }
            EventKind::RoundCompleted(round) if round.replans() => self.count_round(),
            EventKind::BudgetThresholdReached { spent, percent } => {
                self.noticed.insert(spent.resource, *percent);
            }
            EventKind::BudgetExtended { limit_ms: limit } => self.extended_ms = Some(*limit),
            EventKind::BudgetExhausted { spent, hard } => {
                self.spent.get_or_insert(*spent);
                self.overtime |= hard;
            }
            EventKind::RunEnded { .. } => self.until = Some(at),
            _ => {}
        }
    }

    fn add(&mut self, usage: AttemptUsage) {
        let all = self.usage().plus(usage);
        (self.attempts, self.tokens, self.cost) = (all.attempts, all.tokens, all.cost);
    }

    /// Counts one more round of replanning.
    pub(in crate::machine) fn count_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    /// Returns its usage, to be counted by an enclosing run.
    pub fn usage(&self) -> AttemptUsage {
        AttemptUsage { attempts: self.attempts, tokens: self.tokens, cost: self.cost }
    }

    /// Returns the amount of a resource used at an instant, in its unit. Time counts from the
    /// beginning of the run to its end, even while no engine works on it.
    pub fn used(&self, resource: BudgetResource, now: Moment) -> u64 {
        match resource {
            BudgetResource::Attempts => self.attempts,
            BudgetResource::Rounds => self.rounds,
            BudgetResource::WallTime => {
                let passed = self.since.map(|since| self.until.unwrap_or(now).since(since));
                let duration_ms = passed.unwrap_or_default().as_millis();
                u64::try_from(duration_ms).unwrap_or(u64::MAX)
            }
            BudgetResource::Tokens => self.tokens,
            BudgetResource::Cost => self.cost.micros(),
        }
    }

    /// Returns the limit on a resource, in its unit; for time, as extended.
    pub fn limit(&self, resource: BudgetResource) -> Option<u64> {
        let limit = self.budget.as_ref()?.limit(resource);
        match resource {
            BudgetResource::WallTime => self.extended_ms.or(limit),
            _ => limit,
        }
    }

    /// Returns the resource that does not suffice for a use, with the resulting amount.
    pub fn refuses(&self, wanted: AttemptUsage) -> Option<BudgetUsage> {
        let all = self.usage().plus(wanted);
        let amounts = [(BudgetResource::Tokens, all.tokens), (BudgetResource::Cost, all.cost.micros())];
        amounts.into_iter().find_map(|(resource, used)| {
            let limit = self.limit(resource).filter(|limit| used > *limit)?;
            Some(BudgetUsage { resource, used, limit })
        })
    }

    /// True if the budget limits the calls of models.
    pub fn limits_calls(&self) -> bool {
        [BudgetResource::Tokens, BudgetResource::Cost].iter().any(|one| self.limit(*one).is_some())
    }

    /// True if there is something to report: a budget, or data of a ledger only.
    pub fn is_worth_reporting(&self) -> bool {
        self.budget.is_some() || self.tokens > 0 || !self.cost.is_zero()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An amount of a resource in readable form: `20 attempts`, `30m`, `12k tokens`, `$0.40`.
impl std::fmt::Display for BudgetUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { resource, used, limit } = *self;
        let time =
            |duration_ms| wf_base::time::format_duration(std::time::Duration::from_millis(duration_ms));
        match resource {
            BudgetResource::Attempts => write!(f, "{used} of {limit} attempts"),
            BudgetResource::Rounds => write!(f, "{used} of {limit} rounds"),
            BudgetResource::Tokens => write!(f, "{used} of {limit} tokens"),
            BudgetResource::WallTime => write!(f, "{} of {}", time(used), time(limit)),
            BudgetResource::Cost => {
                let (used, limit) = (Money::of_micros(used), Money::of_micros(limit));
                write!(f, "{used} of {limit}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AttemptUsage, BudgetLedger, BudgetUsage};
    use crate::machine::{Attempt, EventKind, RunPhase, TaskId, WorkExit};
    use proptest::prelude::*;
    use wf_base::{
        name::{Name, PlanId},
        time::Moment,
    };
    use wf_model::{BudgetResource, JsonObject, Money, RunBudget};

    fn attempt(number: u32) -> Attempt {
        let task_id = TaskId::of_step(&Name::parse("a").unwrap());
        Attempt { task_id, attempt: number }
    }

    fn ended(usage: AttemptUsage) -> EventKind {
        EventKind::AttemptEnded {
            attempt: attempt(1),
            how: WorkExit::Code { code: 1 },
            failure_class: None,
            findings: crate::machine::NestedFindings::default(),
            outputs: JsonObject::new(),
            artifacts: Vec::new(),
            standing: None,
            swapped_file: None,
            usage,
            left: crate::machine::LeftProcesses::default(),
            log: None,
            breakers: Vec::new(),
        }
    }

    fn begun() -> EventKind {
        EventKind::RunStarted {
            logic_version: 1,
            plan: PlanId::parse("p").unwrap(),
            params: JsonObject::new(),
            dispatch: None,
        }
    }

    #[test]
    fn an_extended_limit_replaces_that_on_time_alone() {
        let mut ledger = BudgetLedger::default();
        let budget =
            RunBudget { max_attempts: Some(3), max_wall_time_ms: Some(1_000), ..RunBudget::default() };
        for fact in
            [begun(), EventKind::BudgetSet(Box::new(budget)), EventKind::BudgetExtended { limit_ms: 1_250 }]
        {
            ledger.apply_fact(Moment::from_millis(500), &fact);
        }
        assert_eq!(ledger.limit(BudgetResource::WallTime), Some(1_250));
        assert_eq!(ledger.limit(BudgetResource::Attempts), Some(3));
        assert_eq!(ledger.limit(BudgetResource::Tokens), None);
        let late = Moment::from_millis(2_000);
        assert_eq!(ledger.used(BudgetResource::WallTime, late), 1_500);
        assert!(ledger.is_worth_reporting());
    }

    #[test]
    fn amounts_are_told_in_their_units() {
        for (what, used, limit, text) in [
            (BudgetResource::Attempts, 20, 20, "20 of 20 attempts"),
            (BudgetResource::Rounds, 1, 3, "1 of 3 rounds"),
            (BudgetResource::WallTime, 61_000, 90_000, "1m1s of 1m30s"),
            (BudgetResource::Tokens, 5, 7, "5 of 7 tokens"),
            (BudgetResource::Cost, 400_000, 2_000_000, "$0.40 of $2.00"),
        ] {
            assert_eq!(BudgetUsage { resource: what, used, limit }.to_string(), text);
        }
    }

    fn any_fact() -> impl Strategy<Value = EventKind> {
        let most = u64::MAX;
        let usage = (0..4_u64, 0..most, 0..most).prop_map(|(attempts, tokens, micros)| AttemptUsage {
            attempts,
            tokens,
            cost: Money::of_micros(micros),
        });
        prop_oneof![
            Just(begun()),
            (1..9_u32).prop_map(|number| EventKind::AttemptStarted(attempt(number))),
            usage.prop_map(ended),
            (0..9_u64).prop_map(|limit| EventKind::BudgetExtended { limit_ms: limit }),
            Just(EventKind::PhaseStarted { phase: RunPhase::Finally }),
        ]
    }

    proptest! {
        /// A ledger stored at any point and continued equals the fold of the events alone.
        #[test]
        fn it_is_the_fold_of_the_events(
            facts in proptest::collection::vec(any_fact(), 0..30), cut in 0..30_usize
        ) {
            let (mut whole, mut kept) = (BudgetLedger::default(), BudgetLedger::default());
            for (at, fact) in facts.iter().enumerate() {
                if at == cut {
                    let text = serde_json::to_string(&kept).unwrap();
                    kept = serde_json::from_str(&text).unwrap();
                }
                let at = Moment::from_millis(i64::try_from(at).unwrap());
                let before = whole.usage();
                whole.apply_fact(at, fact);
                kept.apply_fact(at, fact);
                prop_assert!(whole.tokens >= before.tokens && whole.cost >= before.cost);
            }
            prop_assert_eq!(whole, kept);
        }
    }
}

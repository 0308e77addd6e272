use std::collections::BTreeMap;

use serde::Serialize;

use wf_base::{keywords, name::Name, units::plural};
use wf_core::machine::{AskedModel, Attempt, Event, EventKind, ModelCallOutcome, PlannerRejection};
use wf_model::Money;

keywords! {
    /// The parts of a run calling models.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ModelCaller {
        /// Agents.
        Agents = "agents",
        /// Planners.
        Planners = "planners",
        /// Gates.
        Gates = "gates",
        /// Judges of checks.
        Judges = "judges",
        /// The compactor of long conversations.
        Compactor = "compactor",
    }
}

/// The model calls of one part of a run, by model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelSpending {
    pub caller: ModelCaller,
    /// The model that replied, or was asked in vain; absent if the record does not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    pub calls: u64,
    pub tokens: u64,
    /// The cost, in millionths of a US dollar.
    #[serde(rename = "cost_micro_usd", skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
}

/// The amounts by caller and model.
#[derive(Default)]
struct SpendingFold {
    /// The model of each agent.
    briefed: BTreeMap<Attempt, Name>,
    spending: Vec<ModelSpending>,
}

impl ModelSpending {
    /// The events it is folded from.
    pub const EVENTS: [&'static str; 8] = [
        "agent_briefed",
        "model_call_ended",
        "planner_accepted",
        "planner_rejected",
        "guidance_ended",
        "compaction_ended",
        "gate_evaluated",
        "check_completed",
    ];

    /// Sums up the model calls of a run.
    pub fn from_events(events: &[Event]) -> Vec<Self> {
        let mut fold = SpendingFold::default();
        for event in events {
            fold.apply(&event.fact);
        }
        fold.finish()
    }

    /// Sums up those of several runs.
    pub fn merged<'a>(entries: impl IntoIterator<Item = &'a Self>) -> Vec<Self> {
        let mut fold = SpendingFold::default();
        for spending in entries {
            fold.add(spending.clone());
        }
        fold.finish()
    }

    fn one_call(caller: ModelCaller, tokens: u64, cost: Money) -> Self {
        Self { caller, model: None, calls: 1, tokens, cost }
    }

    /// Returns it on one line: `agents with fixer: 7 calls, 4657 tokens, $0.014751`.
    pub fn line(&self) -> String {
        let Self { caller, model, calls, tokens, cost } = self;
        let with = model.as_ref().map(|model| format!(" with {model}")).unwrap_or_default();
        let calls = plural(usize::try_from(*calls).unwrap_or(usize::MAX), "call");
        let money = if cost.is_zero() { String::new() } else { format!(", {cost}") };
        format!("{}{with}: {calls}, {tokens} tokens{money}", caller.as_str())
    }
}

impl SpendingFold {
    fn apply(&mut self, kind: &EventKind) {
        match kind {
            EventKind::AgentBriefed(briefing) => {
                self.briefed.insert(briefing.attempt.clone(), briefing.model.clone());
            }
            EventKind::ModelCallEnded(end) => {
                let model = match &end.outcome {
                    ModelCallOutcome::Replied { model, .. } => Some(model.clone()),
                    _ => self.briefed.get(&end.attempt).cloned(),
                };
                let call =
                    ModelSpending::one_call(ModelCaller::Agents, end.effort.usage.total(), end.effort.cost);
                self.add(ModelSpending { model, ..call });
            }
            EventKind::PlannerAccepted { calls, .. }
            | EventKind::PlannerRejected(PlannerRejection { calls, .. }) => {
                self.add_calls(ModelCaller::Planners, &calls.asked);
            }
            EventKind::GuidanceEnded(end) => self.add_calls(ModelCaller::Planners, &end.asked),
            EventKind::CompactionEnded(end) => self.add_calls(ModelCaller::Compactor, end.asked.as_deref()),
            EventKind::GateEvaluated { result, .. } => {
                self.add_calls(ModelCaller::Gates, result.asked.as_deref());
            }
            EventKind::CheckCompleted { verdict, .. } => {
                let judged = verdict.judgement.iter().flat_map(|judged| &judged.asked);
                self.add_calls(ModelCaller::Judges, judged);
            }
            _ => {}
        }
    }

    fn add_calls<'a>(&mut self, caller: ModelCaller, calls: impl IntoIterator<Item = &'a AskedModel>) {
        for call in calls {
            let spending = ModelSpending::one_call(caller, call.effort.usage.total(), call.effort.cost);
            let model = call.replied_by.as_ref().unwrap_or(&call.model);
            self.add(ModelSpending { model: Some(model.clone()), ..spending });
        }
    }

    fn add(&mut self, spending: ModelSpending) {
        let same = |listed_spending: &&mut ModelSpending| {
            listed_spending.caller == spending.caller && listed_spending.model == spending.model
        };
        let Some(sum) = self.spending.iter_mut().find(same) else {
            return self.spending.push(spending);
        };
        sum.calls = sum.calls.saturating_add(spending.calls);
        sum.tokens = sum.tokens.saturating_add(spending.tokens);
        sum.cost = sum.cost.plus(spending.cost);
    }

    fn finish(mut self) -> Vec<ModelSpending> {
        self.spending
            .sort_by(|spending, other| (spending.caller, &spending.model).cmp(&(other.caller, &other.model)));
        self.spending
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelCaller, ModelSpending};
    use wf_base::name::Name;
    use wf_model::Money;

    fn row(caller: ModelCaller, model: Option<&str>, tokens: u64) -> ModelSpending {
        let model = model.map(|model| Name::parse(model).unwrap());
        ModelSpending { caller, model, calls: 1, tokens, cost: Money::of_micros(tokens) }
    }

    #[test]
    fn amounts_are_summed_by_caller_and_model() {
        let all = [
            row(ModelCaller::Judges, Some("a"), 5),
            row(ModelCaller::Agents, Some("a"), 1),
            row(ModelCaller::Agents, Some("b"), 2),
            row(ModelCaller::Agents, Some("a"), 3),
        ];
        let merged = ModelSpending::merged(&all);
        let shown: Vec<String> = merged.iter().map(ModelSpending::line).collect();
        assert_eq!(
            shown,
            [
                "agents with a: 2 calls, 4 tokens, $0.000004",
                "agents with b: 1 call, 2 tokens, $0.000002",
                "judges with a: 1 call, 5 tokens, $0.000005",
            ]
        );
    }
}

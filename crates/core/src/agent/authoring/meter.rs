use serde::{Deserialize, Serialize};

use super::super::ModelRequest;
use wf_model::{ModelDefinition, ModelPrice, Money, TokenUsage};

/// The limits on the calls of one request for a plan. Reaching a limit counts as spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningBudget {
    /// The maximum number of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The maximum cost.
    #[serde(default, rename = "max_cost_micro_usd", skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
}

/// The amount a call may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReserve {
    /// Tokens: those of the request, and of the longest reply.
    pub tokens: u64,
    /// Money, in millionths of a US dollar.
    #[serde(default, rename = "cost_micro_usd", skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
}

/// The resources the calls for a plan used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthoringUsage {
    pub calls: usize,
    pub tokens: TokenUsage,
    pub cost: Money,
}

/// The meter of the calls of one request for a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanningMeter {
    /// The limits.
    pub budget: PlanningBudget,
    /// The use so far.
    pub usage: AuthoringUsage,
}

/// The reason why a call is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanningCallRefusal {
    /// The model cannot answer it.
    #[error("it may need {tokens} tokens, and the context window of the model has {window}")]
    Window { tokens: u64, window: u64 },
    /// The budget has too few tokens.
    #[error("it may use {tokens} tokens, and the budget has {left} of {most} left")]
    Tokens { tokens: u64, left: u64, most: u64 },
    /// The budget has too little money.
    #[error("it may cost {cost}, and the budget has {left} of {most} left")]
    Cost { cost: Money, left: Money, most: Money },
}

impl PlanningBudget {
    /// Returns these limits, and the defaults for those not set.
    #[must_use]
    pub fn or(self, defaults: Self) -> Self {
        Self {
            max_tokens: self.max_tokens.or(defaults.max_tokens),
            max_cost: self.max_cost.or(defaults.max_cost),
        }
    }
}

impl AuthoringUsage {
    /// Adds a call.
    pub fn add(&mut self, usage: TokenUsage, cost: Money) {
        self.calls = self.calls.saturating_add(1);
        self.tokens = self.tokens.plus(usage);
        self.cost = self.cost.plus(cost);
    }
}

impl PlanningMeter {
    /// Returns what a call may use. `price` is one at which the call costs no less, whichever model replies.
    pub fn admit(
        &self,
        model: &ModelDefinition,
        price: Option<ModelPrice>,
        request: &ModelRequest,
    ) -> Result<CallReserve, PlanningCallRefusal> {
        let input = request.estimated_tokens();
        let output = request.max_output.min(model.max_output);
        let cost = price.map_or(Money::default(), |price| price.highest_cost(input, output));
        let reserve = CallReserve { tokens: input.saturating_add(output), cost };
        if reserve.tokens > model.context_window {
            let (tokens, window) = (reserve.tokens, model.context_window);
            return Err(PlanningCallRefusal::Window { tokens, window });
        }
        let used = self.usage.tokens.total();
        if let Some(most) = self.budget.max_tokens.filter(|most| used.saturating_add(reserve.tokens) > *most)
        {
            let (tokens, left) = (reserve.tokens, most.saturating_sub(used));
            return Err(PlanningCallRefusal::Tokens { tokens, left, most });
        }
        if let Some(most) = self.budget.max_cost.filter(|most| self.usage.cost.plus(reserve.cost) > *most) {
            let left = Money::of_micros(most.micros().saturating_sub(self.usage.cost.micros()));
            return Err(PlanningCallRefusal::Cost { cost: reserve.cost, left, most });
        }
        Ok(reserve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Message;
    use proptest::prelude::*;
    use wf_base::name::Name;
    use wf_model::ModelApi;

    const PRICE: ModelPrice = ModelPrice {
        input: Money::of_micros(3_000_000),
        output: Money::of_micros(15_000_000),
        cached_input: None,
        cache_write: None,
    };

    fn model() -> ModelDefinition {
        ModelDefinition {
            name: Name::parse("m").unwrap(),
            api: ModelApi::Scripted,
            model: "replies.yaml".into(),
            base_url: None,
            key: None,
            context_window: 10_000,
            max_output: 100,
            price: Some(PRICE),
            timeout: ModelDefinition::TIMEOUT,
            fallback: Vec::new(),
        }
    }

    fn request(characters: usize) -> ModelRequest {
        ModelRequest {
            system: String::new(),
            messages: vec![Message::User { text: "x".repeat(characters) }],
            tools: Vec::new(),
            answer_schema: None,
            max_output: 1_000,
            temperature: None,
        }
    }

    fn meter(max_tokens: Option<u64>, max_cost: Option<u64>) -> PlanningMeter {
        let max_cost = max_cost.map(Money::of_micros);
        PlanningMeter { budget: PlanningBudget { max_tokens, max_cost }, ..PlanningMeter::default() }
    }

    #[test]
    fn a_call_that_may_exceed_a_limit_is_refused_with_what_is_left() {
        // 200 tokens in, at most 100 out: 0.0021 dollars.
        for (limits, why) in [
            (meter(None, None), None),
            (meter(Some(300), Some(2_100)), None),
            (meter(Some(299), None), Some("it may use 300 tokens, and the budget has 299 of 299 left")),
            (
                meter(None, Some(2_099)),
                Some("it may cost $0.0021, and the budget has $0.002099 of $0.002099 left"),
            ),
        ] {
            let admitted = limits.admit(&model(), Some(PRICE), &request(700));
            assert_eq!(admitted.err().map(|refusal| refusal.to_string()).as_deref(), why);
        }
        let mut spent = meter(Some(500), None);
        spent.usage.add(TokenUsage { input: 201, ..TokenUsage::default() }, Money::default());
        let refused = spent.admit(&model(), Some(PRICE), &request(700)).unwrap_err();
        assert_eq!(refused.to_string(), "it may use 300 tokens, and the budget has 299 of 500 left");
        let refused = meter(None, None).admit(&model(), None, &request(40_000)).unwrap_err();
        assert!(refused.to_string().contains("the context window of the model has 10000"), "{refused}");
    }

    #[test]
    fn what_is_not_set_is_the_default() {
        let (set, defaults) = (meter(Some(1), None).budget, meter(Some(2), Some(3)).budget);
        assert_eq!(set.or(defaults), meter(Some(1), Some(3)).budget);
    }

    proptest! {
        #[test]
        fn calls_that_use_no_more_than_their_reserve_stay_in_the_budget(
            most in 0_u64..5_000,
            sizes in proptest::collection::vec(0_usize..3_000, 0..12),
        ) {
            let mut meter = meter(Some(most), Some(most * 4));
            for size in sizes {
                if let Ok(reserve) = meter.admit(&model(), Some(PRICE), &request(size)) {
                    let usage = TokenUsage { input: reserve.tokens, ..TokenUsage::default() };
                    meter.usage.add(usage, reserve.cost);
                }
            }
            prop_assert!(meter.usage.tokens.total() <= most && meter.usage.cost.micros() <= most * 4);
        }
    }
}

use serde::{Deserialize, Serialize};

use crate::costs::money::Money;

/// The tokens of a model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TokenUsage {
    /// Input tokens, with those that the provider had cached or has cached now.
    pub input: u64,
    /// The part of the input tokens that the provider had cached.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_input: u64,
    /// The part of the input tokens that the provider has cached now, for later calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Output tokens.
    pub output: u64,
}

/// The prices of a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelPrice {
    /// Of input tokens.
    pub input: Money,
    /// Of output tokens.
    pub output: Money,
    /// Of input tokens that the provider had cached; `None`: as other input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Money>,
    /// Of input tokens that the provider has cached now; `None`: as other input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Money>,
}

impl TokenUsage {
    /// Returns the sum of input and output; saturates.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the sum of both; saturates.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached_input: self.cached_input.saturating_add(other.cached_input),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
        }
    }
}

impl ModelPrice {
    /// Returns the default of `cache_write` of a provider that bills what it caches at 1.25 times its price of input.
    pub fn usual_cache_write(input: Money) -> Money {
        Money::of_micros(input.micros().saturating_add(input.micros().div_ceil(4)))
    }

    /// Returns the cost of a call, rounded up.
    pub fn cost(&self, usage: TokenUsage) -> Money {
        let cached = usage.cached_input.min(usage.input);
        let written = usage.cache_write.min(usage.input - cached);
        let parts = [
            (usage.input - cached - written, self.input),
            (cached, self.cached_price()),
            (written, self.write_price()),
            (usage.output, self.output),
        ];
        let product = |(tokens, price): (u64, Money)| u128::from(tokens) * u128::from(price.micros());
        let sum: u128 = parts.into_iter().map(product).sum();
        Money::of_micros(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// Returns the most a call with this input and output may cost: which part of the input is cached is not known.
    pub fn highest_cost(&self, input: u64, output: u64) -> Money {
        let dearest = self.input.max(self.cached_price()).max(self.write_price());
        let price = Self { input: dearest, output: self.output, ..Self::default() };
        price.cost(TokenUsage { input, output, ..TokenUsage::default() })
    }

    /// Returns a price at which no call costs less than at either of two.
    #[must_use]
    pub(crate) fn dearest(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cached_input: Some(self.cached_price().max(other.cached_price())),
            cache_write: Some(self.write_price().max(other.write_price())),
        }
    }

    fn cached_price(&self) -> Money {
        self.cached_input.unwrap_or(self.input)
    }

    fn write_price(&self) -> Money {
        self.cache_write.unwrap_or(self.input)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::{ModelPrice, TokenUsage};
    use crate::costs::money::Money;

    fn usage(input: u64, cached_input: u64, output: u64) -> TokenUsage {
        TokenUsage { input, cached_input, output, ..TokenUsage::default() }
    }

    fn price() -> ModelPrice {
        ModelPrice {
            input: Money::of_micros(3_000_000),
            output: Money::of_micros(15_000_000),
            cached_input: Some(Money::of_micros(300_000)),
            cache_write: None,
        }
    }

    #[test]
    fn a_cost_is_rounded_up_and_counts_cached_tokens_once() {
        let price = price();
        assert_eq!(price.cost(usage(1_000, 0, 100)).micros(), 4_500);
        assert_eq!(price.cost(usage(1_000, 900, 0)).micros(), 570);
        assert_eq!(price.cost(usage(0, 0, 0)).micros(), 0);
        let cheap = ModelPrice { input: Money::of_micros(1), ..ModelPrice::default() };
        assert_eq!(cheap.cost(usage(1, 0, 0)).micros(), 1);
        assert_eq!(price.cost(usage(u64::MAX, 0, u64::MAX)).micros(), u64::MAX);
    }

    #[test]
    fn what_is_cached_for_the_first_time_has_its_own_price() {
        let written = TokenUsage { cache_write: 400, ..usage(1_000, 500, 0) };
        // 100 + 500 cached + 400 as other input.
        assert_eq!(price().cost(written).micros(), 300 + 150 + 1_200);
        let write = ModelPrice::usual_cache_write(price().input);
        assert_eq!(write.micros(), 3_750_000);
        let price = ModelPrice { cache_write: Some(write), ..price() };
        assert_eq!(price.cost(written).micros(), 300 + 150 + 1_500);
        assert_eq!(price.highest_cost(1_000, 10).micros(), 3_750 + 150);
        // Counts that contradict each other bill no token twice.
        let wrong = TokenUsage { cache_write: 900, ..usage(1_000, 900, 0) };
        assert_eq!(price.cost(wrong).micros(), 270 + 375);
    }

    #[test]
    fn recorded_prices_and_tokens_without_cache_writes_are_read() {
        let usage: TokenUsage = serde_json::from_str(r#"{"input": 5, "output": 1}"#).unwrap();
        assert_eq!(usage.cache_write, 0);
        let price: ModelPrice = serde_json::from_str(r#"{"input": 4, "output": 8}"#).unwrap();
        assert_eq!(price.cost(TokenUsage { input: 1_000_000, cache_write: 1_000_000, ..usage }).micros(), 5);
    }
}

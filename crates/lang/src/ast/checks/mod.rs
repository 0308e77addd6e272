//! The declarations of checks, gates and escalations.
//!
//! A check has a probe and an expectation (`check`, `expect`); a gate has a provider, with the configuration of each predicate
//! in `rule`.
//!
//! **Invariant:** a key is accepted only where it has an effect.
//!
//! Start at `check`, then `gate`.

pub(super) mod check;
mod clamp;
mod escalation;
mod expect;
mod gate;
mod rule;

pub use check::{CheckSpec, JudgeSpec};
pub use escalation::EscalationSpec;
pub use expect::{ExpectationSpec, JsonExpectationSpec, LeastTestsText, TestExpectationSpec};
pub use gate::{GateKind, GateProviderConfig, GateProviderKind, GateRef, GateSpec};
pub use rule::{
    FileValidConfig, GuardrailConfig, JsonPathConfig, LlmConfig, NumericRangeConfig, PredicateKind,
    PredicateRangeSpec, PredicateRule, RegexConfig, StringMatchConfig,
};

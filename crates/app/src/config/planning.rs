use wf_base::{
    diag::{Code, Diagnostic},
    source::{Span, Spanned},
};
use wf_core::agent::authoring::PlanningBudget;
use wf_lang::decode::{LowerSpec, MappingFields, SpecDecoder, record};
use wf_model::Money;

record! {
    /// The limits on the calls of each `wf plan`. An absent limit is unlimited.
    pub struct PlanningSection as "the planning" {
        /// The maximum number of tokens.
        optional max_tokens: Spanned<u64>,
        /// The maximum cost in US dollars.
        optional max_cost_usd: Spanned<f64>,
    }
    finish check_limits;
}

impl PlanningSection {
    /// Returns the limits. An unreadable value is no limit: such a configuration is not used.
    pub(super) fn budget(&self) -> PlanningBudget {
        PlanningBudget {
            max_tokens: self.max_tokens.lower(),
            max_cost: self.max_cost_usd.lower().and_then(|cost| Money::from_dollars(cost).ok()),
        }
    }
}

fn check_limits(section: &mut PlanningSection, _: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let mut wrong = |at: Span, message: String, help: &str| {
        decoder.emit(Diagnostic::new(Code::ValueWrong, at, message).with_help(help));
    };
    let zero = "a limit of 0 would prevent every call of a model";
    if let Some(tokens) = section.max_tokens.as_ref().filter(|tokens| tokens.value == 0) {
        wrong(tokens.span, zero.into(), "remove it for no limit");
    }
    match section.max_cost_usd.as_ref().map(|cost| (cost.span, Money::from_dollars(cost.value))) {
        Some((at, Ok(cost))) if cost.is_zero() => wrong(at, zero.into(), "remove it for no limit"),
        Some((at, Err(bad))) => wrong(at, bad.to_string(), "write an amount in dollars, such as 2.50"),
        _ => {}
    }
}

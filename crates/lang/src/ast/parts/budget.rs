use crate::decode::{LowerSpec, MappingFields, SpecDecoder, record};
use wf_base::{
    diag::{Code, Diagnostic},
    source::{Span, Spanned},
};
use wf_model::{Money, RunBudget};

/// The maximum number of tokens that can be declared.
const MOST_TOKENS: u64 = 1_000_000_000_000_000;

record! {
    /// The maximum consumption of a run, however often it is resumed. An absent limit is unlimited.
    pub struct BudgetSpec as "a budget" {
        /// The maximum number of attempts: retries and the attempts of nested runs count, too.
        optional max_attempts: Spanned<u32>,
        /// The maximum number of rounds of replanning.
        optional max_rounds: Spanned<u32>,
        /// The maximum duration of the run from its start, in seconds.
        optional max_wall_time_seconds: Spanned<u32>,
        /// The maximum number of tokens, as reported by steps.
        optional max_tokens: Spanned<u64>,
        /// The maximum cost in US dollars, as reported by steps.
        optional max_cost_usd: Spanned<f64>,
        /// The share of each limit, from 0 to 0.5, that is reserved for checks, `finally` steps and
        /// the report: 0.1 if absent.
        optional reserve: Spanned<f64>,
        /// True to give a run that makes progress more time, up to twice the limit.
        optional progress: Spanned<bool>,
    }
    finish check_budget;
}

fn check_budget(budget: &mut BudgetSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let mut wrong = |at: Span, message: String, help: &str| {
        decoder.emit(Diagnostic::new(Code::ValueWrong, at, message).with_help(help));
    };
    let BudgetSpec {
        max_attempts,
        max_rounds: _,
        max_wall_time_seconds: seconds,
        max_tokens: tokens,
        max_cost_usd: cost,
        reserve,
        progress,
    } = budget;
    let zero = |limit: &Spanned<u32>| (limit.value == 0).then_some(limit.span);
    let nothing = [
        max_attempts.as_ref().and_then(zero),
        seconds.as_ref().and_then(zero),
        tokens.as_ref().filter(|t| t.value == 0).map(|t| t.span),
        cost.as_ref().filter(|c| c.value == 0.0).map(|c| c.span),
    ];
    for at in nothing.into_iter().flatten() {
        let message = "a limit of 0 would prevent every step from starting".into();
        wrong(at, message, "remove it for no limit");
    }
    if let Some(tokens) = tokens.as_ref().filter(|t| t.value > MOST_TOKENS) {
        let message = format!("expected at most {MOST_TOKENS} tokens");
        wrong(tokens.span, message, "remove it to have no limit");
    }
    if let Some(cost) = cost
        && let Err(bad) = Money::from_dollars(cost.value)
    {
        wrong(cost.span, bad.to_string(), "write an amount in dollars, such as 2.50");
    }
    if let Some(reserve) = reserve.as_ref().filter(|r| !(0.0..=0.5).contains(&r.value)) {
        let message = "the reserve must be between 0 and 0.5".into();
        wrong(reserve.span, message, "0.1 reserves a tenth of each limit");
    }
    if let (Some(progress), None) = (progress.as_ref().filter(|p| p.value), &seconds) {
        let message = "`progress` extends a time limit, but none is set".into();
        wrong(progress.span, message, "add `max_wall_time_seconds`");
    }
    let limits = ["max_attempts", "max_rounds", "max_wall_time_seconds"];
    let more = ["max_tokens", "max_cost_usd"];
    if !limits.iter().chain(&more).any(|key| fields.has(key)) {
        let message = "the budget has no limit".into();
        wrong(fields.head(), message, "add a limit such as `max_attempts`");
    }
}

impl BudgetSpec {
    /// Notes a limit on attempts the `finally` steps use up.
    pub(in crate::ast) fn check_main_attempts(&self, finally: usize, decoder: &mut SpecDecoder<'_>) {
        let limit = self.max_attempts.as_ref();
        let enough = |limit: &&Spanned<u32>| limit.value == 0 || limit.value as usize > finally;
        if let Some(limit) = limit.filter(|limit| !enough(limit)) {
            let message = format!(
                "the `finally` steps need {finally} of {} attempts, leaving none for the other \
                 steps",
                limit.value
            );
            let mistake = Diagnostic::new(Code::ValueWrong, limit.span, message);
            decoder.emit(mistake.with_help(format!("write {} or more", finally + 1)));
        }
    }
}

impl LowerSpec for BudgetSpec {
    type Model = RunBudget;

    /// Returns its model. An unreadable value is no limit: such a file has no model.
    fn lower(&self) -> RunBudget {
        RunBudget {
            max_attempts: self.max_attempts.lower(),
            max_rounds: self.max_rounds.lower(),
            max_wall_time_ms: self.max_wall_time_seconds.lower().map(|s| u64::from(s) * 1000),
            max_tokens: self.max_tokens.lower(),
            max_cost: self.max_cost_usd.lower().and_then(|cost| Money::from_dollars(cost).ok()),
            reserve_ppm: self.reserve.lower().map_or(RunBudget::RESERVE_PPM, millionths),
            progress: self.progress.lower().unwrap_or_default(),
        }
    }
}

/// Returns a share from 0 to 0.5 in millionths, rounded.
fn millionths(share: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it must be between 0 and 500000"
    )]
    let whole = (share.clamp(0.0, 0.5) * 1_000_000.0).round() as u32;
    whole
}

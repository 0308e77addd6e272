use crate::diag::{Code, Diagnostic};
use crate::model::{self, Money};
use crate::source::{Span, Spanned};
use crate::spec::decode::{Decoder, Fields, record};

/// The most tokens that can be written.
const MOST_TOKENS: u64 = 1_000_000_000_000_000;

record! {
    /// What a run may use up at most, however often it is resumed. What is absent has no limit.
    pub struct Budget as "a budget" {
        /// The most attempts: retries and the attempts of nested runs count, too.
        optional max_attempts: Spanned<u32>,
        /// The most rounds of replanning.
        optional max_rounds: Spanned<u32>,
        /// The longest that the run may take from its beginning, in seconds.
        optional max_wall_time_seconds: Spanned<u32>,
        /// The most tokens, as steps say it.
        optional max_tokens: Spanned<u64>,
        /// The most money in US dollars, as steps say it.
        optional max_cost_usd: Spanned<f64>,
        /// The share of each limit, from 0 to 0.5, that is kept for checks, `finally` steps and
        /// the report: 0.1 if absent.
        optional reserve: Spanned<f64>,
        /// Whether a run that makes progress has more time, up to twice the limit.
        optional progress: Spanned<bool>,
    }
    finish sound;
}

fn sound(budget: &mut Budget, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let mut wrong = |at: Span, message: String, help: &str| {
        decoder.note(Diagnostic::new(Code::ValueWrong, at, message).help(help));
    };
    let Budget {
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
        let message = "with a budget of nothing, nothing could begin".into();
        wrong(at, message, "remove it to have no limit");
    }
    if let Some(tokens) = tokens.as_ref().filter(|t| t.value > MOST_TOKENS) {
        let message = format!("expected at most {MOST_TOKENS} tokens");
        wrong(tokens.span, message, "remove it to have no limit");
    }
    if let Some(cost) = cost
        && let Err(bad) = money(cost.value)
    {
        wrong(cost.span, bad, "write dollars, such as 2.50");
    }
    if let Some(reserve) = reserve.as_ref().filter(|r| !(0.0..=0.5).contains(&r.value)) {
        let message = "the reserve must be from 0 to 0.5".into();
        wrong(reserve.span, message, "0.1 keeps a tenth of each limit");
    }
    if let (Some(progress), None) = (progress.as_ref().filter(|p| p.value), &seconds) {
        let message = "`progress` extends a limit on the time, and there is none".into();
        wrong(progress.span, message, "add `max_wall_time_seconds`");
    }
    let limits = ["max_attempts", "max_rounds", "max_wall_time_seconds"];
    let more = ["max_tokens", "max_cost_usd"];
    if !limits.iter().chain(&more).any(|key| fields.has(key)) {
        let message = "a budget without a limit limits nothing".into();
        wrong(fields.head(), message, "add `max_attempts`, for example");
    }
}

fn money(dollars: f64) -> Result<Money, String> {
    Money::parse(&format!("{dollars:e}")).map_err(|bad| bad.to_string())
}

impl Budget {
    /// Notes a limit on attempts of which the `finally` steps leave nothing.
    pub(super) fn leaves_steps_something(&self, finally: usize, decoder: &mut Decoder<'_>) {
        let limit = self.max_attempts.as_ref();
        let enough = |limit: &&Spanned<u32>| limit.value == 0 || limit.value as usize > finally;
        if let Some(limit) = limit.filter(|limit| !enough(limit)) {
            let message = format!(
                "the `finally` steps need {finally} of {} attempts, which leaves the steps none",
                limit.value
            );
            let mistake = Diagnostic::new(Code::ValueWrong, limit.span, message);
            decoder.note(mistake.help(format!("write {} or more", finally + 1)));
        }
    }

    /// The model of it. What could not be read is no limit: such a file has no model.
    pub fn lowered(&self) -> model::Budget {
        let whole = |limit: &Option<Spanned<u32>>| limit.as_ref().map(|limit| limit.value);
        let reserve = self.reserve.as_ref().map(|reserve| reserve.value);
        model::Budget {
            max_attempts: whole(&self.max_attempts),
            max_rounds: whole(&self.max_rounds),
            max_wall_time_ms: whole(&self.max_wall_time_seconds).map(|s| u64::from(s) * 1000),
            max_tokens: self.max_tokens.as_ref().map(|tokens| tokens.value),
            max_cost: self
                .max_cost_usd
                .as_ref()
                .and_then(|cost| money(cost.value).ok()),
            reserve_ppm: reserve.map_or(model::Budget::RESERVE_PPM, millionths),
            progress: self.progress.as_ref().is_some_and(|yes| yes.value),
        }
    }
}

/// A share from 0 to 0.5 in millionths, the nearest.
fn millionths(share: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and 500000"
    )]
    let whole = (share.clamp(0.0, 0.5) * 1_000_000.0).round() as u32;
    whole
}

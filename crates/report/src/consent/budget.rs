use std::time::Duration;

use super::exact::{exact_duration, weight};
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_model::{Money, RunBudget};

/// The budget of a run: a larger one allows more.
pub(super) fn budget(budget: Option<&RunBudget>, key: &str, sheet: &mut SummaryBuilder) {
    let Some(RunBudget {
        max_attempts,
        max_rounds,
        max_wall_time_ms,
        max_tokens,
        max_cost,
        reserve_ppm,
        progress,
    }) = budget
    else {
        return;
    };
    let mut limit = |name: &str, said: Option<(String, f64)>| {
        if let Some((text, most)) = said {
            let key = format!("{key}.{name}");
            sheet.add_line(SummaryLineKind::Reach, RiskDirection::AtMost(most), &key, text);
        }
    };
    let count = |count: Option<u32>| count.map(|count| (count.to_string(), f64::from(count)));
    limit("max_attempts", count(*max_attempts));
    limit("max_rounds", count(*max_rounds));
    let time = max_wall_time_ms.map(|ms| (exact_duration(Duration::from_millis(ms)), weight(ms)));
    limit("max_wall_time_seconds", time);
    let tokens = max_tokens.map(|tokens| (tokens.to_string(), weight(tokens)));
    limit("max_tokens", tokens);
    let cost = max_cost.map(|cost: Money| (cost.to_string(), weight(cost.micros())));
    limit("max_cost_usd", cost);
    if max_wall_time_ms.is_some() {
        let (text, most) = if *progress {
            ("yes: up to twice the time while the run makes progress", 2.0)
        } else {
            ("no", 1.0)
        };
        limit("progress", Some((text.into(), most)));
        sheet.mark_default(!progress);
    }
    let kept = format!("{} % of each limit", f64::from(*reserve_ppm) / 10_000.0);
    let least = RiskDirection::AtLeast(f64::from(*reserve_ppm));
    sheet.add_line(SummaryLineKind::Effort, least, &format!("{key}.reserve"), kept);
    sheet.mark_default(*reserve_ppm == RunBudget::RESERVE_PPM);
}

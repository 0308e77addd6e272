use std::time::Duration;

use super::exact::{period, weight};
use super::{Kind, Sense, Sheet};
use crate::model::{Budget, Money};

/// What a run may use up: a larger budget lets more happen.
pub(super) fn budget(budget: Option<&Budget>, sheet: &mut Sheet) {
    let Some(Budget {
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
    let mut limit = |key: &str, said: Option<(String, f64)>| {
        if let Some((text, most)) = said {
            let key = format!("budget.{key}");
            sheet.put(Kind::Reach, Sense::AtMost(most), &key, text);
        }
    };
    let count = |count: Option<u32>| count.map(|count| (count.to_string(), f64::from(count)));
    limit("max_attempts", count(*max_attempts));
    limit("max_rounds", count(*max_rounds));
    let time = max_wall_time_ms.map(|ms| (period(Duration::from_millis(ms)), weight(ms)));
    limit("max_wall_time_seconds", time);
    let tokens = max_tokens.map(|tokens| (tokens.to_string(), weight(tokens)));
    limit("max_tokens", tokens);
    let cost = max_cost.map(|cost: Money| (cost.to_string(), weight(cost.micros())));
    limit("max_cost_usd", cost);
    if max_wall_time_ms.is_some() {
        let (text, most) = if *progress {
            ("yes: with progress, up to twice the time", 2.0)
        } else {
            ("no", 1.0)
        };
        limit("progress", Some((text.into(), most)));
        sheet.usual(!progress);
    }
    let kept = format!("{} % of each limit", f64::from(*reserve_ppm) / 10_000.0);
    let least = Sense::AtLeast(f64::from(*reserve_ppm));
    sheet.put(Kind::Effort, least, "budget.reserve", kept);
    sheet.usual(*reserve_ppm == Budget::RESERVE_PPM);
}

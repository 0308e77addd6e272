//! The budget of a run and the part that is used.

use std::time::Duration;

use wf_base::time::Moment;
use wf_core::machine::{BudgetLedger, BudgetUsage};
use wf_model::{BudgetResource, Money, RunBudget};

/// The amounts a run has used at an instant, on one line:
/// `attempts 12/20 · 3m/30m · 12k/200k tokens · $0.40/$2.00`. `None` if there is neither a budget
/// nor anything that only a ledger records.
pub fn usage_line(ledger: &BudgetLedger, now: Moment) -> Option<String> {
    if !ledger.is_worth_reporting() {
        return None;
    }
    let parts = BudgetResource::ALL.into_iter().filter_map(|resource| {
        let (used, limit) = (ledger.used(resource, now), ledger.limit(resource));
        let is_notified = match resource {
            BudgetResource::Attempts => true,
            BudgetResource::WallTime => limit.is_some(),
            _ => limit.is_some() || used > 0,
        };
        is_notified.then(|| part(resource, used, limit))
    });
    let mut text = parts.collect::<Vec<_>>().join(" · ");
    if ledger.spent.is_some() {
        text.push_str(" · spent");
    }
    Some(text)
}

/// The limits of a budget on one line: `20 attempts · 30m · 200k tokens · $2.00`. `None` if it has none.
pub fn limits_line(budget: &RunBudget) -> Option<String> {
    let limits = [
        budget.max_attempts.map(|most| format!("{most} attempts")),
        budget.max_rounds.map(|most| format!("{most} rounds")),
        budget.max_wall_time_ms.map(time),
        budget.max_tokens.map(|most| format!("{} tokens", count(most))),
        budget.max_cost.map(|most| most.to_string()),
    ];
    let parts: Vec<String> = limits.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// `80 % used: 16 of 20 attempts`.
pub fn threshold_text(usage: BudgetUsage, percent: u32) -> String {
    format!("{percent} % used: {usage}")
}

fn part(resource: BudgetResource, used: u64, limit: Option<u64>) -> String {
    let amount_text = |amount| match resource {
        BudgetResource::Attempts | BudgetResource::Rounds => format!("{amount}"),
        BudgetResource::WallTime => time(amount),
        BudgetResource::Tokens => count(amount),
        BudgetResource::Cost => Money::of_micros(amount).to_string(),
    };
    let amount = match limit {
        Some(limit) => format!("{}/{}", amount_text(used), amount_text(limit)),
        None => amount_text(used),
    };
    match resource {
        BudgetResource::Attempts => format!("attempts {amount}"),
        BudgetResource::Rounds => format!("rounds {amount}"),
        BudgetResource::Tokens => format!("{amount} tokens"),
        BudgetResource::WallTime | BudgetResource::Cost => amount,
    }
}

/// A time in whole seconds, as a plan writes it: `3m`, `1h30m`.
fn time(duration_ms: u64) -> String {
    wf_base::time::format_duration(Duration::from_secs(duration_ms / 1000))
}

/// A number in thousands where it is long, never more than it is: `999`, `12k`, `1.2M`.
fn count(number: u64) -> String {
    let short = |unit: u64, mark: &str| match (number / unit, number % unit * 10 / unit) {
        (whole, tenth) if whole < 10 && tenth > 0 => format!("{whole}.{tenth}{mark}"),
        (whole, _) => format!("{whole}{mark}"),
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => short(1_000, "k"),
        _ => short(1_000_000, "M"),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, threshold_text, usage_line};
    use wf_base::time::Moment;
    use wf_core::machine::{BudgetLedger, BudgetUsage};
    use wf_model::{BudgetResource, Money, RunBudget};

    #[test]
    fn a_ledger_is_one_line() {
        let now = Moment::from_millis(1_000_000 + 185_900);
        let mut book = BudgetLedger {
            attempts: 12,
            since: Some(Moment::from_millis(1_000_000)),
            ..BudgetLedger::default()
        };
        assert_eq!(usage_line(&book, now), None);
        book.tokens = 12_000;
        let told = usage_line(&book, now).unwrap();
        assert_eq!(told, "attempts 12 · 12k tokens");
        book.cost = Money::of_micros(400_000);
        book.budget = Some(RunBudget {
            max_attempts: Some(20),
            max_wall_time_ms: Some(1_800_000),
            max_tokens: Some(200_000),
            max_cost: Some(Money::of_micros(2_000_000)),
            ..RunBudget::default()
        });
        let told = usage_line(&book, now).unwrap();
        assert_eq!(told, "attempts 12/20 · 3m5s/30m · 12k/200k tokens · $0.40/$2.00");
        book.extended_ms = Some(2_250_000);
        book.spent = Some(BudgetUsage { resource: BudgetResource::Attempts, used: 20, limit: 20 });
        let told = usage_line(&book, now).unwrap();
        assert!(told.contains(" · 3m5s/37m30s · "), "{told}");
        assert!(told.ends_with(" · spent"), "{told}");
    }

    #[test]
    fn a_notice_says_what_and_how_much() {
        let spent = BudgetUsage { resource: BudgetResource::Cost, used: 1_600_000, limit: 2_000_000 };
        assert_eq!(threshold_text(spent, 80), "80 % used: $1.60 of $2.00");
    }

    #[test]
    fn long_numbers_are_short_and_never_too_large() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1k"),
            (1_999, "1.9k"),
            (12_345, "12k"),
            (999_999, "999k"),
            (1_250_000, "1.2M"),
        ] {
            assert_eq!(count(number), text);
        }
    }
}

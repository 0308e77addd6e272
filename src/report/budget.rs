//! What a run has used up, of what it may.

use std::time::Duration;

use crate::machine::{Ledger, Spent};
use crate::model::{Money, Resource};
use crate::time::Moment;

/// What a run has used up at an instant, on one line:
/// `attempts 12/20 · 3m/30m · 12k/200k tokens · $0.40/$2.00`. `None` if there is neither a budget
/// nor anything that only a ledger tells.
pub fn ledger(ledger: &Ledger, now: Moment) -> Option<String> {
    if !ledger.is_worth_telling() {
        return None;
    }
    let parts = Resource::ALL.into_iter().filter_map(|what| {
        let (used, limit) = (ledger.used(what, now), ledger.limit(what));
        let told = match what {
            Resource::Attempts => true,
            Resource::WallTime => limit.is_some(),
            _ => limit.is_some() || used > 0,
        };
        told.then(|| part(what, used, limit))
    });
    let mut text = parts.collect::<Vec<_>>().join(" · ");
    if ledger.spent.is_some() {
        text.push_str(" · spent");
    }
    Some(text)
}

/// `80 % used: 16 of 20 attempts`.
pub fn noticed(spent: Spent, percent: u32) -> String {
    format!("{percent} % used: {spent}")
}

fn part(what: Resource, used: u64, limit: Option<u64>) -> String {
    let one = |amount| match what {
        Resource::Attempts | Resource::Rounds => format!("{amount}"),
        Resource::WallTime => time(amount),
        Resource::Tokens => count(amount),
        Resource::Cost => Money::of_micros(amount).to_string(),
    };
    let amount = match limit {
        Some(limit) => format!("{}/{}", one(used), one(limit)),
        None => one(used),
    };
    match what {
        Resource::Attempts => format!("attempts {amount}"),
        Resource::Rounds => format!("rounds {amount}"),
        Resource::Tokens => format!("{amount} tokens"),
        Resource::WallTime | Resource::Cost => amount,
    }
}

/// A time in whole seconds, as a plan writes it: `3m`, `1h30m`.
fn time(millis: u64) -> String {
    crate::time::format_duration(Duration::from_secs(millis / 1000))
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
    use super::{count, ledger, noticed};
    use crate::machine::{Ledger, Spent};
    use crate::model::{Budget, Money, Resource};
    use crate::time::Moment;

    #[test]
    fn a_ledger_is_one_line() {
        let now = Moment::from_millis(1_000_000 + 185_900);
        let mut book = Ledger {
            attempts: 12,
            since: Some(Moment::from_millis(1_000_000)),
            ..Ledger::default()
        };
        assert_eq!(ledger(&book, now), None);
        book.tokens = 12_000;
        let told = ledger(&book, now).unwrap();
        assert_eq!(told, "attempts 12 · 12k tokens");
        book.cost = Money::of_micros(400_000);
        book.budget = Some(Budget {
            max_attempts: Some(20),
            max_wall_time_ms: Some(1_800_000),
            max_tokens: Some(200_000),
            max_cost: Some(Money::of_micros(2_000_000)),
            ..Budget::default()
        });
        let told = ledger(&book, now).unwrap();
        assert_eq!(
            told,
            "attempts 12/20 · 3m5s/30m · 12k/200k tokens · $0.40/$2.00"
        );
        book.extended_ms = Some(2_250_000);
        book.spent = Some(Spent {
            what: Resource::Attempts,
            used: 20,
            limit: 20,
        });
        let told = ledger(&book, now).unwrap();
        assert!(told.contains(" · 3m5s/37m30s · "), "{told}");
        assert!(told.ends_with(" · spent"), "{told}");
    }

    #[test]
    fn a_notice_says_what_and_how_much() {
        let spent = Spent {
            what: Resource::Cost,
            used: 1_600_000,
            limit: 2_000_000,
        };
        assert_eq!(noticed(spent, 80), "80 % used: $1.60 of $2.00");
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

use super::{GgsRule, SolverOutcome, WORSENING};
use wf_model::ReplanSettings;

impl SolverOutcome {
    /// Returns the rationale: one sentence without a stop, with the decisive numbers.
    pub fn rationale(&self, replan: &ReplanSettings) -> String {
        let d = format_number(self.loss.d);
        let p = format_number(self.loss.p);
        let omega = format_number(self.loss.omega);
        let gradient = format_number(self.gradient);
        let change = format_number(self.gradient.abs());
        let (epsilon, rho, theta) = (replan.epsilon, replan.rho, replan.theta);
        let plateau = format!("no clear change (|∇L| {change} < {epsilon})");
        let signal = format!("a clear change (|∇L| {change} ≥ {epsilon})");
        let logical = format!("mostly wrong results (P {p} > {rho})");
        let world = format!("mostly environmental failures (P {p} ≤ {rho})");
        match self.rule {
            GgsRule::AllHold => "all checks pass (D = 0)".into(),
            GgsRule::BudgetSpent => format!("the budget is exhausted (Ω {omega} ≥ {theta})"),
            GgsRule::Diverging => format!(
                "consecutive worsening round {} (∇L {gradient} > {epsilon}; {WORSENING} stop a run)",
                self.worsening
            ),
            GgsRule::WithinDelta => {
                format!("some checks fail, but within the tolerance (D {d} ≤ {})", replan.accepted_distance())
            }
            GgsRule::PlateauLogical => {
                format!("{plateau} and {logical}: try a new kind of approach")
            }
            GgsRule::SignalLogical => format!("{signal} and {logical}: try another approach"),
            GgsRule::PlateauEnvironmental => format!("{plateau} and {world}: try another target"),
            GgsRule::SignalEnvironmental => format!("{signal} and {world}: try other parameters"),
        }
    }
}

/// Formats a number with at least two decimals, and as many more as it has.
pub fn format_number(number: f64) -> String {
    let six = format!("{number:.6}");
    let whole = six.find('.').unwrap_or(six.len());
    let least = whole + ".00".len();
    let end = six.trim_end_matches('0').len().max(least);
    six.get(..end).unwrap_or(&six).to_owned()
}

#[cfg(test)]
mod tests {
    use super::format_number;
    use crate::ggs::{RoundMeasures, decide};
    use wf_model::ReplanSettings;

    #[test]
    fn numbers_have_two_decimals_or_what_they_need() {
        for (number, text) in [
            (0.0, "0.00"),
            (1.0, "1.00"),
            (0.5, "0.50"),
            (0.333_333, "0.333333"),
            (0.0996, "0.0996"),
            (-0.25, "-0.25"),
            (120.0, "120.00"),
        ] {
            assert_eq!(format_number(number), text);
        }
    }

    #[test]
    fn each_rule_says_the_numbers_that_decided() {
        let replan = ReplanSettings::default();
        let reason = |d, p, omega, gradient, before| {
            decide(&replan, RoundMeasures { d, p, omega }, gradient, before).rationale(&replan)
        };
        for (found, text) in [
            (reason(0.0, 1.0, 1.0, 0.0, 0), "all checks pass (D = 0)"),
            (reason(0.5, 1.0, 0.85, 0.0, 0), "the budget is exhausted (Ω 0.85 ≥ 0.8)"),
            (reason(0.5, 1.0, 0.0, 0.2, 1), "consecutive worsening round 2 (∇L 0.20 > 0.1; 2 stop a run)"),
            (reason(0.25, 1.0, 0.0, 0.0, 0), "some checks fail, but within the tolerance (D 0.25 ≤ 0.3)"),
            (
                reason(0.5, 0.75, 0.0, -0.05, 0),
                "no clear change (|∇L| 0.05 < 0.1) and mostly wrong results (P 0.75 > 0.5): try a new kind of approach",
            ),
            (
                reason(0.5, 0.75, 0.0, -0.15, 0),
                "a clear change (|∇L| 0.15 ≥ 0.1) and mostly wrong results (P 0.75 > 0.5): try another approach",
            ),
            (
                reason(0.5, 0.2, 0.0, 0.0, 0),
                "no clear change (|∇L| 0.00 < 0.1) and mostly environmental failures (P 0.20 ≤ 0.5): try another target",
            ),
            (
                reason(0.5, 0.2, 0.0, 0.1, 0),
                "a clear change (|∇L| 0.10 ≥ 0.1) and mostly environmental failures (P 0.20 ≤ 0.5): try other parameters",
            ),
        ] {
            assert_eq!(found, text);
        }
    }
}

use super::{Rule, Solved, WORSENING};
use crate::model::Replan;

impl Solved {
    /// Why the run goes where it goes: one sentence without a stop, with the numbers that decided.
    pub fn rationale(&self, replan: &Replan) -> String {
        let d = shown(self.loss.d);
        let p = shown(self.loss.p);
        let omega = shown(self.loss.omega);
        let gradient = shown(self.gradient);
        let change = shown(self.gradient.abs());
        let (epsilon, rho, theta) = (replan.epsilon, replan.rho, replan.theta);
        let plateau = format!("no clear change (|∇L| {change} < {epsilon})");
        let signal = format!("a clear change (|∇L| {change} ≥ {epsilon})");
        let logical = format!("mostly wrong results (P {p} > {rho})");
        let world = format!("mostly environmental failures (P {p} ≤ {rho})");
        match self.rule {
            Rule::AllHold => "every criterion holds (D = 0)".into(),
            Rule::BudgetSpent => format!("the budget is used up (Ω {omega} ≥ {theta})"),
            Rule::Diverging => format!(
                "round {} in a row that is worse (∇L {gradient} > {epsilon}; {WORSENING} end a run)",
                self.worsening
            ),
            Rule::WithinDelta => format!(
                "not everything holds, but what is missing is little (D {d} ≤ {})",
                replan.accepted()
            ),
            Rule::PlateauLogical => {
                format!("{plateau} and {logical}: an approach of a kind never tried")
            }
            Rule::SignalLogical => format!("{signal} and {logical}: another approach"),
            Rule::PlateauEnvironmental => format!("{plateau} and {world}: another target"),
            Rule::SignalEnvironmental => format!("{signal} and {world}: other parameters"),
        }
    }
}

/// A number with at least two decimals, and as many more as it has.
fn shown(number: f64) -> String {
    let six = format!("{number:.6}");
    let whole = six.find('.').unwrap_or(six.len());
    let least = whole + ".00".len();
    let end = six.trim_end_matches('0').len().max(least);
    six.get(..end).unwrap_or(&six).to_owned()
}

#[cfg(test)]
mod tests {
    use super::shown;
    use crate::ggs::{Measures, decide};
    use crate::model::Replan;

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
            assert_eq!(shown(number), text);
        }
    }

    #[test]
    fn each_rule_says_the_numbers_that_decided() {
        let replan = Replan::default();
        let why = |d, p, omega, gradient, before| {
            decide(&replan, Measures { d, p, omega }, gradient, before).rationale(&replan)
        };
        for (found, text) in [
            (why(0.0, 1.0, 1.0, 0.0, 0), "every criterion holds (D = 0)"),
            (
                why(0.5, 1.0, 0.85, 0.0, 0),
                "the budget is used up (Ω 0.85 ≥ 0.8)",
            ),
            (
                why(0.5, 1.0, 0.0, 0.2, 1),
                "round 2 in a row that is worse (∇L 0.20 > 0.1; 2 end a run)",
            ),
            (
                why(0.25, 1.0, 0.0, 0.0, 0),
                "not everything holds, but what is missing is little (D 0.25 ≤ 0.3)",
            ),
            (
                why(0.5, 0.75, 0.0, -0.05, 0),
                "no clear change (|∇L| 0.05 < 0.1) and mostly wrong results (P 0.75 > 0.5): \
                 an approach of a kind never tried",
            ),
            (
                why(0.5, 0.75, 0.0, -0.15, 0),
                "a clear change (|∇L| 0.15 ≥ 0.1) and mostly wrong results (P 0.75 > 0.5): \
                 another approach",
            ),
            (
                why(0.5, 0.2, 0.0, 0.0, 0),
                "no clear change (|∇L| 0.00 < 0.1) and mostly environmental failures \
                 (P 0.20 ≤ 0.5): another target",
            ),
            (
                why(0.5, 0.2, 0.0, 0.1, 0),
                "a clear change (|∇L| 0.10 ≥ 0.1) and mostly environmental failures \
                 (P 0.20 ≤ 0.5): other parameters",
            ),
        ] {
            assert_eq!(found, text);
        }
    }
}

//! Properties for all numbers.

use crate::ggs::{
    Directive, DirectiveUrgency, GgsRule, PreviousRound, RoundLoss, RoundMeasures, SolverOutcome, decide,
    loss, solve,
};
use proptest::prelude::*;
use wf_model::ReplanSettings;

fn odd() -> impl Strategy<Value = f64> {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, -0.0, 0.0, 1.0];
    prop_oneof![
        4 => 0.0..=1.0_f64,
        1 => any::<f64>(),
        1 => prop::sample::select(odd.to_vec()),
    ]
}

fn measures() -> impl Strategy<Value = RoundMeasures> {
    (odd(), odd(), odd()).prop_map(|(d, p, omega)| RoundMeasures { d, p, omega })
}

fn changes() -> impl Strategy<Value = f64> {
    prop_oneof![4 => -1.5..1.5_f64, 1 => odd()]
}

fn replans() -> impl Strategy<Value = ReplanSettings> {
    let weights = (0.0..10.0_f64, 0.0..10.0_f64, 0.0..10.0_f64);
    let thresholds = (0.0..=1.0_f64, 0.0..=1.0_f64, 0.0..=1.0_f64, 0.01..=1.0_f64);
    (weights, thresholds, any::<bool>()).prop_map(|(weights, thresholds, strict)| ReplanSettings {
        alpha: weights.0,
        beta: weights.1,
        lambda: weights.2,
        epsilon: thresholds.0,
        delta: thresholds.1,
        rho: thresholds.2,
        theta: thresholds.3,
        strict,
        ..ReplanSettings::default()
    })
}

fn pasts() -> impl Strategy<Value = PreviousRound> {
    let loss = prop::option::of(prop_oneof![4 => 0.0..2.0_f64, 1 => odd()]);
    (loss, 0..4_u32).prop_map(|(loss, worsening)| PreviousRound { loss, worsening })
}

fn numbers(solved: &SolverOutcome) -> [u64; 5] {
    let loss = solved.loss;
    [loss.d, loss.p, loss.omega, loss.l, solved.gradient].map(f64::to_bits)
}

proptest! {
    #[test]
    fn nothing_is_tried_when_the_budget_is_used_up(
        replan in replans(), measures in measures(), past in pasts()) {
        let solved = solve(&replan, measures, past);
        if solved.loss.omega >= replan.theta {
            prop_assert!(!solved.directive.acts(), "{:?}", solved);
            prop_assert!(solved.directive != Directive::Success, "{:?}", solved);
        }
    }

    #[test]
    fn two_worse_rounds_in_a_row_end_it(
        replan in replans(), first in measures(), second in measures(), third in measures()) {
        let one = solve(&replan, first, PreviousRound::default());
        let two = solve(&replan, second, one.past());
        let three = solve(&replan, third, two.past());
        if two.gradient > replan.epsilon && three.gradient > replan.epsilon {
            let ended = matches!(three.directive, Directive::Accept | Directive::Abandon);
            prop_assert!(ended, "{:?}", three);
        } else {
            prop_assert!(three.rule != GgsRule::Diverging, "{:?}", three);
        }
    }

    #[test]
    fn two_changes_for_the_worse_end_it(
        replan in replans(), measures in measures(), more in (0.001..1.0_f64, 0.001..1.0_f64)) {
        let one = decide(&replan, measures, replan.epsilon + more.0, 0);
        prop_assert!(one.rule != GgsRule::Diverging && one.worsening == 1, "{:?}", one);
        let two = decide(&replan, measures, replan.epsilon + more.1, one.worsening);
        prop_assert!(!two.directive.acts() && two.directive != Directive::Success, "{:?}", two);
    }

    #[test]
    fn the_direction_of_a_change_is_only_urgency(
        replan in replans(), measures in measures(), change in changes()) {
        let up = decide(&replan, measures, change.abs(), 0);
        let down = decide(&replan, measures, -change.abs(), 0);
        prop_assert_eq!(up.directive, down.directive);
        prop_assert_eq!(up.rule, down.rule);
        prop_assert!(up.urgency >= down.urgency);
        prop_assert_eq!(up.urgency == DirectiveUrgency::High, down.urgency == DirectiveUrgency::Low);
    }

    #[test]
    fn the_loss_stays_in_its_bounds(replan in replans(), measures in measures()) {
        let loss = loss(&replan, measures);
        let most = replan.alpha + replan.beta.max(replan.lambda);
        prop_assert!((0.0..=most + 1e-6).contains(&loss.l), "{:?}", loss);
        for part in [loss.d, loss.p, loss.omega] {
            prop_assert!((0.0..=1.0).contains(&part), "{:?}", loss);
        }
    }

    #[test]
    fn only_what_is_at_no_distance_is_accepted(
        replan in replans(), measures in measures(), past in pasts()) {
        let solved = solve(&replan, measures, past);
        let none = measures.d <= 0.0;
        prop_assert_eq!(solved.directive == Directive::Accept, none, "{:?}", solved);
        prop_assert!(!(replan.strict && solved.directive == Directive::Success));
    }

    #[test]
    fn the_first_round_has_no_change(replan in replans(), measures in measures()) {
        let solved = solve(&replan, measures, PreviousRound::default());
        prop_assert_eq!(solved.gradient.to_bits(), 0);
        prop_assert_eq!((solved.worsening, solved.urgency), (0, DirectiveUrgency::Normal));
    }

    #[test]
    fn the_same_numbers_give_the_same_answer_also_through_json(
        replan in replans(), measures in measures(), past in pasts()) {
        let solved = solve(&replan, measures, past);
        let again = solve(&replan, measures, past);
        prop_assert_eq!(numbers(&solved), numbers(&again));
        let text = serde_json::to_string(&solved).unwrap();
        let read: SolverOutcome = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(numbers(&solved), numbers(&read));
        prop_assert_eq!(solved, read);
        let RoundLoss { d, p, omega, .. } = solved.loss;
        let shown = decide(&replan, RoundMeasures { d, p, omega }, solved.gradient, past.worsening);
        prop_assert_eq!(solved, shown, "what is shown leads to the same");
    }

    #[test]
    fn a_reason_is_one_line(replan in replans(), measures in measures(), past in pasts()) {
        let reason = solve(&replan, measures, past).rationale(&replan);
        prop_assert!(!reason.is_empty() && !reason.contains('\n') && !reason.contains("NaN"), "{}", reason);
    }
}

//! The source's table, cell by cell, and each comparison at its boundary.

use crate::ggs::{
    Directive,
    Directive::{Abandon, Accept, BreakSymmetry, ChangeApproach, ChangePath, Refine, Success},
    DirectiveUrgency, GgsRule, PreviousRound, RoundMeasures, SolverOutcome, decide, solve,
};
use std::time::Duration;
use wf_model::ReplanSettings;

/// artoo v0.8, Full 24-Cell Enumeration: ∇L against ε, D against δ, P against ρ, Ω against θ.
const TABLE: [(u8, &str, &str, &str, &str, Directive); 24] = [
    (1, "< -ε", "≤ δ", "≤ ρ", "< θ", Success),
    (2, "< -ε", "≤ δ", "> ρ", "< θ", Success),
    (3, "< -ε", "≤ δ", "≤ ρ", "≥ θ", Abandon),
    (4, "< -ε", "≤ δ", "> ρ", "≥ θ", Abandon),
    (5, "< -ε", "> δ", "≤ ρ", "< θ", Refine),
    (6, "< -ε", "> δ", "> ρ", "< θ", ChangeApproach),
    (7, "< -ε", "> δ", "≤ ρ", "≥ θ", Abandon),
    (8, "< -ε", "> δ", "> ρ", "≥ θ", Abandon),
    (9, "|·|< ε", "≤ δ", "≤ ρ", "< θ", Success),
    (10, "|·|< ε", "≤ δ", "> ρ", "< θ", Success),
    (11, "|·|< ε", "≤ δ", "≤ ρ", "≥ θ", Abandon),
    (12, "|·|< ε", "≤ δ", "> ρ", "≥ θ", Abandon),
    (13, "|·|< ε", "> δ", "≤ ρ", "< θ", ChangePath),
    (14, "|·|< ε", "> δ", "> ρ", "< θ", BreakSymmetry),
    (15, "|·|< ε", "> δ", "≤ ρ", "≥ θ", Abandon),
    (16, "|·|< ε", "> δ", "> ρ", "≥ θ", Abandon),
    (17, "> ε", "≤ δ", "≤ ρ", "< θ", Success),
    (18, "> ε", "≤ δ", "> ρ", "< θ", Success),
    (19, "> ε", "≤ δ", "≤ ρ", "≥ θ", Abandon),
    (20, "> ε", "≤ δ", "> ρ", "≥ θ", Abandon),
    (21, "> ε", "> δ", "≤ ρ", "< θ", Refine),
    (22, "> ε", "> δ", "> ρ", "< θ", ChangeApproach),
    (23, "> ε", "> δ", "≤ ρ", "≥ θ", Abandon),
    (24, "> ε", "> δ", "> ρ", "≥ θ", Abandon),
];

/// Returns numbers in each range of the default thresholds, including the bounds that belong to it.
fn numbers(range: &str) -> &'static [f64] {
    match range {
        "< -ε" => &[-1.0, -0.5, -0.100_001],
        "|·|< ε" => &[-0.099_999, 0.0, 0.099_999],
        "> ε" => &[0.100_001, 0.5, 1.0],
        "≤ δ" => &[0.000_001, 0.15, 0.3],
        "> δ" => &[0.300_001, 0.7, 1.0],
        "≤ ρ" => &[0.0, 0.25, 0.5],
        "> ρ" => &[0.500_001, 0.75, 1.0],
        "< θ" => &[0.0, 0.4, 0.799_999],
        "≥ θ" => &[0.8, 0.9, 1.0],
        _ => &[],
    }
}

fn at(d: f64, p: f64, omega: f64, gradient: f64) -> SolverOutcome {
    decide(&ReplanSettings::default(), RoundMeasures { d, p, omega }, gradient, 0)
}

fn chosen(d: f64, p: f64, omega: f64, gradient: f64) -> (GgsRule, Option<u8>) {
    let solved = at(d, p, omega, gradient);
    assert_eq!(solved.rule.directive(), solved.directive);
    (solved.rule, solved.cell)
}

#[test]
fn every_cell_leads_where_the_source_says() {
    let mut seen = 0;
    for (cell, gradients, ds, ps, omegas, directive) in TABLE {
        for gradient in numbers(gradients) {
            for d in numbers(ds) {
                for p in numbers(ps) {
                    for omega in numbers(omegas) {
                        let solved = at(*d, *p, *omega, *gradient);
                        let found = (solved.cell, solved.directive);
                        assert_eq!(found, (Some(cell), directive), "{solved:?}");
                        seen += 1;
                    }
                }
            }
        }
    }
    assert_eq!(seen, 24 * 81);
}

#[test]
fn the_cells_of_each_directive_are_as_many_as_the_source_counts() {
    let count = |directive| TABLE.iter().filter(|row| row.5 == directive).count();
    let counts = [Abandon, Success, BreakSymmetry, ChangeApproach, ChangePath, Refine].map(count);
    assert_eq!(counts, [12, 6, 1, 2, 1, 2]);
}

#[test]
fn a_change_of_exactly_epsilon_is_a_signal_that_the_table_has_no_row_for() {
    for gradient in [0.1, -0.1] {
        let world = chosen(0.5, 0.5, 0.0, gradient);
        assert_eq!(world, (GgsRule::SignalEnvironmental, None));
        assert_eq!(chosen(0.5, 0.51, 0.0, gradient), (GgsRule::SignalLogical, None));
        assert_eq!(chosen(0.3, 0.51, 0.0, gradient), (GgsRule::WithinDelta, None));
        assert_eq!(chosen(0.5, 0.51, 0.8, gradient), (GgsRule::BudgetSpent, None));
        let solved = at(0.5, 0.5, 0.0, gradient);
        assert_eq!((solved.urgency, solved.worsening), (DirectiveUrgency::Normal, 0));
    }
}

#[test]
fn each_threshold_belongs_to_the_side_that_the_source_says() {
    let rule = |d, p, omega, gradient| chosen(d, p, omega, gradient).0;
    // Ω ≥ θ.
    assert_eq!(rule(0.5, 0.0, 0.8, 0.0), GgsRule::BudgetSpent);
    assert_eq!(rule(0.5, 0.0, 0.799_999, 0.0), GgsRule::PlateauEnvironmental);
    // D ≤ δ.
    assert_eq!(rule(0.3, 0.0, 0.0, 0.0), GgsRule::WithinDelta);
    assert_eq!(rule(0.300_001, 0.0, 0.0, 0.0), GgsRule::PlateauEnvironmental);
    // P > ρ.
    assert_eq!(rule(0.5, 0.5, 0.0, 0.0), GgsRule::PlateauEnvironmental);
    assert_eq!(rule(0.5, 0.500_001, 0.0, 0.0), GgsRule::PlateauLogical);
    // |∇L| < ε.
    assert_eq!(rule(0.5, 0.0, 0.0, 0.099_999), GgsRule::PlateauEnvironmental);
    assert_eq!(rule(0.5, 0.0, 0.0, 0.1), GgsRule::SignalEnvironmental);
    // D = 0.
    assert_eq!(rule(0.0, 1.0, 0.0, 0.0), GgsRule::AllHold);
    assert_eq!(rule(0.000_001, 1.0, 0.0, 0.0), GgsRule::WithinDelta);
}

#[test]
fn each_rule_wins_over_each_later_one() {
    let last = |d, omega, before| {
        let replan = ReplanSettings::default();
        decide(&replan, RoundMeasures { d, p: 1.0, omega }, 0.2, before).rule
    };
    assert_eq!(last(0.5, 0.0, 0), GgsRule::SignalLogical);
    assert_eq!(last(0.2, 0.0, 0), GgsRule::WithinDelta);
    assert_eq!(last(0.2, 0.0, 1), GgsRule::Diverging);
    assert_eq!(last(0.5, 0.0, 1), GgsRule::Diverging);
    assert_eq!(last(0.2, 0.9, 1), GgsRule::BudgetSpent);
    assert_eq!(last(0.2, 0.9, 0), GgsRule::BudgetSpent);
    assert_eq!(last(0.0, 0.9, 1), GgsRule::AllHold);
    assert_eq!(last(0.0, 0.0, 1), GgsRule::AllHold);
}

#[test]
fn strict_accepts_only_what_holds_in_full() {
    let strict = ReplanSettings { strict: true, ..ReplanSettings::default() };
    let measures = |d| RoundMeasures { d, p: 0.0, omega: 0.0 };
    let solved = decide(&strict, measures(0.000_001), 0.0, 0);
    assert_eq!(solved.directive, ChangePath);
    assert_eq!(solved.cell, Some(13));
    assert_eq!(decide(&strict, measures(0.0), 0.0, 0).directive, Accept);
}

#[test]
fn only_two_worse_rounds_in_a_row_end_a_run() {
    let replan = ReplanSettings::default();
    let loss_of = |d| RoundMeasures { d, p: 0.0, omega: 0.0 };
    let mut past = PreviousRound::default();
    let mut seen = Vec::new();
    // 0.36, 0.48, 0.48, 0.6: worse, the same, worse; then better, worse, worse.
    for d in [0.6, 0.8, 0.8, 1.0, 0.4, 0.6, 0.8] {
        let solved = solve(&replan, loss_of(d), past);
        past = solved.past();
        seen.push((solved.directive, solved.worsening, solved.urgency));
    }
    let wanted = [
        (ChangePath, 0, DirectiveUrgency::Normal),
        (Refine, 1, DirectiveUrgency::High),
        (ChangePath, 0, DirectiveUrgency::Normal),
        (Refine, 1, DirectiveUrgency::High),
        (Refine, 0, DirectiveUrgency::Low),
        (Refine, 1, DirectiveUrgency::High),
        (Abandon, 2, DirectiveUrgency::High),
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn with_one_failure_and_no_time_the_rounds_end() {
    // The last round of the source's budget: two rounds and all the time are 0.8.
    let replan = ReplanSettings::default();
    let omega = crate::ggs::resource(&replan, 2, Duration::from_mins(5));
    let measures = RoundMeasures { d: crate::ggs::distance(1.0, 4), p: crate::ggs::process(1, 0), omega };
    let solved = solve(&replan, measures, PreviousRound::default());
    assert_eq!(solved.directive, Abandon);
}

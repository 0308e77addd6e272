use serde::{Deserialize, Serialize};

use super::{Directive, DirectiveUrgency, GgsRule, RoundLoss, RoundMeasures, loss, loss::rounded};
use wf_model::ReplanSettings;

/// The number of worse rounds in a row ending a run (artoo v0.8, Law 2 Kill-Switch).
pub const WORSENING: u32 = 2;

/// The facts that a round must know of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PreviousRound {
    /// L of the round before; `None` for the first.
    pub loss: Option<f64>,
    /// The number of rounds in a row that were worse by more than ε, up to the one before.
    pub worsening: u32,
}

/// The outcome of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SolverOutcome {
    /// The loss of the round.
    pub loss: RoundLoss,
    /// ∇L: the change of the loss since the round before; 0 for the first.
    pub gradient: f64,
    /// The number of rounds in a row that were worse by more than ε, including this one.
    pub worsening: u32,
    /// The cell of the source's table (artoo v0.8, Full 24-Cell Enumeration) that the numbers are
    /// in, from 1 to 24. None for a full pass, and for |∇L| = ε, which has no row in the table.
    /// With the rule `diverging` it is the cell of the numbers, not of the choice.
    pub cell: Option<u8>,
    /// The directive for the run.
    pub directive: Directive,
    /// The rule that chose it.
    pub rule: GgsRule,
    /// The intensity of the directive.
    pub urgency: DirectiveUrgency,
}

impl SolverOutcome {
    /// Returns the facts the next round must know of this one.
    pub fn past(&self) -> PreviousRound {
        PreviousRound { loss: Some(self.loss.l), worsening: self.worsening }
    }
}

/// Returns the outcome of a round measured.
pub fn solve(replan: &ReplanSettings, measures: RoundMeasures, previous: PreviousRound) -> SolverOutcome {
    let now = loss(replan, measures).l;
    // NaN says nothing of a change.
    let past_loss = previous.loss.filter(|before| !before.is_nan());
    let gradient = past_loss.map_or(0.0, |before| now - rounded(before));
    decide(replan, measures, gradient, previous.worsening)
}

/// Returns the outcome of a round whose change of loss is known. `before` is the number of rounds
/// in a row that were worse before this one. A change of NaN counts as none.
pub fn decide(replan: &ReplanSettings, measures: RoundMeasures, gradient: f64, before: u32) -> SolverOutcome {
    let loss = loss(replan, measures);
    let gradient = rounded(gradient);
    let urgency = urgency(replan, gradient);
    let worsening = match urgency {
        DirectiveUrgency::High => before.saturating_add(1),
        DirectiveUrgency::Low | DirectiveUrgency::Normal => 0,
    };
    let rule = rule(replan, &loss, gradient, worsening);
    SolverOutcome {
        loss,
        gradient,
        worsening,
        cell: cell(replan, &loss, gradient),
        directive: rule.directive(),
        rule,
        urgency,
    }
}

/// Returns the first matching rule of the cascade. The order of the lines is that of the rules.
fn rule(replan: &ReplanSettings, loss: &RoundLoss, gradient: f64, worsening: u32) -> GgsRule {
    let plateau = gradient.abs() < replan.epsilon;
    let logical = loss.p > replan.rho;
    match (plateau, logical) {
        _ if loss.d == 0.0 => GgsRule::AllHold,
        _ if loss.omega >= replan.theta => GgsRule::BudgetSpent,
        _ if worsening >= WORSENING => GgsRule::Diverging,
        _ if loss.d <= replan.accepted_distance() => GgsRule::WithinDelta,
        (true, true) => GgsRule::PlateauLogical,
        (false, true) => GgsRule::SignalLogical,
        (true, false) => GgsRule::PlateauEnvironmental,
        (false, false) => GgsRule::SignalEnvironmental,
    }
}

fn urgency(replan: &ReplanSettings, gradient: f64) -> DirectiveUrgency {
    if gradient > replan.epsilon {
        DirectiveUrgency::High
    } else if gradient < -replan.epsilon {
        DirectiveUrgency::Low
    } else {
        DirectiveUrgency::Normal
    }
}

/// Returns the number of the cell: eight for each direction of the loss, in them four for each
/// distance, two for each cost and one for each kind of failure.
fn cell(replan: &ReplanSettings, loss: &RoundLoss, gradient: f64) -> Option<u8> {
    let direction = match urgency(replan, gradient) {
        DirectiveUrgency::Low => 0,
        DirectiveUrgency::Normal if gradient.abs() < replan.epsilon => 8,
        DirectiveUrgency::Normal => return None,
        DirectiveUrgency::High => 16,
    };
    if loss.d == 0.0 {
        return None;
    }
    let far = 4 * u8::from(loss.d > replan.accepted_distance());
    let spent = 2 * u8::from(loss.omega >= replan.theta);
    let logical = u8::from(loss.p > replan.rho);
    Some(direction + far + spent + logical + 1)
}

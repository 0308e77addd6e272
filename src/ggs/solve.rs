use serde::{Deserialize, Serialize};

use super::loss::rounded;
use super::{Directive, Loss, Measures, Rule, Urgency, loss};
use crate::model::Replan;

/// How many worse rounds in a row end a run (artoo v0.8, Law 2 Kill-Switch).
pub const WORSENING: u32 = 2;

/// What a round must know of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Past {
    /// L of the round before; `None` for the first.
    pub loss: Option<f64>,
    /// How many rounds in a row were worse by more than ε, the one before the last of them.
    pub worsening: u32,
}

/// What follows from a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Solved {
    /// What the round cost.
    pub loss: Loss,
    /// ∇L: by how much more than the round before; 0 for the first.
    pub gradient: f64,
    /// How many rounds in a row were worse by more than ε, with this one.
    pub worsening: u32,
    /// The cell of the source's table (artoo v0.8, Full 24-Cell Enumeration) in which the numbers
    /// are, from 1 to 24. None for what holds in full, and where |∇L| = ε: the table has no row
    /// for that. With [`Rule::Diverging`] it is where the numbers are, not what was chosen.
    pub cell: Option<u8>,
    /// Where the run goes.
    pub directive: Directive,
    /// Which rule says so.
    pub rule: Rule,
    /// How hard the directive is applied.
    pub urgency: Urgency,
}

impl Solved {
    /// What the next round must know of this one.
    pub fn past(&self) -> Past {
        Past {
            loss: Some(self.loss.l),
            worsening: self.worsening,
        }
    }
}

/// What follows from a round that was measured.
pub fn solve(replan: &Replan, measures: Measures, past: Past) -> Solved {
    let now = loss(replan, measures).l;
    // What is no number says nothing of a change.
    let past_loss = past.loss.filter(|before| !before.is_nan());
    let gradient = past_loss.map_or(0.0, |before| now - rounded(before));
    decide(replan, measures, gradient, past.worsening)
}

/// What follows from a round whose change of loss is known. `before` is how many rounds in a row
/// were worse before this one. A change that is no number counts as none.
pub fn decide(replan: &Replan, measures: Measures, gradient: f64, before: u32) -> Solved {
    let loss = loss(replan, measures);
    let gradient = rounded(gradient);
    let urgency = urgency(replan, gradient);
    let worsening = match urgency {
        Urgency::High => before.saturating_add(1),
        Urgency::Low | Urgency::Normal => 0,
    };
    let rule = rule(replan, &loss, gradient, worsening);
    Solved {
        loss,
        gradient,
        worsening,
        cell: cell(replan, &loss, gradient),
        directive: rule.directive(),
        rule,
        urgency,
    }
}

/// The cascade. The order of the lines is the order of the rules.
fn rule(replan: &Replan, loss: &Loss, gradient: f64, worsening: u32) -> Rule {
    let plateau = gradient.abs() < replan.epsilon;
    let logical = loss.p > replan.rho;
    match (plateau, logical) {
        _ if loss.d == 0.0 => Rule::AllHold,
        _ if loss.omega >= replan.theta => Rule::BudgetSpent,
        _ if worsening >= WORSENING => Rule::Diverging,
        _ if loss.d <= replan.accepted() => Rule::WithinDelta,
        (true, true) => Rule::PlateauLogical,
        (false, true) => Rule::SignalLogical,
        (true, false) => Rule::PlateauEnvironmental,
        (false, false) => Rule::SignalEnvironmental,
    }
}

fn urgency(replan: &Replan, gradient: f64) -> Urgency {
    if gradient > replan.epsilon {
        Urgency::High
    } else if gradient < -replan.epsilon {
        Urgency::Low
    } else {
        Urgency::Normal
    }
}

/// The number of the cell: eight for each direction of the loss, in them four for each distance,
/// two for each cost and one for each kind of failure.
fn cell(replan: &Replan, loss: &Loss, gradient: f64) -> Option<u8> {
    let direction = match urgency(replan, gradient) {
        Urgency::Low => 0,
        Urgency::Normal if gradient.abs() < replan.epsilon => 8,
        Urgency::Normal => return None,
        Urgency::High => 16,
    };
    if loss.d == 0.0 {
        return None;
    }
    let far = 4 * u8::from(loss.d > replan.accepted());
    let spent = 2 * u8::from(loss.omega >= replan.theta);
    let logical = u8::from(loss.p > replan.rho);
    Some(direction + far + spent + logical + 1)
}

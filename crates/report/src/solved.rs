use anstyle::Style;
use serde_json::{Value, json};

use super::{ColumnAlign, TextTable};
use wf_base::untrusted::{BOLD, DIM};
use wf_core::ggs::{DirectiveUrgency, SolverOutcome, format_number};
use wf_model::ReplanSettings;

/// The consequences of a round as text: the numbers, the cell, the directive and the reason.
pub fn decision_text(replan: &ReplanSettings, solved: &SolverOutcome) -> String {
    format!("{}\n{}", measures_text(replan, solved), directive_text(replan, solved))
}

/// The numbers, each beside its threshold.
fn measures_text(replan: &ReplanSettings, solved: &SolverOutcome) -> String {
    let loss = &solved.loss;
    let strict = if replan.strict { ", strict" } else { "" };
    let accepted = format!("δ {}{strict}", replan.accepted_distance());
    let rho = format!("ρ {}", replan.rho);
    let theta = format!("θ {}", replan.theta);
    let epsilon = format!("ε {}", replan.epsilon);
    let mut table = TextTable::new(&[
        ("", ColumnAlign::Left),
        ("", ColumnAlign::Right),
        ("", ColumnAlign::Left),
        ("", ColumnAlign::Left),
    ]);
    for (name, number, against, about) in [
        ("D", loss.d, accepted, "distance from the goal"),
        ("P", loss.p, rho, "failed because of the approach"),
        ("Ω", loss.omega, theta, "share of the budget used"),
        ("L", loss.l, String::new(), "αD + β(1 − Ω)P + λΩ"),
        ("∇L", solved.gradient, epsilon, "change since the round before"),
    ] {
        table.row(vec![
            (name.into(), Style::new()),
            (format_number(number), Style::new()),
            (against, DIM),
            (about.into(), DIM),
        ]);
    }
    rows(&table)
}

/// The resulting decision.
fn directive_text(replan: &ReplanSettings, solved: &SolverOutcome) -> String {
    let cell = match solved.cell {
        Some(cell) => format!("{cell} of 24"),
        None => "none".into(),
    };
    let mut table = TextTable::new(&[("", ColumnAlign::Left), ("", ColumnAlign::Left)]);
    for (name, text, style) in [
        ("cell", cell, Style::new()),
        ("directive", solved.directive.as_str().into(), BOLD),
        ("rule", solved.rule.as_str().into(), Style::new()),
        ("urgency", urgency(solved), Style::new()),
        ("because", solved.rationale(replan), Style::new()),
    ] {
        table.row(vec![(name.into(), DIM), (text, style)]);
    }
    rows(&table)
}

/// A table without its header line: these have no headings.
fn rows(table: &TextTable) -> String {
    let text = table.render();
    text.split_once('\n').map_or_else(String::new, |(_, rows)| rows.to_owned())
}

/// The same as one value, with the thresholds.
pub fn decision_json(replan: &ReplanSettings, solved: &SolverOutcome) -> Value {
    let mut value = json!(solved);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("rationale".into(), solved.rationale(replan).into());
        let numbers = json!({
            "alpha": replan.alpha,
            "beta": replan.beta,
            "lambda": replan.lambda,
            "epsilon": replan.epsilon,
            "delta": replan.delta,
            "rho": replan.rho,
            "theta": replan.theta,
            "strict": replan.strict,
        });
        fields.insert("replan".into(), numbers);
    }
    value
}

fn urgency(solved: &SolverOutcome) -> String {
    let (word, reason) = match solved.urgency {
        DirectiveUrgency::Low => ("low", "improving"),
        DirectiveUrgency::Normal => ("normal", "neither better nor worse by more than ε"),
        DirectiveUrgency::High => ("high", "getting worse"),
    };
    format!("{word}: {reason}")
}

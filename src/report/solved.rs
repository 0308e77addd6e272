use anstyle::Style;
use serde_json::{Value, json};

use super::{Align, BOLD, DIM, Table};
use crate::ggs::{Solved, Urgency, shown};
use crate::model::Replan;

/// What follows from a round, for a person: the numbers, the cell, the directive and why.
pub fn solved(replan: &Replan, solved: &Solved) -> String {
    format!("{}\n{}", measured(replan, solved), chosen(replan, solved))
}

/// The numbers, each beside what it is compared with.
fn measured(replan: &Replan, solved: &Solved) -> String {
    let loss = &solved.loss;
    let strict = if replan.strict { ", strict" } else { "" };
    let accepted = format!("δ {}{strict}", replan.accepted());
    let rho = format!("ρ {}", replan.rho);
    let theta = format!("θ {}", replan.theta);
    let epsilon = format!("ε {}", replan.epsilon);
    let mut table = Table::new(&[
        ("", Align::Left),
        ("", Align::Right),
        ("", Align::Left),
        ("", Align::Left),
    ]);
    for (name, number, against, about) in [
        ("D", loss.d, accepted, "from what was asked"),
        ("P", loss.p, rho, "failed by its approach"),
        ("Ω", loss.omega, theta, "of the budget used up"),
        ("L", loss.l, String::new(), "αD + β(1 − Ω)P + λΩ"),
        ("∇L", solved.gradient, epsilon, "more than the round before"),
    ] {
        table.row(vec![
            (name.into(), Style::new()),
            (shown(number), Style::new()),
            (against, DIM),
            (about.into(), DIM),
        ]);
    }
    rows(&table)
}

/// Where that leads.
fn chosen(replan: &Replan, solved: &Solved) -> String {
    let cell = match solved.cell {
        Some(cell) => format!("{cell} of 24"),
        None => "none".into(),
    };
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    for (name, said, style) in [
        ("cell", cell, Style::new()),
        ("directive", solved.directive.as_str().into(), BOLD),
        ("rule", solved.rule.as_str().into(), Style::new()),
        ("urgency", urgency(solved), Style::new()),
        ("because", solved.rationale(replan), Style::new()),
    ] {
        table.row(vec![(name.into(), DIM), (said, style)]);
    }
    rows(&table)
}

/// A table without its first line: these have no headings.
fn rows(table: &Table) -> String {
    let text = table.render();
    text.split_once('\n')
        .map_or_else(String::new, |(_, rows)| rows.to_owned())
}

/// The same as one value, with the numbers that it was compared with.
pub fn solved_json(replan: &Replan, solved: &Solved) -> Value {
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

fn urgency(solved: &Solved) -> String {
    let (word, why) = match solved.urgency {
        Urgency::Low => ("low", "it gets better"),
        Urgency::Normal => ("normal", "neither better nor worse by more than ε"),
        Urgency::High => ("high", "it gets worse"),
    };
    format!("{word}: {why}")
}

use std::fmt::Write as _;

use anstyle::Style;
use clap::Args;
use serde_json::{Value, json};

use super::rows::{document, rows, short, signed, standing, style, tags};
use crate::cli::{Exit, Failure, Ui};
use crate::digest::Digest;
use crate::memory::{Megram, potentials, ruled, share};
use crate::report::{Align, DIM, NAME, Table, paint};
use crate::store::Which;
use crate::time::Moment;

/// Explain what follows from a cluster: what each megram adds today, and the threshold that decides
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf memory explain tool:curl path:api.example
  wf memory explain intent:build_the_page env:local")]
pub struct ExplainArgs {
    /// The space, like tool:curl
    #[arg(value_name = "SPACE")]
    space: String,
    /// The entity, like path:api.example
    #[arg(value_name = "ENTITY")]
    entity: String,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Explains a cluster.
pub(super) fn run(ui: &Ui, args: &ExplainArgs) -> Result<Exit, Failure> {
    let tags = tags(&args.space, &args.entity)?;
    let megrams = rows(ui, &Which::Cluster(tags.clone()))?;
    if megrams.is_empty() {
        let failure = Failure::new(Exit::Usage, format!("nothing is remembered about {tags}"));
        return Err(failure.hint("`wf memory query` has the clusters that are known"));
    }
    let now = ui.env.now();
    if args.json {
        ui.print_json(&document(&json(&megrams, now)))?;
    } else {
        ui.print(&text(&megrams, now))?;
    }
    Ok(Exit::Ok)
}

fn json(megrams: &[Megram], now: Moment) -> Value {
    let known = potentials(megrams, now);
    let cluster: Vec<&Megram> = megrams.iter().collect();
    let ruled = ruled(&cluster);
    let one = |megram: &Megram| {
        let share = share(megram, now);
        json!({
            "megram": megram,
            "days": share.days,
            "attention": share.attention,
            "decision": share.decision,
        })
    };
    json!({
        "v": 1,
        "megrams": megrams.iter().map(one).collect::<Vec<Value>>(),
        "attention": known.attention,
        "decision": known.decision,
        "evidence": known.action.as_str(),
        "because": known.action.because(),
        "action": ruled.as_ref().map_or(known.action, |(decided, _)| *decided).as_str(),
        "rules": ruled.map(|(_, rules)| rules),
    })
}

fn text(megrams: &[Megram], now: Moment) -> String {
    let mut text = table(megrams, now);
    let known = potentials(megrams, now);
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "{} {what}", paint(NAME, &format!("{name:<10}")));
    };
    let (attention, decision) = (known.attention, signed(known.decision));
    line("attention", format!("{attention:>6.2}  Σ|f|·e^(−k·days)"));
    line("decision", format!("{decision:>6}  Σσ·f·e^(−k·days)"));
    let action = |action| paint(style(action), action.as_str());
    let because = known.action.because();
    line("evidence", format!("{}: {because}", action(known.action)));
    let cluster: Vec<&Megram> = megrams.iter().collect();
    let (decided, why) = match ruled(&cluster) {
        Some((decided, rules)) => {
            let rules: Vec<String> = rules.iter().map(Digest::short).collect();
            (
                decided,
                format!("the rule {} goes before the evidence", rules.join(", ")),
            )
        }
        None => (
            known.action,
            "no rule stands, so the evidence decides".into(),
        ),
    };
    line("action", format!("{}: {why}", action(decided)));
    text
}

fn table(megrams: &[Megram], now: Moment) -> String {
    let (left, right) = (|name| (name, Align::Left), |name| (name, Align::Right));
    let mut table = Table::new(&[
        left("id"),
        left("state"),
        right("f"),
        right("σ"),
        right("k"),
        right("days"),
        right("attention"),
        right("decision"),
        left("content"),
    ]);
    for megram in megrams {
        let share = share(megram, now);
        let (attention, decision) = if megram.level.fades() {
            (
                format!("{:.3}", share.attention),
                format!("{:+.3}", share.decision),
            )
        } else {
            (String::new(), standing(megram).into())
        };
        let number = |number: f64| (number.to_string(), Style::new());
        table.row(vec![
            (megram.id.short(), NAME),
            (megram.state.to_string(), Style::new()),
            number(megram.f),
            number(megram.sigma),
            number(megram.k),
            (format!("{:.1}", share.days), DIM),
            (attention, Style::new()),
            (decision, Style::new()),
            (short(&megram.content), Style::new()),
        ]);
    }
    table.render()
}

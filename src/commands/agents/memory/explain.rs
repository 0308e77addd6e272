use std::fmt::Write as _;

use anstyle::Style;
use clap::Args;

use super::rows::{document, short_line, signed_number, standing, style, tags};
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    memory::{MemoryReader, cluster_explanation},
};
use wf_base::{
    digest::Sha256Digest,
    time::Moment,
    untrusted::{DIM, NAME, paint},
};
use wf_core::memory::{Megram, potentials, ruled_action, share};
use wf_report::{ColumnAlign, TextTable};

/// Explain the advice from a cluster: the weight of each megram today, and the threshold
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf memory explain tool:curl path:api.example
  wf memory explain intent:build_the_page env:local")]
pub struct MemoryExplainArgs {
    /// Space, like tool:curl
    #[arg(value_name = "SPACE")]
    space: String,
    /// Entity, like path:api.example
    #[arg(value_name = "ENTITY")]
    entity: String,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Explains a cluster.
pub(super) fn run(ui: &Ui, args: &MemoryExplainArgs) -> Result<CliExitCode, CommandError> {
    let tags = tags(&args.space, &args.entity)?;
    let megrams = MemoryReader::open(&ui.host)?.of_cluster(tags.clone())?;
    if megrams.is_empty() {
        let error = CommandError::new(CliExitCode::Usage, format!("no memory entries for {tags}"));
        return Err(error.hint("for the known clusters: wf memory query"));
    }
    let now = ui.host.now();
    if args.json {
        ui.print_json(&document(&cluster_explanation(&megrams, now)))?;
    } else {
        ui.print(&text(&megrams, now))?;
    }
    Ok(CliExitCode::Ok)
}

fn text(megrams: &[Megram], now: Moment) -> String {
    let mut text = table(megrams, now);
    let potentials = potentials(megrams, now);
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "{} {what}", paint(NAME, &format!("{name:<10}")));
    };
    let (attention, decision) = (potentials.attention, signed_number(potentials.decision));
    line("attention", format!("{attention:>6.2}  Σ|f|·e^(−k·days)"));
    line("decision", format!("{decision:>6}  Σσ·f·e^(−k·days)"));
    let action = |action| paint(style(action), action.as_str());
    let because = potentials.action.table_row();
    line("evidence", format!("{}: {because}", action(potentials.action)));
    let cluster: Vec<&Megram> = megrams.iter().collect();
    let (decided, reason) = match ruled_action(&cluster) {
        Some((decided, rules)) => {
            let rules: Vec<String> = rules.iter().map(Sha256Digest::short).collect();
            (decided, format!("rule {} overrides the evidence", rules.join(", ")))
        }
        None => (potentials.action, "no rule applies, so the evidence decides".into()),
    };
    line("action", format!("{}: {reason}", action(decided)));
    text
}

fn table(megrams: &[Megram], now: Moment) -> String {
    let (left, right) = (|name| (name, ColumnAlign::Left), |name| (name, ColumnAlign::Right));
    let mut table = TextTable::new(&[
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
        let (attention, decision) = if megram.level.is_evidence() {
            (format!("{:.3}", share.attention), format!("{:+.3}", share.decision))
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
            (short_line(&megram.content), Style::new()),
        ]);
    }
    table.render()
}

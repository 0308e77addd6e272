use anstyle::Style;
use clap::Args;
use serde_json::{Value, json};

use super::rows::{document, line, signed_number, standing, style};
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    memory::{ClusterKnowledge, MemoryReader, cluster_knowledge},
};
use wf_base::untrusted::{DIM, NAME};
use wf_core::memory::{Megram, MegramLevel};
use wf_report::{ColumnAlign, TextTable};

/// Show the rules, and the advice from the evidence of each cluster, that a planner would get
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf memory query                              everything
  wf memory query --space tool:curl            all entries about a tool
  wf memory query --entity path:api.example    all entries about a target, for any tool")]
pub struct MemoryQueryArgs {
    /// Only clusters of this space
    #[arg(long, value_name = "SPACE")]
    space: Option<String>,
    /// Only clusters of this entity
    #[arg(long, value_name = "ENTITY")]
    entity: Option<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Prints the knowledge.
pub(super) fn run(ui: &Ui, args: &MemoryQueryArgs) -> Result<CliExitCode, CommandError> {
    let memory = MemoryReader::open(&ui.host)?;
    let mut megrams = args.space.as_ref().map_or_else(|| memory.all(), |space| memory.of_space(space))?;
    if let Some(entity) = &args.entity {
        megrams.retain(|megram| megram.tags.entity == *entity);
    }
    let rules: Vec<&Megram> = megrams.iter().filter(|megram| !standing(megram).is_empty()).collect();
    let knowledge = cluster_knowledge(&megrams, ui.host.now());
    if args.json {
        let clusters: Vec<Value> = knowledge.iter().map(ClusterKnowledge::json).collect();
        let value = json!({ "v": 1, "rules": rules, "clusters": clusters });
        ui.print_json(&document(&value))?;
    } else if rules.is_empty() && knowledge.is_empty() {
        ui.print_info("no matching memory entries\n");
    } else {
        ui.print(&text(&rules, &knowledge))?;
    }
    Ok(CliExitCode::Ok)
}

fn text(rules: &[&Megram], clusters: &[ClusterKnowledge<'_>]) -> String {
    let (left, right) = (|name| (name, ColumnAlign::Left), |name| (name, ColumnAlign::Right));
    let mut text = String::new();
    if !rules.is_empty() {
        let mut table = TextTable::new(&[left("id"), left("rule"), left("content")]);
        let by_level = [MegramLevel::Thinking, MegramLevel::CommonSense];
        let sorted = by_level.map(|level| rules.iter().filter(move |megram| megram.level == level));
        for rule in sorted.into_iter().flatten() {
            table.row(vec![
                (rule.id.short(), NAME),
                (standing(rule).into(), Style::new()),
                (line(&rule.content), Style::new()),
            ]);
        }
        text.push_str(&table.render());
    }
    if !clusters.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        let mut table = TextTable::new(&[
            left("action"),
            left("by"),
            right("attention"),
            right("decision"),
            right("megrams"),
            left("space"),
            left("entity"),
        ]);
        for cluster in clusters {
            let (action, by) = cluster.advice();
            table.row(vec![
                (action.as_str().into(), style(action)),
                (by.into(), DIM),
                (format!("{:.2}", cluster.sums.attention), Style::new()),
                (signed_number(cluster.sums.decision), Style::new()),
                (cluster.megrams.to_string(), Style::new()),
                (line(&cluster.tags.space), Style::new()),
                (line(&cluster.tags.entity), Style::new()),
            ]);
        }
        text.push_str(&table.render());
    }
    text
}

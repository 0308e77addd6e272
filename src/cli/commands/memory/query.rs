use anstyle::Style;
use clap::Args;
use serde_json::{Value, json};

use super::rows::{document, line, rows, signed, standing, style, sums};
use crate::cli::{Exit, Failure, Ui};
use crate::memory::{Action, Level, Megram, Potentials, Tags, clusters, potentials, ruled};
use crate::report::{Align, DIM, NAME, Table};
use crate::store::Which;
use crate::time::Moment;

/// Say what a planner would be told: the rules, and what follows from the evidence of each cluster
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf memory query                              everything
  wf memory query --space tool:curl            what is known of a tool
  wf memory query --entity path:api.example    what is known of a target, whatever was used on it")]
pub struct QueryArgs {
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

/// What is known of a cluster.
struct Known<'a> {
    tags: &'a Tags,
    /// How many megrams are evidence.
    megrams: usize,
    sums: Potentials,
    /// What the rules say, if there are any.
    ruled: Option<Action>,
}

/// Says what is known.
pub(super) fn run(ui: &Ui, args: &QueryArgs) -> Result<Exit, Failure> {
    let which = args.space.clone().map_or(Which::All, Which::Space);
    let mut megrams = rows(ui, &which)?;
    if let Some(entity) = &args.entity {
        megrams.retain(|megram| megram.tags.entity == *entity);
    }
    let rules: Vec<&Megram> = megrams.iter().filter(|one| !one.level.fades()).collect();
    let known = known(&megrams, ui.env.now());
    if args.json {
        let clusters: Vec<Value> = known.iter().map(cluster).collect();
        let value = json!({ "v": 1, "rules": rules, "clusters": clusters });
        ui.print_json(&document(&value))?;
    } else if megrams.is_empty() {
        ui.note("nothing is remembered about that\n");
    } else {
        ui.print(&text(&rules, &known))?;
    }
    Ok(Exit::Ok)
}

fn known(megrams: &[Megram], now: Moment) -> Vec<Known<'_>> {
    let clusters = clusters(megrams).into_iter();
    let known = clusters.map(|(tags, cluster)| Known {
        tags,
        megrams: cluster.iter().filter(|one| one.level.fades()).count(),
        sums: potentials(cluster.iter().copied(), now),
        ruled: ruled(&cluster).map(|(action, _)| action),
    });
    // A law alone says nothing about a tool and a target.
    known
        .filter(|known| known.megrams > 0 || known.ruled.is_some())
        .collect()
}

impl Known<'_> {
    /// What to do, and what says so.
    fn advice(&self) -> (Action, &'static str) {
        match self.ruled {
            Some(action) => (action, "rule"),
            None => (self.sums.action, "evidence"),
        }
    }
}

fn cluster(known: &Known<'_>) -> Value {
    let (action, by) = known.advice();
    let mut value = json!({
        "space": known.tags.space,
        "entity": known.tags.entity,
        "action": action,
        "by": by,
        "megrams": known.megrams,
    });
    if let (Some(fields), Value::Object(sums)) = (value.as_object_mut(), sums(&known.sums)) {
        fields.extend(sums);
    }
    value
}

fn text(rules: &[&Megram], known: &[Known<'_>]) -> String {
    let (left, right) = (|name| (name, Align::Left), |name| (name, Align::Right));
    let mut text = String::new();
    if !rules.is_empty() {
        let mut table = Table::new(&[left("id"), left("rule"), left("says")]);
        let by_level = [Level::Thinking, Level::CommonSense];
        let sorted = by_level.map(|level| rules.iter().filter(move |one| one.level == level));
        for rule in sorted.into_iter().flatten() {
            table.row(vec![
                (rule.id.short(), NAME),
                (standing(rule).into(), Style::new()),
                (line(&rule.content), Style::new()),
            ]);
        }
        text.push_str(&table.render());
    }
    if !known.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        let mut table = Table::new(&[
            left("action"),
            left("by"),
            right("attention"),
            right("decision"),
            right("megrams"),
            left("space"),
            left("entity"),
        ]);
        for one in known {
            let (action, by) = one.advice();
            table.row(vec![
                (action.as_str().into(), style(action)),
                (by.into(), DIM),
                (format!("{:.2}", one.sums.attention), Style::new()),
                (signed(one.sums.decision), Style::new()),
                (one.megrams.to_string(), Style::new()),
                (line(&one.tags.space), Style::new()),
                (line(&one.tags.entity), Style::new()),
            ]);
        }
        text.push_str(&table.render());
    }
    text
}

use clap::Args;
use serde_json::{Value, json};

use super::shelves::{find, left_out, line, sentence, tell_broken};
use crate::cli::{Exit, Failure, Ui};
use crate::report::{Align, BOLD, DIM, Table};
use crate::skill::{Found, Searched, Skill, search};

/// Find skills by words of their names, descriptions and texts
#[derive(Args, Debug)]
pub struct SearchArgs {
    /// Words that must all be there
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Searches skills.
pub fn run(ui: &Ui, args: &SearchArgs) -> Result<Exit, Failure> {
    let (all, _) = find(ui);
    tell_broken(ui, &all);
    let counts = |one: &&Found| one.shadowed_by.is_none();
    let loaded: Vec<(&Found, &Skill)> = all
        .found
        .iter()
        .filter(counts)
        .filter_map(|one| Some((one, one.skill.as_ref().ok()?)))
        .collect();
    let among: Vec<Searched<'_>> = loaded
        .iter()
        .map(|(one, skill)| Searched {
            name: &skill.name,
            description: &skill.description,
            body: one.text.get(skill.body.range()).unwrap_or(""),
        })
        .collect();
    let found = search(&args.words, &among);
    let hits = found
        .iter()
        .filter_map(|(at, fit)| Some((loaded.get(*at)?, fit)));
    if args.json {
        let hits: Vec<Value> = hits
            .map(|((one, skill), fit)| {
                json!({
                    "name": skill.name,
                    "path": one.shown(),
                    "description": skill.description,
                    "fit": fit,
                })
            })
            .collect();
        let document = json!({"v": 1, "skills": hits, "left_out": left_out(&all)});
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if found.is_empty() {
        ui.note("no skill has all these words\n");
    } else {
        let columns = ["skill", "where", "about"].map(|name| (name, Align::Left));
        let mut table = Table::new(&columns);
        for ((one, skill), _) in hits {
            let about = (sentence(&skill.description), anstyle::Style::new());
            table.row(vec![
                (line(&skill.name), BOLD),
                (line(&one.shown()), DIM),
                about,
            ]);
        }
        ui.print(&table.render())?;
    }
    Ok(Exit::Ok)
}

use clap::Args;
use serde_json::{Value, json};

use super::shelves::{find, left_out_json, line, sentence, warn_of_broken};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::untrusted::{BOLD, DIM};
use wf_report::{ColumnAlign, TextTable};
use wf_skill::{DiscoveredSkill, SearchableSkill, Skill, search};

/// Search skills by words in their names, descriptions and texts
#[derive(Args, Debug)]
pub struct SkillSearchArgs {
    /// Words that must all occur
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Searches skills.
pub fn run(ui: &Ui, args: &SkillSearchArgs) -> Result<CliExitCode, CommandError> {
    let (discovery, _) = find(ui);
    warn_of_broken(ui, &discovery);
    let counts = |discovered: &&DiscoveredSkill| discovered.shadowed_by.is_none();
    let loaded: Vec<(&DiscoveredSkill, &Skill)> = discovery
        .skills
        .iter()
        .filter(counts)
        .filter_map(|skill| Some((skill, skill.skill.as_ref().ok()?)))
        .collect();
    let among: Vec<SearchableSkill<'_>> = loaded
        .iter()
        .map(|(discovered, skill)| SearchableSkill {
            name: &skill.name,
            description: &skill.description,
            body: discovered.text.get(skill.body.range()).unwrap_or(""),
        })
        .collect();
    let ranked = search(&args.words, &among);
    let hits = ranked.iter().filter_map(|(at, fit)| Some((loaded.get(*at)?, fit)));
    if args.json {
        let hits: Vec<Value> = hits
            .map(|((discovered, skill), fit)| {
                json!({
                    "name": skill.name,
                    "path": discovered.shown(),
                    "description": skill.description,
                    "fit": fit,
                })
            })
            .collect();
        let document = json!({"v": 1, "skills": hits, "left_out": left_out_json(&discovery)});
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if ranked.is_empty() {
        ui.print_info("no skill matches all these words\n");
    } else {
        let columns = ["skill", "path", "description"].map(|name| (name, ColumnAlign::Left));
        let mut table = TextTable::new(&columns);
        for ((one, skill), _) in hits {
            let about = (sentence(&skill.description), anstyle::Style::new());
            table.row(vec![(line(&skill.name), BOLD), (line(&one.shown()), DIM), about]);
        }
        ui.print(&table.render())?;
    }
    Ok(CliExitCode::Ok)
}

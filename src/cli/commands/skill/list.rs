use clap::Args;
use serde_json::{Value, json};

use super::shelves::{find, left_out, line, sentence};
use crate::cli::{Exit, Failure, Ui};
use crate::report::{Align, BAD, BOLD, DIM, GOOD, Table, WARN};
use crate::skill::Found;

/// List the skills of this workspace and of yours: where they are, and whether they load
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Lists skills.
pub fn run(ui: &Ui, args: &ListArgs) -> Result<Exit, Failure> {
    let (all, _) = find(ui);
    if args.json {
        let skills: Vec<Value> = all.found.iter().map(as_json).collect();
        let document = json!({"v": 1, "skills": skills, "left_out": left_out(&all)});
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if all.found.is_empty() {
        ui.note("no skills · a skill is a folder with a SKILL.md in skills/ or .agents/skills/\n");
        ui.note("to get one: wf skill install bundled:coding\n");
    } else {
        let columns = ["skill", "is", "where", "about"].map(|name| (name, Align::Left));
        let mut table = Table::new(&columns);
        all.found.iter().for_each(|one| table.row(row(one)));
        ui.print(&table.render())?;
    }
    Ok(Exit::Ok)
}

fn row(one: &Found) -> Vec<(String, anstyle::Style)> {
    let plain = |text: String| (text, anstyle::Style::new());
    let (is, style, about) = match (&one.shadowed_by, &one.skill) {
        (Some(by), _) => ("shadowed", DIM, format!("by {}", line(by))),
        (None, Err(why)) => {
            let why: Vec<String> = why.iter().map(|finding| line(&finding.message)).collect();
            ("broken", BAD, why.join("; "))
        }
        (None, Ok(skill)) if skill.warnings.is_empty() => {
            ("ok", GOOD, sentence(&skill.description))
        }
        (None, Ok(skill)) => ("warned", WARN, sentence(&skill.description)),
    };
    let name = (line(&one.name), BOLD);
    vec![
        name,
        (is.to_owned(), style),
        (line(&one.shown()), DIM),
        plain(about),
    ]
}

fn as_json(one: &Found) -> Value {
    let codes = |findings: &[crate::skill::Finding]| -> Vec<Value> {
        let pair = |finding: &crate::skill::Finding| json!({"code": finding.code, "message": finding.message});
        findings.iter().map(pair).collect()
    };
    let (skill, why) = match &one.skill {
        Ok(skill) => (Some(skill), Vec::new()),
        Err(why) => (None, codes(why)),
    };
    json!({
        "name": one.name,
        "path": one.shown(),
        "loads": skill.is_some(),
        "shadowed_by": one.shadowed_by,
        "description": skill.map(|skill| &skill.description),
        "warnings": skill.map_or_else(Vec::new, |skill| codes(&skill.warnings)),
        "broken": why,
    })
}

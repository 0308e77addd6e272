use clap::Args;
use serde_json::{Value, json};

use super::shelves::{find, left_out_json, line, sentence};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::untrusted::{BAD, BOLD, DIM, GOOD, WARN};
use wf_report::{ColumnAlign, TextTable};
use wf_skill::DiscoveredSkill;

/// List the skills of this workspace and of yours, with their location and load errors
#[derive(Args, Debug)]
pub struct SkillListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Lists skills.
pub fn run(ui: &Ui, args: &SkillListArgs) -> Result<CliExitCode, CommandError> {
    let (discovery, _) = find(ui);
    if args.json {
        let skills: Vec<Value> = discovery.skills.iter().map(as_json).collect();
        let document = json!({"v": 1, "skills": skills, "left_out": left_out_json(&discovery)});
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if discovery.skills.is_empty() {
        ui.print_info("no skills · a skill is a folder with a SKILL.md in skills/ or .agents/skills/\n");
        ui.print_info("install one with: wf skill install bundled:coding\n");
    } else {
        let columns = ["skill", "status", "path", "description"].map(|name| (name, ColumnAlign::Left));
        let mut table = TextTable::new(&columns);
        discovery.skills.iter().for_each(|skill| table.row(row(skill)));
        ui.print(&table.render())?;
    }
    Ok(CliExitCode::Ok)
}

fn row(discovered: &DiscoveredSkill) -> Vec<(String, anstyle::Style)> {
    let plain = |text: String| (text, anstyle::Style::new());
    let (is, style, about) = match (&discovered.shadowed_by, &discovered.skill) {
        (Some(by), _) => ("shadowed", DIM, format!("by {}", line(by))),
        (None, Err(reason)) => {
            let reason: Vec<String> = reason.iter().map(|finding| line(&finding.message)).collect();
            ("broken", BAD, reason.join("; "))
        }
        (None, Ok(skill)) if skill.warnings.is_empty() => ("ok", GOOD, sentence(&skill.description)),
        (None, Ok(skill)) => ("warned", WARN, sentence(&skill.description)),
    };
    let name = (line(&discovered.name), BOLD);
    vec![name, (is.to_owned(), style), (line(&discovered.shown()), DIM), plain(about)]
}

fn as_json(discovered: &DiscoveredSkill) -> Value {
    let codes = |findings: &[wf_skill::SkillFinding]| -> Vec<Value> {
        let pair =
            |finding: &wf_skill::SkillFinding| json!({"code": finding.code, "message": finding.message});
        findings.iter().map(pair).collect()
    };
    let (skill, reason) = match &discovered.skill {
        Ok(skill) => (Some(skill), Vec::new()),
        Err(reason) => (None, codes(reason)),
    };
    json!({
        "name": discovered.name,
        "path": discovered.shown(),
        "loads": skill.is_some(),
        "shadowed_by": discovered.shadowed_by,
        "description": skill.map(|skill| &skill.description),
        "warnings": skill.map_or_else(Vec::new, |skill| codes(&skill.warnings)),
        "broken": reason,
    })
}

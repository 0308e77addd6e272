use std::path::PathBuf;

use serde_json::{Value, json};

use crate::Ui;
use wf_app::skills::discover_skills;
use wf_base::{units::plural, untrusted::untrusted};
use wf_core::agent::authoring::SkillSummary;
use wf_skill::{DiscoveredSkill, OmittedFolders, SkillDiscovery, SkillFinding};

/// Returns the skills of the workspace and of the user, and the folder of each. Omissions are reported.
pub fn find(ui: &Ui) -> (SkillDiscovery, impl Fn(&DiscoveredSkill) -> PathBuf + use<>) {
    let (discovery, shelves) = discover_skills(&ui.host);
    for part in &discovery.omitted {
        ui.print_message(&sentence_of(part));
    }
    (discovery, move |skill: &DiscoveredSkill| shelves.folder(skill))
}

/// Returns the skills that the plans of the workspace may use, for a model that writes plans.
pub fn usable_skills(ui: &Ui) -> Vec<SkillSummary> {
    let (discovery, _) = find(ui);
    let own = discovery
        .skills
        .into_iter()
        .filter(|skill| skill.shadowed_by.is_none() && !skill.search_folder.is_users);
    let usable = own.filter_map(|skill| {
        let description = line(&skill.skill.ok()?.description);
        Some(SkillSummary { name: skill.name, description })
    });
    usable.collect()
}

/// The parts of shelves that were left out, as JSON.
pub fn left_out_json(discovery: &SkillDiscovery) -> Vec<Value> {
    let part = |omitted: &OmittedFolders| json!({"shelf": omitted.shelf, "folders": omitted.folders, "reason": omitted.reason});
    discovery.omitted.iter().map(part).collect()
}

fn sentence_of(omitted: &OmittedFolders) -> String {
    let shelf = untrusted(&omitted.shelf).to_string();
    let of_it = match omitted.folders {
        Some(folders) => format!("{} of {shelf}", plural(folders, "folder")),
        None => shelf,
    };
    let verb = if omitted.folders.unwrap_or(1) == 1 { "is" } else { "are" };
    format!("{of_it} {verb} left out: {}\n", untrusted(&omitted.reason))
}

/// Warns of skills that do not load, whatever the answer of the command is.
pub fn warn_of_broken(ui: &Ui, discovery: &SkillDiscovery) {
    for discovered in discovery.skills.iter().filter(|skill| skill.shadowed_by.is_none()) {
        if let Err(findings) = &discovered.skill {
            let shown = discovered.shown();
            ui.print_message_line(&format!("{} does not load: {}", untrusted(&shown), reasons(findings)));
        }
    }
}

/// Returns the messages of findings, safe to display.
pub fn reasons(findings: &[SkillFinding]) -> String {
    let reasons: Vec<String> =
        findings.iter().map(|finding| untrusted(&finding.message).to_string()).collect();
    reasons.join("; ")
}

/// A text on one line, safe to display.
pub fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    untrusted(&words.join(" ")).to_string()
}

/// The first sentence of a description, on one line, cut if it is too long.
pub fn sentence(text: &str) -> String {
    const LONGEST: usize = 100;
    let line = line(text);
    let end = line.find(". ").map_or(line.len(), |dot| dot + 1);
    let first = line.get(..end).unwrap_or(&line);
    if first.chars().count() <= LONGEST {
        return first.to_owned();
    }
    let cut: String = first.chars().take(LONGEST - 1).collect();
    cut.trim_end().to_owned() + "…"
}

use std::path::Path;

use clap::Args;

use super::shelves::{find, line, reasons};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::{
    diag::nearest,
    untrusted::{BOLD, DIM, WARN, paint, untrusted},
};
use wf_skill::{DiscoveredSkill, Skill, SkillFinding, disk};

/// Show the text of a skill, or one of its files
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf skill show coding                       its text and its files
  wf skill show coding references/style.md   one of its files

Invisible characters are written as \u{27e8}U+001B\u{27e9}.")]
pub struct SkillShowArgs {
    /// Name of the skill
    #[arg(value_name = "NAME")]
    name: String,
    /// File in its folder
    #[arg(value_name = "RESOURCE")]
    resource: Option<String>,
}

/// Shows a skill.
pub fn run(ui: &Ui, args: &SkillShowArgs) -> Result<CliExitCode, CommandError> {
    let (discovery, folder_of) = find(ui);
    let counts = || discovery.skills.iter().filter(|skill| skill.shadowed_by.is_none());
    let Some(discovered) = counts().find(|skill| skill.name == args.name) else {
        let message = format!("unknown skill `{}`", untrusted(&args.name));
        let error = CommandError::new(CliExitCode::Usage, message);
        let names = counts().map(|skill| skill.name.as_str());
        return Err(match nearest(&args.name, names) {
            Some(near) => error.hint(format!("did you mean `{}`?", line(near))),
            None => error.hint("for the existing skills: wf skill list"),
        });
    };
    let folder = folder_of(discovered);
    if let Some(path) = &args.resource {
        return resource(ui, &folder, path);
    }
    match &discovered.skill {
        Ok(skill) => {
            ui.print(&description_text(discovered, skill))?;
            ui.print(&files(&folder)?)?;
            let body = discovered.text.get(skill.body.range()).unwrap_or("");
            ui.print(&format!("\n{}\n", untrusted(body.trim_matches(['\r', '\n'])).block()))?;
            for other in discovery.skills.iter().filter(|skill| skill.shadowed_by == Some(discovered.shown()))
            {
                ui.print_message_line(&format!("it shadows {}", line(&other.shown())));
            }
            Ok(CliExitCode::Ok)
        }
        Err(findings) => Err(broken(discovered, findings)),
    }
}

fn broken(skill: &DiscoveredSkill, findings: &[SkillFinding]) -> CommandError {
    let message = format!("{} does not load: {}", line(&skill.shown()), reasons(findings));
    let help = findings.iter().filter_map(|finding| finding.help.as_ref());
    help.fold(CommandError::new(CliExitCode::Invalid, message), |error, help| {
        error.hint(untrusted(help).to_string())
    })
}

/// The description and the properties of a skill.
fn description_text(discovered: &DiscoveredSkill, skill: &Skill) -> String {
    let mut text =
        format!("{}  {}\n", paint(BOLD, &line(&skill.name)), paint(DIM, &line(&discovered.shown())));
    text.push_str(&format!("{}\n", line(&skill.description)));
    let mut row = |name: &str, value: &str| {
        text.push_str(&format!("{}  {}\n", paint(DIM, name), line(value)));
    };
    if let Some(license) = &skill.license {
        row("license", license);
    }
    if let Some(compatibility) = &skill.compatibility {
        row("needs", compatibility);
    }
    if !skill.allowed_tools.is_empty() {
        row("tools", &skill.allowed_tools.join(" · "));
    }
    for (key, value) in skill.metadata.iter().filter(|(key, _)| *key != "wf") {
        row(key, value);
    }
    for warning in &skill.warnings {
        let line = format!("{}  {}\n", paint(WARN, warning.code), line(&warning.message));
        text.push_str(&line);
    }
    text
}

/// Lists its other files by name; their content is not read.
fn files(folder: &Path) -> Result<String, CommandError> {
    let names = disk::names(folder).map_err(|error| {
        let message = format!("cannot list the skill's directory: {}", untrusted(&error.to_string()));
        CommandError::new(CliExitCode::Invalid, message).hint(error.remedy())
    })?;
    let mut text = String::new();
    for part in ["scripts/", "references/", "assets/", ""] {
        let is_here = |name: &&String| match part {
            "" => !["scripts/", "references/", "assets/"].iter().any(|part| name.starts_with(part)),
            part => name.starts_with(part),
        };
        for name in names.iter().filter(is_here).filter(|name| !name.eq_ignore_ascii_case("SKILL.md")) {
            text.push_str(&format!("{}  {}\n", paint(DIM, "file"), untrusted(name)));
        }
    }
    Ok(text)
}

fn resource(ui: &Ui, folder: &Path, path: &str) -> Result<CliExitCode, CommandError> {
    let bytes = disk::file(folder, path).map_err(|error| {
        let message = untrusted(&error.to_string()).to_string();
        CommandError::new(CliExitCode::Usage, message)
            .hint("name one of the skill's files, as listed by `wf skill show NAME`")
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("{} is not text", untrusted(path));
        CommandError::new(CliExitCode::Usage, message)
            .hint(format!("its path is {}", folder.join(path).display()))
    })?;
    ui.print(&untrusted(&text).block())?;
    Ok(CliExitCode::Ok)
}

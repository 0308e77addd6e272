use clap::Args;

use crate::cli::skills::consent::SignArgs;
use crate::cli::skills::fetch::{self, fetch};
use crate::cli::skills::needs::AcceptArgs;
use crate::cli::skills::place::{Way, bring};
use crate::cli::skills::put::{Hold, SKILLS};
use crate::cli::skills::study::{own_name, study};
use crate::cli::skills::{consent, locks};
use crate::cli::{Exit, Failure, Ui};
use crate::skill::Bundle;

/// Look at a skill, try its scripts in a sandbox, and put it into skills/
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing of it is executed before it was inspected, and nothing is written if anything is wrong.
Its files and who approved them stand in skills.lock, for git. docs/skills.md lists what is refused.

Examples:
  wf skill install ../skills/tables
  wf skill install git:https://example.org/skills#v1:tables
  wf skill install bundled:coding")]
pub struct InstallArgs {
    /// A folder, git:URL#REV:FOLDER, or bundled:NAME
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    accept: AcceptArgs,
    #[command(flatten)]
    sign: SignArgs,
}

/// Installs a skill.
pub fn run(ui: &Ui, args: &InstallArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let fetched = fetch(ui, &args.source)?;
    if let Some(failure) = elsewhere(&fetched.bundle, &args.source) {
        return Err(failure);
    }
    let name = own_name(&fetched.bundle, &fetched.folder).unwrap_or(fetched.folder);
    // Another name is another text, which is not what its author published: that is an import.
    consent::id(&name).map_err(|failure| {
        let import = format!("wf skill import {}", args.source.escape_debug());
        failure.hint(format!("to take it in under such a name: {import}"))
    })?;
    let hold = Hold::take(ui, &workspace)?;
    let place = workspace.root.join(SKILLS).join(&name);
    let is_there = std::fs::symlink_metadata(&place).is_ok();
    let is_locked = locks::read(&workspace)?.skills.contains_key(&name);
    // After an install that was interrupted the very same files lie there.
    let is_same = || fetch::read(&place).is_ok_and(|found| found == fetched.bundle);
    if is_locked || is_there && !is_same() {
        let message = format!("there is a skill `{name}` already");
        let hint = if is_locked {
            format!("wf skill update {name}, or wf skill remove {name}")
        } else {
            format!("lock that one: wf skill lock {name}")
        };
        return Err(Failure::new(Exit::Usage, message).hint(hint));
    }
    let way = Way {
        workspace: &workspace,
        hold: &hold,
        source: fetched.source,
        commit: fetched.commit,
        lies: None,
        sign: &args.sign,
        accept: &args.accept,
        json: args.json,
    };
    bring(ui, &study(&name, fetched.bundle), &way)
}

/// The failure for a folder that is no skill and holds some, as a repository of skills does.
fn elsewhere(bundle: &Bundle, source: &str) -> Option<Failure> {
    if bundle.files.keys().any(|path| is_skill_md(path)) {
        return None;
    }
    let inside: Vec<&str> = bundle
        .files
        .keys()
        .filter_map(|path| path.rsplit_once('/'))
        .filter(|(_, name)| is_skill_md(name))
        .map(|(folder, _)| folder)
        .collect();
    let first = inside.first()?;
    let more = match source.strip_prefix("git:") {
        Some(git) => {
            let before = git.split('#').next().unwrap_or(git);
            format!("git:{before}#REV:{first}")
        }
        None => format!("{}/{first}", source.trim_end_matches('/')),
    };
    let message = format!("it is no skill, and holds skills: {}", inside.join(", "));
    Some(Failure::new(Exit::Usage, message).hint(format!("name one: wf skill install {more}")))
}

fn is_skill_md(path: &str) -> bool {
    path == "SKILL.md" || path == "skill.md"
}

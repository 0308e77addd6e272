use clap::Args;
use serde_json::json;

use crate::cli::approve::Rules;
use crate::cli::skills::consent::SignArgs;
use crate::cli::skills::needs::AcceptArgs;
use crate::cli::skills::place::{Way, bring};
use crate::cli::skills::put::Hold;
use crate::cli::skills::study::study;
use crate::cli::skills::{consent, fetch, locks, one};
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::report::{BAD, GOOD, paint};
use crate::skill::SHELVES;

/// Look at skills that lie in the workspace already, and lock them as they are
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf skill lock tables     after you wrote or changed skills/tables
  wf skill lock --check    for a pipeline: exit code 4 if anything is not as it is locked")]
pub struct LockArgs {
    /// The skills; all of the workspace, if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Lock nothing: say whether all is as it is locked and approved
    #[arg(long)]
    check: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    accept: AcceptArgs,
    #[command(flatten)]
    sign: SignArgs,
}

/// Locks skills, or says whether they are.
pub fn run(ui: &Ui, args: &LockArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let mut names = args.names.clone();
    if names.is_empty() {
        names = lying(&workspace)?;
    }
    if args.check {
        return check(ui, &workspace, names, args.json);
    }
    let hold = Hold::take(ui, &workspace)?;
    for name in names {
        consent::id(&name)?;
        let Some(folder) = folder(&workspace, &name) else {
            let message = format!(
                "there is no skill `{}` in the workspace",
                name.escape_debug()
            );
            return Err(
                Failure::new(Exit::Usage, message).hint("wf skill list lists those that there are")
            );
        };
        let bundle = fetch::read(&workspace.root.join(&folder))?;
        let lock = locks::read(&workspace)?;
        let before = lock.skills.get(&name);
        // It is from where it came from as long as it is what came from there.
        let came =
            before.filter(|before| before.folder == folder && before.digest == bundle.digest());
        let way = Way {
            workspace: &workspace,
            hold: &hold,
            source: came.map_or_else(|| format!("path:{folder}"), |before| before.source.clone()),
            commit: came.and_then(|before| before.commit.clone()),
            lies: Some(folder),
            sign: &args.sign,
            accept: &args.accept,
            json: args.json,
        };
        bring(ui, &study(&name, bundle), &way)?;
    }
    Ok(Exit::Ok)
}

/// Where a skill of the workspace lies, relative to it.
fn folder(workspace: &Workspace, name: &str) -> Option<String> {
    let mut all = SHELVES.iter().map(|shelf| format!("{shelf}/{name}"));
    all.find(|folder| workspace.root.join(folder).join("SKILL.md").exists())
}

/// The names of all skills that lie in the workspace.
fn lying(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let mut names = std::collections::BTreeSet::new();
    for shelf in SHELVES {
        let Ok(entries) = std::fs::read_dir(workspace.root.join(shelf)) else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') && entry.path().join("SKILL.md").exists() {
                names.insert(name);
            }
        }
    }
    Ok(names.into_iter().collect())
}

fn check(
    ui: &Ui,
    workspace: &Workspace,
    mut names: Vec<String>,
    json: bool,
) -> Result<Exit, Failure> {
    let lock = locks::read(workspace)?;
    names.extend(lock.skills.keys().cloned());
    names.sort();
    names.dedup();
    let rules = Rules::of(ui, workspace)?;
    let (mut all_hold, mut text, mut rows) = (true, String::new(), Vec::new());
    for name in &names {
        // It may be the name of a folder that nobody chose to be shown.
        let shown = name.escape_debug();
        match one(ui, workspace, (&rules, &lock), name) {
            Ok(held) => {
                let by: Vec<&str> = held.by.iter().map(|by| by.name.as_str()).collect();
                let why = if by.is_empty() {
                    "it comes with this wf".to_owned()
                } else {
                    format!("approved by {}", by.join(", "))
                };
                text += &format!("{} {shown}: {why}\n", paint(GOOD, "holds:"));
                rows.push(json!({"skill": name, "holds": true, "by": by}));
            }
            Err(wrong) => {
                all_hold = false;
                let (why, remedy) = (wrong.told(), wrong.remedy(name));
                text += &format!("{} {shown}: {why}\n  {remedy}\n", paint(BAD, "wrong:"));
                rows.push(json!({"skill": name, "holds": false, "why": why, "remedy": remedy}));
            }
        }
    }
    if json {
        text = format!("{}\n", serde_json::Value::Array(rows));
    }
    ui.print(&text)?;
    Ok(if all_hold { Exit::Ok } else { Exit::Approval })
}

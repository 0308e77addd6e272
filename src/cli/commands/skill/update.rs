use clap::Args;

use crate::cli::skills::consent::SignArgs;
use crate::cli::skills::fetch::{self, fetch};
use crate::cli::skills::needs::AcceptArgs;
use crate::cli::skills::place::{Way, bring};
use crate::cli::skills::put::{Hold, SKILLS};
use crate::cli::skills::study::study;
use crate::cli::skills::{Wrong, locks};
use crate::cli::{Exit, Failure, Ui};
use crate::skill::lock::changes;

/// Get installed skills anew from where they came from
#[derive(Args, Debug)]
pub struct UpdateArgs {
    /// The skills; all that are locked, if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Write one JSON document for each
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    accept: AcceptArgs,
    #[command(flatten)]
    sign: SignArgs,
}

/// Updates skills.
pub fn run(ui: &Ui, args: &UpdateArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let hold = Hold::take(ui, &workspace)?;
    let lock = locks::read(&workspace)?;
    let names: Vec<String> = match args.names.as_slice() {
        [] => lock.skills.keys().cloned().collect(),
        named => named.to_vec(),
    };
    if names.is_empty() {
        ui.note("no skills are locked\n");
    }
    for name in names {
        let locked = lock.skills.get(&name).ok_or_else(|| not_locked(&name))?;
        if locked.folder != format!("{SKILLS}/{name}")
            || locked.source == format!("path:{}", locked.folder)
        {
            ui.note_line(&format!(
                "{name} was locked where it lies: wf skill lock {name}"
            ));
            continue;
        }
        let at_root = locked
            .source
            .strip_prefix("path:")
            .map(|path| workspace.root.join(path).display().to_string());
        let fetched = fetch(ui, at_root.as_deref().unwrap_or(&locked.source))?;
        // After an update that was interrupted the new files lie there already.
        let here = fetch::read(&workspace.root.join(&locked.folder))?;
        let changed = changes(&locked.files, &here);
        if !changed.is_empty() && here != fetched.bundle {
            return Err(Wrong::Changed(changed).failure(&name));
        }
        if changes(&locked.files, &fetched.bundle).is_empty() {
            ui.note_line(&format!("{name} is what it was"));
            continue;
        }
        let way = Way {
            workspace: &workspace,
            hold: &hold,
            source: locked.source.clone(),
            commit: fetched.commit,
            lies: None,
            sign: &args.sign,
            accept: &args.accept,
            json: args.json,
        };
        bring(ui, &study(&name, fetched.bundle), &way)?;
    }
    Ok(Exit::Ok)
}

/// The failure for a skill that no lock knows.
pub(super) fn not_locked(name: &str) -> Failure {
    let message = format!("no skill `{}` is locked", name.escape_debug());
    Failure::new(Exit::Usage, message).hint("`wf skill lock --check` lists those that are")
}

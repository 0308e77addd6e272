use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::cli::skills::adapted;
use crate::cli::skills::fetch::{Fetched, fetch};
use crate::cli::skills::put::{Hold, SKILLS};
use crate::cli::skills::study::{Studied, detect, study};
use crate::cli::skills::{consent, locks};
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::skill::import::{Ask, Format, Transformation, adapt};

/// Make a skill of another flavour one of the standard, and put it into skills/
#[derive(Args, Debug)]
#[command(after_help = "\
Says what became of each field, which files were left out, and what is to be looked at by hand. The
Markdown and the scripts stay as they are. No run uses the skill before `wf skill lock NAME`.

Examples:
  wf skill import ../.claude/skills/tables --dry-run
  wf skill import git:https://example.org/skills#v1:tables --name sums")]
pub struct ImportArgs {
    /// A folder, git:URL#REV:FOLDER, or bundled:NAME
    #[arg(value_name = "SOURCE")]
    source: String,
    /// What it is to be called; by default as it calls itself
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Its flavour
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    format: Flavour,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
    /// Write no skill: say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// The flavour of a skill.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Flavour {
    /// Find it out
    Auto,
    /// The standard: every other field is dropped
    Standard,
    /// Claude Code
    Claude,
    /// Codex and alike
    Openai,
}

impl Flavour {
    fn format(self) -> Option<Format> {
        match self {
            Self::Auto => None,
            Self::Standard => Some(Format::Standard),
            Self::Claude => Some(Format::Claude),
            Self::Openai => Some(Format::Openai),
        }
    }
}

/// Imports a skill. It is not locked: whoever reads it does that.
pub fn run(ui: &Ui, args: &ImportArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let fetched = fetch(ui, &args.source)?;
    let ask = Ask {
        folder: &fetched.folder,
        name: args.name.as_deref(),
        format: args.format.format(),
    };
    let (bundle, done) = adapt(&fetched.bundle, &ask, &detect).map_err(|bad| {
        let source = fetched.source.escape_debug();
        Failure::new(Exit::Invalid, format!("{source} cannot be imported: {bad}")).hint(bad.help)
    })?;
    let studied = study(&done.name, bundle);
    if args.dry_run {
        free(&workspace, &done.name)?;
    } else {
        consent::id(&done.name)?;
        let hold = Hold::take(ui, &workspace)?;
        free(&workspace, &done.name)?;
        hold.stage(&done.name, &studied.bundle)?.place()?;
    }
    if args.json {
        let document = document(args, &fetched, &done, &studied);
        return ui.print_json(&format!("{document}\n")).map(|()| Exit::Ok);
    }
    ui.print(&adapted::text(&fetched, &done, &studied, args.dry_run))?;
    Ok(Exit::Ok)
}

/// Refuses a name that is taken.
fn free(workspace: &Workspace, name: &str) -> Result<(), Failure> {
    let lies = workspace.root.join(SKILLS).join(name);
    let is_there = std::fs::symlink_metadata(lies).is_ok();
    if !is_there && !locks::read(workspace)?.skills.contains_key(name) {
        return Ok(());
    }
    let message = format!("there is a skill `{name}` already");
    let hint = format!(
        "import it under another name, --name NAME, or take that one out: wf skill remove {name}"
    );
    Err(Failure::new(Exit::Usage, message).hint(hint))
}

fn document(
    args: &ImportArgs,
    fetched: &Fetched,
    done: &Transformation,
    studied: &Studied,
) -> Value {
    json!({
        "v": 1,
        "source": fetched.source,
        "commit": fetched.commit,
        "imported": !args.dry_run,
        "folder": format!("{SKILLS}/{}", done.name),
        "locked": false,
        "next": format!("wf skill lock {}", done.name),
        "refuses_lock": studied.is_dangerous(),
        "transformation": done,
        "report": studied.report,
    })
}

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::{Ui, actions::command_text};
use wf_app::{
    CliExitCode, CommandError, Workspace,
    skills::{
        InspectedSkill, adapted, consent, detect,
        fetch::{FetchedSkill, fetch_skill},
        inspect_skill, locks,
        put::{SKILLS, SkillFolderLock},
    },
};
use wf_skill::import::{ConversionOptions, SkillConversion, SkillFormat, adapt};

/// Convert a skill of another format to the standard, and put it into skills/
#[derive(Args, Debug)]
#[command(after_help = "\
Reports how each field was converted, which files were left out, and what to review by hand.
Markdown and scripts are not changed. No run uses the skill before `wf skill lock NAME`.

Examples:
  wf skill import ../.claude/skills/tables --dry-run
  wf skill import git:https://example.org/skills#v1:tables --name sums")]
pub struct SkillImportArgs {
    /// A folder, git:URL#REV:FOLDER, or bundled:NAME
    #[arg(value_name = "SOURCE")]
    source: String,
    /// New name [default: its own]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Format of the skill
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    format: SkillFormatArg,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
}

/// The format of a skill.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SkillFormatArg {
    /// Detect it
    Auto,
    /// The standard: every other field is dropped
    Standard,
    /// Claude Code
    Claude,
    /// Codex and similar
    Openai,
}

impl SkillFormatArg {
    fn format(self) -> Option<SkillFormat> {
        match self {
            Self::Auto => None,
            Self::Standard => Some(SkillFormat::Standard),
            Self::Claude => Some(SkillFormat::Claude),
            Self::Openai => Some(SkillFormat::Openai),
        }
    }
}

/// Imports a skill. It is not locked: that follows its review.
pub fn run(ui: &Ui, args: &SkillImportArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let fetched = fetch_skill(&ui.host, &args.source)?;
    let options = ConversionOptions {
        folder: &fetched.folder,
        name: args.name.as_deref(),
        format: args.format.format(),
    };
    let (bundle, conversion) = adapt(&fetched.bundle, &options, &detect).map_err(|error| {
        let source = fetched.source.escape_debug();
        CommandError::new(CliExitCode::Invalid, format!("cannot import {source}: {error}")).hint(error.help)
    })?;
    let inspected = inspect_skill(&conversion.name, bundle);
    if args.dry_run {
        require_free_name(&workspace, &conversion.name)?;
    } else {
        consent::statement_name(&conversion.name)?;
        let hold = SkillFolderLock::acquire(ui, &workspace)?;
        require_free_name(&workspace, &conversion.name)?;
        hold.stage(&conversion.name, &inspected.bundle)?.install()?;
    }
    if args.json {
        let document = document(args, &fetched, &conversion, &inspected);
        return ui.print_json(&format!("{document}\n")).map(|()| CliExitCode::Ok);
    }
    ui.print(&adapted::adaptation_text(&fetched, &conversion, &inspected, args.dry_run, &command_text))?;
    Ok(CliExitCode::Ok)
}

/// Refuses a name that is taken.
fn require_free_name(workspace: &Workspace, name: &str) -> Result<(), CommandError> {
    let lies = workspace.root.join(SKILLS).join(name);
    let is_there = std::fs::symlink_metadata(lies).is_ok();
    if !is_there && !locks::read_lock(workspace)?.skills.contains_key(name) {
        return Ok(());
    }
    let message = format!("the skill `{name}` already exists");
    let hint = format!(
        "import it under another name with --name NAME, or remove the existing one: wf skill remove {name}"
    );
    Err(CommandError::new(CliExitCode::Usage, message).hint(hint))
}

fn document(
    args: &SkillImportArgs,
    fetched: &FetchedSkill,
    conversion: &SkillConversion,
    inspected: &InspectedSkill,
) -> Value {
    json!({
        "v": 1,
        "source": fetched.source,
        "commit": fetched.commit,
        "imported": !args.dry_run,
        "folder": format!("{SKILLS}/{}", conversion.name),
        "locked": false,
        "next": format!("wf skill lock {}", conversion.name),
        "refuses_lock": inspected.is_dangerous(),
        "transformation": conversion,
        "report": inspected.report,
    })
}

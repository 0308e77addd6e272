use clap::{Args, Subcommand};

use super::{list, prompt, properties, search, show, validate};
use crate::cli::{Exit, Failure, Ui};

/// Look at skills: folders with a SKILL.md
#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub struct SkillArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Search(search::SearchArgs),
    Validate(validate::ValidateArgs),
    ReadProperties(properties::PropertiesArgs),
    ToPrompt(prompt::PromptArgs),
}

/// Does what is asked for.
pub fn run(ui: &Ui, args: &SkillArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::List(args) => list::run(ui, args),
        What::Show(args) => show::run(ui, args),
        What::Search(args) => search::run(ui, args),
        What::Validate(args) => validate::run(ui, args),
        What::ReadProperties(args) => properties::run(ui, args),
        What::ToPrompt(args) => prompt::run(ui, args),
    }
}

use clap::{Args, ValueEnum};

use super::rows::{document, rows, table};
use crate::cli::{Exit, Failure, Ui};
use crate::memory::Level;
use crate::store::Which;

/// List what is remembered, oldest first
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Only megrams of this level
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelArg>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// The levels that megrams can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum LevelArg {
    /// What happened
    Megram,
    /// What counts for a while, like a rule that lost its trust
    Knowledge,
    /// Rules that the Dreamer made
    CommonSense,
    /// Laws
    Thinking,
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Megram => Self::Megram,
            LevelArg::Knowledge => Self::Knowledge,
            LevelArg::CommonSense => Self::CommonSense,
            LevelArg::Thinking => Self::Thinking,
        }
    }
}

/// Lists megrams.
pub(super) fn run(ui: &Ui, args: &ListArgs) -> Result<Exit, Failure> {
    let which = args
        .level
        .map_or(Which::All, |level| Which::Level(level.into()));
    let megrams = rows(ui, &which)?;
    if args.json {
        ui.print_json(&document(
            &serde_json::json!({ "v": 1, "megrams": megrams }),
        ))?;
    } else if megrams.is_empty() {
        ui.note("nothing is remembered\n");
    } else {
        ui.print(&table(&megrams))?;
    }
    Ok(Exit::Ok)
}

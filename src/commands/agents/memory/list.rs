use clap::{Args, ValueEnum};

use super::rows::{document, table};
use crate::Ui;
use wf_app::{CliExitCode, CommandError, memory::MemoryReader};
use wf_core::memory::MegramLevel;

/// List memory, oldest first
#[derive(Args, Debug)]
pub struct MemoryListArgs {
    /// Only megrams of this level
    #[arg(long, value_name = "LEVEL")]
    level: Option<MegramLevelArg>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// The levels to filter megrams by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum MegramLevelArg {
    /// Observed events
    Megram,
    /// Temporary knowledge, like a rule that lost its trust
    Knowledge,
    /// Rules derived by the Dreamer
    CommonSense,
    /// Laws
    Thinking,
    /// Claims of imported files that are not confirmed
    Claim,
}

impl From<MegramLevelArg> for MegramLevel {
    fn from(level: MegramLevelArg) -> Self {
        match level {
            MegramLevelArg::Megram => Self::Megram,
            MegramLevelArg::Knowledge => Self::Knowledge,
            MegramLevelArg::CommonSense => Self::CommonSense,
            MegramLevelArg::Thinking => Self::Thinking,
            MegramLevelArg::Claim => Self::Claim,
        }
    }
}

/// Lists megrams.
pub(super) fn run(ui: &Ui, args: &MemoryListArgs) -> Result<CliExitCode, CommandError> {
    let memory = MemoryReader::open(&ui.host)?;
    let megrams = args.level.map_or_else(|| memory.all(), |level| memory.of_level(level.into()))?;
    if args.json {
        ui.print_json(&document(&serde_json::json!({ "v": 1, "megrams": megrams })))?;
    } else if megrams.is_empty() {
        ui.print_info("no memory entries\n");
    } else {
        ui.print(&table(&megrams))?;
    }
    Ok(CliExitCode::Ok)
}

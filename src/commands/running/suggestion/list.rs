use std::fmt::Write as _;

use clap::Args;
use serde_json::json;

use crate::Ui;
use wf_app::{CliExitCode, CommandError, suggestions::list_suggestions};
use wf_base::{
    name::RunId,
    units::moment,
    untrusted::{BOLD, DIM, NAME, paint, styled_line},
};
use wf_core::suggestion::{SuggestionRecord, SuggestionState};

/// List the pending suggestions
#[derive(Args, Debug)]
pub struct SuggestionListArgs {
    /// List those that were accepted or dismissed, too
    #[arg(long)]
    all: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Lists suggestions.
pub(super) fn run(ui: &Ui, args: &SuggestionListArgs) -> Result<CliExitCode, CommandError> {
    let suggestion_records = list_suggestions(&ui.host, !args.all)?;
    if args.json {
        ui.print_json(&format!("{:#}\n", json!({"v": 1, "suggestions": suggestion_records})))?;
    } else if suggestion_records.is_empty() {
        ui.print_info("no suggestions; a plan makes some with `suggests`\n");
    } else {
        let text: String = suggestion_records.iter().map(described).collect();
        ui.print(&text)?;
    }
    Ok(CliExitCode::Ok)
}

/// Returns a suggestion: its title, its plan, and its outcome.
fn described(record: &SuggestionRecord) -> String {
    let suggestion = &record.suggestion;
    let mut text = format!("{:>3}  {}\n", record.number, paint(BOLD, &styled_line(&suggestion.title)));
    if !suggestion.why.is_empty() {
        let _ = writeln!(text, "     {}", styled_line(&suggestion.why));
    }
    let _ = write!(text, "     runs {}", paint(NAME, &styled_line(&suggestion.path)));
    for (name, value) in &suggestion.params {
        let _ = write!(text, " {}", styled_line(&format!("{name}={value}")));
    }
    let state = match record.state {
        SuggestionState::Pending => String::new(),
        SuggestionState::Dismissed => format!(" · dismissed {}", moment(record.changed)),
        SuggestionState::Accepted => {
            let run = record.started.as_ref().map_or("", RunId::short);
            format!(" · accepted {}: run {run}", moment(record.changed))
        }
    };
    let from = format!("by {}, run {} · {}{state}", record.plan, record.run.short(), moment(record.since));
    let _ = writeln!(text, "\n     {}", paint(DIM, &from));
    text
}

//! The answers beyond yes that a person gives on the command line, or at a terminal.

use std::path::PathBuf;

use clap::Args;

use crate::Ui;
use wf_app::{Caller, CliExitCode, CommandError};
use wf_base::untrusted::styled_line;
use wf_core::machine::{AnswerOptions, TypedAnswer};

/// The options for an answer that says more than yes.
#[derive(Args, Clone, Debug, Default)]
pub struct TypedAnswerArgs {
    /// Answer with one of the words to choose from (of a run)
    #[arg(long, value_name = "WORD", conflicts_with_all = ["text_file", "select"])]
    choose: Option<String>,
    /// Answer with the text of this file instead of the shown one (of a run)
    #[arg(long, value_name = "FILE", conflicts_with = "select")]
    text_file: Option<PathBuf>,
    /// Answer with these entries of the list only, by their positions in its order: 1,3 (of a run)
    #[arg(long, value_name = "POSITIONS", value_delimiter = ',')]
    select: Option<Vec<u32>>,
}

impl TypedAnswerArgs {
    /// True if one is given.
    pub fn is_given(&self) -> bool {
        self.choose.is_some() || self.text_file.is_some() || self.select.is_some()
    }

    /// Returns the answer to a request that permits these; a person at a terminal is asked for a choice. An unchanged
    /// text is a plain yes.
    pub fn answer(
        &self,
        ui: &Ui,
        options: Option<&AnswerOptions>,
    ) -> Result<Option<TypedAnswer>, CommandError> {
        if let Some(path) = &self.text_file {
            let text = std::fs::read_to_string(ui.host.cwd().join(path)).map_err(|error| {
                CommandError::new(CliExitCode::Usage, format!("cannot read {}: {error}", path.display()))
            })?;
            let is_draft = matches!(options, Some(AnswerOptions::Edit { text: draft, .. }) if *draft == text);
            return Ok((!is_draft).then_some(TypedAnswer::Text(text)));
        }
        if let Some(positions) = &self.select {
            return Ok(Some(TypedAnswer::Selected(positions.clone())));
        }
        let word = match (&self.choose, options) {
            (Some(word), _) => word.clone(),
            (None, Some(AnswerOptions::Choose(words))) if ui.is_interactive() => {
                ui.ask(&format!("{}? ", styled_line(&words.join(" or "))))?.trim().to_owned()
            }
            (None, _) => return Ok(None),
        };
        Ok(Some(TypedAnswer::Choice(word)))
    }
}

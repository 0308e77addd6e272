//! The answers beyond yes of a person on the command line, or at a terminal.

use std::{ops::RangeInclusive, path::PathBuf, str::FromStr};

use clap::Args;

use super::editor;
use crate::Ui;
use wf_app::{Caller, CliExitCode, CommandError};
use wf_base::{remedy::UserAction, untrusted::styled_line};
use wf_core::machine::{AnswerOptions, TypedAnswer};
use wf_report::card::chosen_positions;

/// The options for an answer beyond yes.
#[derive(Args, Clone, Debug, Default)]
pub struct TypedAnswerArgs {
    /// Answer with one of the words to choose from (of a run)
    #[arg(long, value_name = "WORD", conflicts_with_all = ["text_file", "edit", "select"])]
    choose: Option<String>,
    /// Answer with the text of this file instead of the shown one (of a run)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["edit", "select"])]
    text_file: Option<PathBuf>,
    /// Answer with the shown text as you leave it in the editor, $VISUAL or $EDITOR (of a run)
    #[arg(long, conflicts_with = "select")]
    edit: bool,
    /// Answer with these entries of the list only, by their positions in its order: 1,4-9 (of a run)
    #[arg(long, value_name = "POSITIONS", value_delimiter = ',')]
    select: Option<Vec<PositionRange>>,
}

/// Positions in a list, from 1: one, or all from one to a later one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PositionRange(RangeInclusive<u32>);

/// The reason why a text is not a range of positions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPositions {
    /// It is neither a number nor two.
    #[error("write a position, `3`, or a range of them, `4-9`")]
    Form,
    /// Its ends are the wrong way round.
    #[error("write the smaller position first: `{last}-{first}`")]
    Order { first: u32, last: u32 },
    /// It goes beyond the longest list.
    #[error("a list has at most {} entries", AnswerOptions::MOST_SELECTED)]
    TooMany,
}

impl FromStr for PositionRange {
    type Err = BadPositions;

    fn from_str(text: &str) -> Result<Self, BadPositions> {
        let number = |text: &str| text.parse::<u32>().map_err(|_| BadPositions::Form);
        let (first, last) = match text.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        if first > last {
            return Err(BadPositions::Order { first, last });
        }
        if last as usize > AnswerOptions::MOST_SELECTED {
            return Err(BadPositions::TooMany);
        }
        Ok(Self(first..=last))
    }
}

impl TypedAnswerArgs {
    /// True if one is given.
    pub fn is_given(&self) -> bool {
        self.choose.is_some() || self.text_file.is_some() || self.edit || self.select.is_some()
    }

    /// Returns the answer to a request with these options, refused by `deny`; a person at a terminal is asked for a choice. An unchanged
    /// text is a plain yes.
    pub fn answer(
        &self,
        ui: &Ui,
        options: Option<&AnswerOptions>,
        deny: &UserAction,
    ) -> Result<Option<TypedAnswer>, CommandError> {
        if let Some(path) = &self.text_file {
            let text = std::fs::read_to_string(ui.host.cwd().join(path)).map_err(|error| {
                CommandError::new(CliExitCode::Usage, format!("cannot read {}: {error}", path.display()))
            })?;
            return Ok(changed(options, text).map(TypedAnswer::Text));
        }
        if self.edit {
            let Some(AnswerOptions::Edit { text, .. }) = options else {
                let message = "`--edit` answers a step that shows a text to change, which this one does not";
                return Err(CommandError::new(CliExitCode::Usage, message));
            };
            let answer = changed(options, editor::edit(ui, text, deny)?);
            if answer.is_none() {
                ui.print_info_line("the text is unchanged: the answer is a plain yes");
            }
            return Ok(answer.map(TypedAnswer::Text));
        }
        if let Some(ranges) = &self.select {
            let positions = ranges.iter().flat_map(|range| range.0.clone());
            let positions: Vec<u32> = positions.collect();
            // Where not all are chosen beforehand, all of them can be named, too.
            let is_all = matches!(options, Some(AnswerOptions::Select(entries)) if chosen_positions(entries).is_some()
                && (1..).take(entries.len()).eq(positions.iter().copied()));
            return Ok(Some(TypedAnswer::Selected(positions)).filter(|_| !is_all));
        }
        if let (None, Some(AnswerOptions::Select(entries))) = (&self.choose, options) {
            // What is not sure, or unusual, is approved by those who name it.
            let Some(chosen) = chosen_positions(entries) else { return Ok(None) };
            if chosen.is_empty() {
                let message = "no entry of the list is sure (`confidence` of at least 0.85) and usual";
                return Err(CommandError::new(CliExitCode::Usage, message)
                    .hint(format!("name those that you approve: --select 1-{}", entries.len())));
            }
            return Ok(Some(TypedAnswer::Selected(chosen)));
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

/// Returns a text if it differs from the draft. Editors end it with a newline, none of its own unless the draft
/// has one.
fn changed(options: Option<&AnswerOptions>, mut text: String) -> Option<String> {
    let draft = match options {
        Some(AnswerOptions::Edit { text, .. }) => text.as_str(),
        _ => "",
    };
    if text.ends_with('\n') && !draft.ends_with('\n') {
        text.pop();
    }
    (options.is_none() || text != draft).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{PositionRange, changed};
    use wf_core::machine::AnswerOptions;

    #[test]
    fn positions_and_ranges_are_read_and_others_refused() {
        let read = |text: &str| text.parse::<PositionRange>();
        assert_eq!(read("3"), Ok(PositionRange(3..=3)));
        assert_eq!(read("4-9"), Ok(PositionRange(4..=9)));
        assert_eq!(read("500"), Ok(PositionRange(500..=500)));
        for (text, expected) in [
            ("9-4", "`4-9`"),
            ("", "a position"),
            ("-4", "a position"),
            ("4-", "a position"),
            ("1-2-3", "a position"),
            ("1..3", "a position"),
            ("501", "at most 500"),
            ("1-4294967295", "at most 500"),
        ] {
            let refused = read(text).unwrap_err().to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }

    #[test]
    fn a_text_without_a_change_is_none() {
        let draft = |text: &str| AnswerOptions::Edit { text: text.into(), max_length: 9 };
        let changed_text = |draft: &AnswerOptions, text: &str| changed(Some(draft), text.into());
        assert_eq!(changed_text(&draft("one"), "one\n"), None);
        assert_eq!(changed_text(&draft("one\n"), "one\n"), None);
        assert_eq!(changed_text(&draft("one\n"), "one"), Some("one".into()));
        assert_eq!(changed_text(&draft("one"), "two\n"), Some("two".into()));
        assert_eq!(changed_text(&draft("one"), ""), Some(String::new()));
    }
}

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{plan_page_of_run, sentence::ActivitySentence};
use crate::{Caller, CommandError, runs::plan_start::signature_reason_at, state::reader::StateReader};
use wf_base::name::{PlanId, RunId};
use wf_core::suggestion::{SuggestionRecord, SuggestionState};

/// Returns the undecided suggestions, oldest first.
pub fn open_suggestions(reader: &StateReader) -> Result<Vec<SuggestionRecord>, CommandError> {
    Ok(reader.store().suggestions().list(Some(SuggestionState::Pending))?)
}

/// A suggestion, with what its start needs.
#[derive(Clone, Debug, Serialize)]
pub struct SuggestionCard {
    #[serde(flatten)]
    pub record: SuggestionRecord,
    /// The reason why an approver signs for its run; `None`: a login is enough.
    pub signature_reason: Option<String>,
    /// The address of the page of its plan; `None`: the file is gone.
    pub plan_page: Option<String>,
}

/// Returns the undecided suggestions as cards, oldest first.
pub fn suggestion_cards(
    caller: &dyn Caller,
    reader: &StateReader,
) -> Result<Vec<SuggestionCard>, CommandError> {
    let card = |record: SuggestionRecord| {
        let path = &record.suggestion.path;
        Ok(SuggestionCard {
            signature_reason: signature_reason_at(caller, path)?,
            plan_page: plan_page_of_run(caller, path, ""),
            record,
        })
    };
    open_suggestions(reader)?.into_iter().map(card).collect()
}

/// A row of the table `suggestions`, as the log has it: the values of its columns, in order.
#[derive(Deserialize)]
pub(super) struct RecordedSuggestionRow {
    number: u32,
    run: String,
    pub(super) plan: PlanId,
    title: String,
    #[serde(rename = "why")]
    _why: Value,
    path: String,
    #[serde(rename = "params")]
    _params: Value,
    state: SuggestionState,
    #[serde(rename = "since")]
    _since: Value,
    #[serde(rename = "changed")]
    _changed: Value,
    started: Option<String>,
}

impl RecordedSuggestionRow {
    /// Returns the run it started, or else its maker.
    pub(super) fn run(&self) -> RunId {
        RunId::from_stored(self.started.clone().unwrap_or_else(|| self.run.clone()))
    }

    /// Returns the sentence about the row: it is recorded once for each state.
    pub(super) fn sentence(&self) -> ActivitySentence {
        let Self { number, plan, title, path, .. } = self;
        match self.state {
            SuggestionState::Pending => {
                ActivitySentence::of("suggested", format!("`{plan}` suggested to run `{path}`: {title}"))
            }
            SuggestionState::Accepted => {
                ActivitySentence::of("accepted", format!("suggestion {number} was accepted: {title}"))
            }
            SuggestionState::Dismissed => {
                ActivitySentence::of("dismissed", format!("suggestion {number} was dismissed: {title}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RecordedSuggestionRow;
    use serde::Deserialize as _;
    use serde_json::{Value, json};

    #[test]
    fn each_state_of_a_suggestion_is_told() {
        let sentence = |state: &str, started: Value| {
            let row = json!([7, "aa", "suggest", "Sort", "", "sort.md", {}, state, 1, 2, started]);
            let row = RecordedSuggestionRow::deserialize(&row).unwrap();
            (row.sentence().text, row.run().to_string())
        };
        let text = |text: &str, run: &str| (text.to_owned(), run.to_owned());
        assert_eq!(
            sentence("pending", Value::Null),
            text("`suggest` suggested to run `sort.md`: Sort", "aa")
        );
        assert_eq!(sentence("accepted", json!("bb")), text("suggestion 7 was accepted: Sort", "bb"));
        assert_eq!(sentence("dismissed", Value::Null), text("suggestion 7 was dismissed: Sort", "aa"));
    }
}

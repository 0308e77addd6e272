//! The editor of a person, for a text open to changes by an approver.

use std::{io::Write as _, process::Command};

use crate::Ui;
use wf_app::{Caller, CliExitCode, CommandError};
use wf_base::remedy::UserAction;

/// The variables with an editor and its arguments, the first one before the other.
const EDITOR_VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

/// Returns a text as its user leaves it in the editor; `deny` is the way to give none. It is in a file private to the user.
pub(super) fn edit(ui: &Ui, draft: &str, deny: &UserAction) -> Result<String, CommandError> {
    if !ui.is_interactive() {
        return Err(refusal("not a terminal, cannot open an editor"));
    }
    let values = EDITOR_VARIABLES.iter().filter_map(|name| ui.host.var(name));
    let words: Option<Vec<&str>> =
        values.map(|value| value.split_whitespace().collect()).find(|words: &Vec<&str>| !words.is_empty());
    let Some([program, args @ ..]) = words.as_deref() else {
        return Err(refusal("no editor is set: `VISUAL` and `EDITOR` are empty"));
    };
    let failed = |error: std::io::Error| refusal(format!("cannot edit the text: {error}"));
    let mut file = tempfile::Builder::new().prefix("wf-answer-").suffix(".txt").tempfile().map_err(failed)?;
    file.write_all(draft.as_bytes()).map_err(failed)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "an editor needs the terminal, and ends before the command"
    )]
    let ended = Command::new(program).args(args).arg(file.path()).current_dir(ui.host.cwd()).status();
    let ended = ended.map_err(|error| refusal(format!("cannot start the editor `{program}`: {error}")))?;
    if !ended.success() {
        return Err(refusal(format!("the editor `{program}` failed ({ended}); nothing is signed")));
    }
    // An editor may put another file in its place.
    let text = std::fs::read_to_string(file.path()).map_err(failed)?;
    if text.trim().is_empty() {
        let message = "the text from the editor is empty; nothing is signed";
        return Err(refusal(message).remedy("to refuse the request: ", deny.clone()));
    }
    Ok(text)
}

fn refusal(message: impl Into<String>) -> CommandError {
    CommandError::new(CliExitCode::Usage, message).hint("pass the text in a file: --text-file FILE")
}

use wf_app::{Caller, CliExitCode, CommandError, Host, LineReader};
use wf_base::diag::CheckedFile;
use wf_base::remedy::UserAction;

use crate::terminal::note;

/// The caller of a worker: what is said on the way goes to its log, and nobody can be asked.
pub struct WorkerCaller(pub Host);

impl Caller for WorkerCaller {
    fn host(&self) -> &Host {
        &self.0
    }

    fn action_words(&self, action: &UserAction) -> String {
        // A worker has no commands; whoever reads its log finds the act in it.
        format!("{action:?}")
    }

    fn message(&self, text: &str) {
        note(text.trim_end());
    }

    fn info(&self, _: &str) {}

    fn diagnostics(&self, _: &[CheckedFile]) {}

    fn message_printer(&self) -> Box<dyn Fn(&str) + Send + Sync> {
        Box::new(|text| note(text.trim_end()))
    }

    fn is_verbose(&self) -> bool {
        false
    }

    fn is_interactive(&self) -> bool {
        false
    }

    fn ask(&self, question: &str) -> Result<String, CommandError> {
        Err(CommandError::new(CliExitCode::Usage, format!("a worker cannot ask: {question}")))
    }

    fn line_reader(&self) -> LineReader {
        Box::new(|| Err(CommandError::new(CliExitCode::Usage, "a worker cannot ask")))
    }

    fn ask_hidden(&self, question: &str) -> Result<String, CommandError> {
        self.ask(question)
    }
}

use std::{fmt::Write as _, io};

use crate::CliExitCode;
use wf_base::{
    name::RunId,
    remedy::{Remedy, UserAction},
    untrusted::{BAD, NAME, paint, styled_line},
};
use wf_engine::EngineError;
use wf_model::ParamErrors;
use wf_store::{FindError, StoreError};

/// Returns the advice after a bug in `wf`.
pub fn bug_report() -> Remedy {
    Remedy::from("please report this, with the steps to reproduce it and the output of `")
        .action(UserAction::Examine)
        .text("`")
}

/// The reason why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    pub exit: CliExitCode,
    /// The error, as a fragment; empty if it has been reported.
    pub message: String,
    /// Further errors, one line each.
    pub details: Vec<String>,
    /// The remedies, one line each.
    pub hints: Vec<Remedy>,
}

impl CommandError {
    /// A failure with a message.
    pub fn new(exit: CliExitCode, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), details: Vec::new(), hints: Vec::new() }
    }

    /// A failure without a message: the command has reported it.
    pub fn reported(exit: CliExitCode) -> Self {
        Self::new(exit, "")
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Remedy>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds an act as a remedy, after its introduction.
    #[must_use]
    pub fn remedy(self, text: &str, action: UserAction) -> Self {
        self.hint(Remedy::from(text).action(action))
    }

    /// Returns the text of the error for the user, with the words of a face for acts; empty if it has been reported.
    pub fn render(&self, words: &dyn Fn(&UserAction) -> String) -> String {
        if self.message.is_empty() {
            return String::new();
        }
        let mut text = format!("{} {}\n", paint(BAD, "error:"), styled_line(&self.message));
        for more in &self.details {
            let _ = writeln!(text, "       {}", styled_line(more));
        }
        for hint in &self.hints {
            let _ = writeln!(text, "{} {}", paint(NAME, "hint:"), styled_line(&hint.render(words)));
        }
        text
    }
}

/// A closed pipe needs no further output; that is no failure.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::reported(CliExitCode::Ok),
            _ => Self::new(CliExitCode::State, format!("cannot write the output: {error}")),
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::NoState(_)
            | StoreError::Owned { .. }
            | StoreError::UnknownRun(_)
            | StoreError::Session(_)
            | StoreError::Undo(..)
            | StoreError::Suggestion(_)
            | StoreError::Deployed(_)
            | StoreError::Exists(_)
            | StoreError::NotABackup { .. } => CliExitCode::Usage,
            // Another run, or the withdrawal, was faster.
            StoreError::UsedUp { .. } | StoreError::Withdrawn => CliExitCode::Approval,
            _ => CliExitCode::State,
        };
        let command_error = Self::new(exit, error.to_string()).hint(error.remedy());
        match error {
            StoreError::NoState(_) => command_error.hint(OUTSIDE),
            _ => command_error,
        }
    }
}

/// The location of the state of plans belonging to no workspace.
const OUTSIDE: &str = "a plan outside of a workspace (a directory with wf.yaml, or a git repository) \
                       has its state in its own directory";

impl From<FindError> for CommandError {
    fn from(error: FindError) -> Self {
        let command_error = Self::new(CliExitCode::Usage, error.to_string());
        match error {
            FindError::Store(error) => error.into(),
            FindError::Pruned { .. } => command_error.hint(
                Remedy::from("`")
                    .action(UserAction::ListPrunedRuns)
                    .text("` lists such runs; `retention` in wf.yaml says how long others stay"),
            ),
            FindError::NoRuns => command_error.remedy("run a plan first: ", UserAction::StartRun),
            FindError::Unknown { latest, .. } if latest.is_empty() => command_error,
            FindError::Unknown { latest, .. } => {
                let latest: Vec<&str> = latest.iter().map(RunId::short).collect();
                command_error.hint(format!("the latest runs are {}", latest.join(", ")))
            }
            FindError::Ambiguous(ambiguous) => {
                let among: Vec<&str> = ambiguous.among.iter().map(RunId::as_str).collect();
                command_error.hint(format!("use more digits; it matches {}", among.join(", ")))
            }
        }
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Stuck => Self::new(CliExitCode::Bug, error.to_string()).hint(bug_report()),
            EngineError::Logic(_) => Self::new(CliExitCode::State, error.to_string())
                .remedy("resume it with the version of wf that started it, or start a new run: ", UserAction::StartRun),
            EngineError::NoSecret(_) => Self::new(CliExitCode::Usage, error.to_string()).hint(
                "the run used this secret, and wf needs its value to mask it in recorded output; pass the same value, or any other value if the secret is no longer valid",
            ),
            EngineError::Unapproved(_) => Self::new(CliExitCode::Approval, error.to_string()),
            EngineError::Parked { .. } => Self::new(CliExitCode::Waiting, error.to_string()),
            EngineError::SessionSuspended { ref run, ref session, .. } => {
                let remedy = Remedy::from("resume the session first: ")
                    .action(UserAction::ResumeSession(session.clone()))
                    .text(", then ")
                    .action(UserAction::ResumeRun(run.clone()));
                Self::new(CliExitCode::Interrupted, error.to_string()).hint(remedy)
            }
            EngineError::Backend { .. } => Self::new(CliExitCode::State, error.to_string())
                .hint(follow_latest("the run continues without this command; follow it with `")),
            EngineError::Unstarted { .. } => Self::new(CliExitCode::State, error.to_string())
                .hint("nothing was started, and no approval was used"),
            EngineError::Cancelled => Self::new(CliExitCode::Interrupted, error.to_string()),
            EngineError::System { .. } => Self::new(CliExitCode::State, error.to_string()),
            EngineError::Lost(_) => Self::new(CliExitCode::State, error.to_string())
                .hint(follow_latest("the record is intact; resume with `")),
        }
    }
}

fn follow_latest(text: &str) -> Remedy {
    Remedy::from(text).action(UserAction::ResumeLatestRun).text("`")
}

impl From<ParamErrors> for CommandError {
    fn from(errors: ParamErrors) -> Self {
        let mut problems = errors.problems.into_iter();
        let first = problems.next().unwrap_or_default();
        Self { details: problems.collect(), ..Self::new(CliExitCode::Usage, first) }
    }
}

pub fn usage_error(message: impl Into<String>) -> CommandError {
    CommandError::new(CliExitCode::Usage, message)
}

#[cfg(test)]
mod tests {
    use crate::{CliExitCode, CommandError};
    use wf_base::{name::RunId, untrusted::plain};
    use wf_store::{FindError, StoreError};

    fn check(error: &CommandError, exit: CliExitCode, expected: &str) {
        assert_eq!(error.exit, exit);
        assert_eq!(plain(&error.render(&|action| format!("{action:?}"))), expected);
    }

    #[test]
    fn failures_say_what_to_do() {
        let none = StoreError::NoState("/x/.wf".into());
        let expected = "error: no state in /x/.wf\n\
            hint: run a plan first, or set the state folder with --state\n\
            hint: a plan outside of a workspace (a directory with wf.yaml, or a git repository) \
            has its state in its own directory\n";
        check(&none.into(), CliExitCode::Usage, expected);
        let unknown =
            FindError::Unknown { prefix: "ff".into(), latest: vec![RunId::from_stored("1a2b3c4d5e")] };
        let expected = "error: run not found: `ff`\nhint: the latest runs are 1a2b3c4d\n";
        check(&unknown.into(), CliExitCode::Usage, expected);
    }

    #[test]
    fn a_broken_pipe_is_silent() {
        let broken_pipe = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        check(&broken_pipe.into(), CliExitCode::Ok, "");
    }
}

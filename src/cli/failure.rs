use std::fmt::Write as _;
use std::io;

use super::Exit;
use crate::engine::EngineError;
use crate::model::BadParams;
use crate::name::RunId;
use crate::report::{BAD, NAME, paint};
use crate::store::{FindError, StoreError};
use crate::untrusted::styled_line;

/// What to do about a mistake in `wf`.
pub const REPORT: &str = "please report this, with what you did and what `wf doctor` says";

/// Why a command ends without having done what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What the caller is told.
    pub exit: Exit,
    /// What happened, as a fragment; empty if all has been said.
    pub message: String,
    /// What happened besides, one line each.
    pub more: Vec<String>,
    /// What to do about it, one line each.
    pub hints: Vec<String>,
}

impl Failure {
    /// Says what happened.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            more: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Says nothing: the command has said it all.
    pub fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The text for a person.
    pub fn render(&self) -> String {
        if self.message.is_empty() {
            return String::new();
        }
        let mut text = format!("{} {}\n", paint(BAD, "error:"), styled_line(&self.message));
        for more in &self.more {
            let _ = writeln!(text, "       {}", styled_line(more));
        }
        for hint in &self.hints {
            let _ = writeln!(text, "{} {}", paint(NAME, "hint:"), styled_line(hint));
        }
        text
    }
}

/// A reader that went away wants nothing more; that is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::silent(Exit::Ok),
            _ => Self::new(Exit::State, format!("cannot write the output: {error}")),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::NoState(_)
            | StoreError::Owned { .. }
            | StoreError::UnknownRun(_)
            | StoreError::Exists(_)
            | StoreError::NotABackup { .. } => Exit::Usage,
            // Another run, or who withdrew it, was faster.
            StoreError::UsedUp { .. } | StoreError::Withdrawn => Exit::Approval,
            _ => Exit::State,
        };
        let failure = Self::new(exit, error.to_string()).hint(error.remedy());
        match error {
            StoreError::NoState(_) => failure.hint(OUTSIDE),
            _ => failure,
        }
    }
}

/// Where the state of plans is that belong to no workspace.
const OUTSIDE: &str = "a plan outside of a workspace (a folder with wf.yaml, or a git repository) \
                       keeps its state in its own folder";

impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        let failure = Self::new(Exit::Usage, error.to_string());
        match error {
            FindError::Store(error) => error.into(),
            FindError::NoRuns => failure.hint("run a plan first: wf run PLAN"),
            FindError::Unknown { latest, .. } if latest.is_empty() => failure,
            FindError::Unknown { latest, .. } => {
                let latest: Vec<&str> = latest.iter().map(RunId::short).collect();
                failure.hint(format!("the latest runs are {}", latest.join(", ")))
            }
            FindError::Ambiguous(ambiguous) => {
                let among: Vec<&str> = ambiguous.among.iter().map(RunId::as_str).collect();
                failure.hint(format!("give more of it: {}", among.join(", ")))
            }
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Stuck => Self::new(Exit::Bug, error.to_string()).hint(REPORT),
            EngineError::Logic(_) => Self::new(Exit::State, error.to_string())
                .hint("resume it with the wf that began it, or begin anew: wf run PLAN"),
            EngineError::NoSecret(_) => Self::new(Exit::Usage, error.to_string()).hint(
                "the run was given this secret, and what it left may show it: only who knows it can hide it; \
                 give it as the run had it, or, where it is void by now, any other value",
            ),
            EngineError::Unapproved(_) => Self::new(Exit::Approval, error.to_string()),
            EngineError::Parked { .. } => Self::new(Exit::Waiting, error.to_string()),
            EngineError::Told => Self::new(Exit::Interrupted, error.to_string()),
            EngineError::System { .. } => Self::new(Exit::State, error.to_string()),
            EngineError::Lost(_) => Self::new(Exit::State, error.to_string())
                .hint("what is recorded is safe; `wf resume --last` goes on from there"),
        }
    }
}

impl From<BadParams> for Failure {
    fn from(bad: BadParams) -> Self {
        let mut problems = bad.problems.into_iter();
        let first = problems.next().unwrap_or_default();
        Self {
            more: problems.collect(),
            ..Self::new(Exit::Usage, first)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, RunId};
    use crate::cli::Exit;
    use crate::report::plain;
    use crate::store::{FindError, StoreError};

    fn check(failure: &Failure, exit: Exit, expected: &str) {
        assert_eq!(failure.exit, exit);
        assert_eq!(plain(&failure.render()), expected);
    }

    #[test]
    fn failures_say_what_to_do() {
        let none = StoreError::NoState("/x/.wf".into());
        let expected = "error: there is no state in /x/.wf\n\
            hint: run a plan first, or name the state folder with --state\n\
            hint: a plan outside of a workspace (a folder with wf.yaml, or a git repository) \
            keeps its state in its own folder\n";
        check(&none.into(), Exit::Usage, expected);
        let unknown = FindError::Unknown {
            prefix: "ff".into(),
            latest: vec![RunId::from_stored("1a2b3c4d5e")],
        };
        let expected = "error: no run is called `ff`\nhint: the latest runs are 1a2b3c4d\n";
        check(&unknown.into(), Exit::Usage, expected);
    }

    #[test]
    fn a_broken_pipe_is_silent() {
        let gone = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        check(&gone.into(), Exit::Ok, "");
    }
}

use std::path::PathBuf;

use crate::{CliExitCode, CommandError};

/// The reason why git has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The repository is damaged, or its files cannot be read.
    #[error("cannot read the git repository at {}: {reason}", .path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// The repository belongs neither to this user nor to the owner of the workspace.
    #[error("the git repository at {} belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// Git cannot be started, or did not end by itself.
    #[error("cannot run git: {0}")]
    Unable(String),
    /// Git reported an error.
    #[error("git {verb} failed: {message}")]
    Failed {
        /// The command of git.
        verb: String,
        /// Its exit code.
        code: i32,
        /// The first line of its error message.
        message: String,
    },
}

impl GitError {
    /// Returns what to do.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Unreadable { .. } => "repair the repository, or move the workspace out of it".into(),
            Self::Foreign(_) => {
                "change the owner of its files, or make the workspace a repository of its own: git init"
                    .into()
            }
            Self::Unable(_) => Remedy::from("wf runs git only in a sandbox, also with `sandbox: off`; `")
                .action(UserAction::Examine)
                .text("` says what is missing"),
            Self::Failed { .. } => {
                "run the same git command there to see why, and repair the repository".into()
            }
        }
    }
}

impl From<GitError> for CommandError {
    fn from(error: GitError) -> Self {
        Self::new(CliExitCode::State, error.to_string()).hint(error.remedy())
    }
}
use wf_base::remedy::{Remedy, UserAction};

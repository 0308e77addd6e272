use std::path::Path;

use serde::{Deserialize, Serialize};

use super::edit::{TextReplacement, edit};
use super::error::FileToolError;
use super::list::list;
use super::read::read;
use super::search::{SearchQuery, search};
use super::workspace::ToolWorkspace;
use super::write::write;
use wf_core::agent::ToolRequest;

/// A request about files, for the process that carries it out.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileToolOrder {
    pub(super) request: ToolRequest,
    /// The paths that the sandbox lets the step write; `None`: there is no sandbox.
    #[serde(default)]
    pub(super) writable: Option<Vec<String>>,
}

/// The answer to a request about files.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileToolAnswer {
    pub(super) text: String,
    #[serde(default)]
    pub(super) is_error: bool,
}

impl FileToolOrder {
    /// Carries out the request in a workspace.
    pub(super) fn carry_out(&self, root: &Path) -> FileToolAnswer {
        match self.try_in(root) {
            Ok(text) => FileToolAnswer { text, is_error: false },
            Err(error) => FileToolAnswer { text: error.to_string(), is_error: true },
        }
    }

    fn try_in(&self, root: &Path) -> Result<String, FileToolError> {
        let workspace = ToolWorkspace::open(root)?;
        let writable = self.writable.as_deref();
        match &self.request {
            ToolRequest::Read { path, offset, limit } => read(&workspace, path, *offset, *limit),
            ToolRequest::List { path } => list(&workspace, path.as_deref().unwrap_or(".")),
            ToolRequest::Search { pattern, path, glob } => {
                let (path, glob) = (path.as_deref(), glob.as_deref());
                search(&workspace, &SearchQuery { pattern, path, glob })
            }
            ToolRequest::Write { path, text } => write(&workspace, path, text, writable),
            ToolRequest::Edit { path, old, new } => {
                edit(&workspace, path, &TextReplacement { old, new }, writable)
            }
            ToolRequest::Run { .. } => Err(FileToolError::OtherRequest),
        }
    }
}

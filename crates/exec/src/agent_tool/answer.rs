//! The requests about files and their answers, with names as a model gives them back.

use std::{ffi::OsStr, path::Path};

use serde::{Deserialize, Serialize};

use wf_base::untrusted;
use wf_core::agent::ToolRequest;

use super::{
    edit::{TextReplacement, edit},
    error::FileToolError,
    list::list,
    read::read_file,
    search::{SearchQuery, search},
    workspace::ToolWorkspace,
    write::write,
};

/// A request about files, for the process carrying it out.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileToolOrder {
    pub(super) request: ToolRequest,
    /// The paths the sandbox lets the step write; `None`: there is no sandbox.
    #[serde(default)]
    pub(super) writable: Option<Vec<String>>,
    /// The files and folders with untrusted text.
    #[serde(default)]
    pub(super) untrusted: Vec<String>,
}

/// The answer to a request about files.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileToolAnswer {
    pub(super) text: String,
    #[serde(default)]
    pub(super) is_error: bool,
    /// True if it tells of files whose text is not trusted.
    #[serde(default)]
    pub(super) is_untrusted: bool,
}

impl FileToolAnswer {
    /// Creates the answer to a request not carried out.
    pub(super) fn failed(text: String) -> Self {
        Self { text, is_error: true, is_untrusted: false }
    }
}

impl FileToolOrder {
    /// Carries out the request in a workspace.
    pub(super) fn carry_out(&self, root: &Path) -> FileToolAnswer {
        let opened = ToolWorkspace::open(root, &self.untrusted);
        let done = opened.map(|workspace| (self.try_in(&workspace), workspace.saw_untrusted()));
        let (result, is_untrusted) = done.unwrap_or_else(|error| (Err(error), false));
        match result {
            Ok(text) => FileToolAnswer { text, is_error: false, is_untrusted },
            Err(error) => FileToolAnswer { text: error.to_string(), is_error: true, is_untrusted },
        }
    }

    fn try_in(&self, workspace: &ToolWorkspace) -> Result<String, FileToolError> {
        let writable = self.writable.as_deref();
        match &self.request {
            ToolRequest::Read { path, offset, limit } => read_file(workspace, path, *offset, *limit),
            ToolRequest::List { path } => list(workspace, path.as_deref().unwrap_or(".")),
            ToolRequest::Search { pattern, path, glob } => {
                let (path, glob) = (path.as_deref(), glob.as_deref());
                search(workspace, &SearchQuery { pattern, path, glob })
            }
            ToolRequest::Write { path, text } => write(workspace, path, text, writable),
            ToolRequest::Edit { path, old, new } => {
                edit(workspace, path, &TextReplacement { old, new }, writable)
            }
            ToolRequest::Run { .. } => Err(FileToolError::OtherRequest),
        }
    }
}

/// Returns a file name or path as a model gives it back: quoted as JSON if it contains anything that would be
/// invisible, end the line or look like a quotation, because whoever made the file chose it.
pub(super) fn shown(name: impl AsRef<OsStr>) -> String {
    let name = name.as_ref();
    let text = name.to_string_lossy();
    let plain = !text.contains('"')
        && text.trim() == text
        && !untrusted::hides(&text)
        && !text.contains(['\n', '\t']);
    let shown = if plain {
        text.into_owned()
    } else {
        untrusted::json(&serde_json::Value::String(text.into_owned()).to_string()).into()
    };
    if name.to_str().is_some() { shown } else { format!("{shown} (this name is not UTF-8)") }
}

/// Returns a path in a sentence.
pub(super) fn quoted(path: impl AsRef<OsStr>) -> String {
    let shown = shown(path);
    if shown.starts_with('"') { shown } else { format!("`{shown}`") }
}

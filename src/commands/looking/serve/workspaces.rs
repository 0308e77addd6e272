//! The workspaces of a command line, each in its folder.

use crate::Ui;
use wf_app::{
    CommandError, normalize_path, usage_error,
    views::{require_workspace, state_reader},
};
use wf_base::untrusted::untrusted;
use wf_web::{NamedWorkspace, ServedFolder, WorkspaceNameError};

/// Returns the workspaces to serve: those of some folders, or the one here, whose state must be readable. Of several, one that
/// cannot be opened is no reason not to serve the others.
pub fn open(ui: &Ui, folders: &[String]) -> Result<Vec<NamedWorkspace>, CommandError> {
    if folders.is_empty() {
        state_reader(ui)?;
        return Ok(vec![NamedWorkspace::alone(ui.host.clone())]);
    }
    if ui.host.has_state_folder() {
        let error = usage_error("--state is the state folder of one workspace, and --workspace names others");
        return Err(error.hint("leave it out: each has its own"));
    }
    let folders: Result<Vec<ServedFolder>, _> = folders.iter().map(|text| served_folder(ui, text)).collect();
    let workspaces = NamedWorkspace::of_folders(folders?).map_err(|error| {
        let hint = match &error {
            WorkspaceNameError::Invalid(_) | WorkspaceNameError::Duplicate(_) => {
                "choose another name: --workspace NAME=FOLDER"
            }
            WorkspaceNameError::Same(_) => "leave one of them out",
            WorkspaceNameError::Nested { .. } => {
                "serve one of them with another server: --listen localhost:PORT"
            }
            WorkspaceNameError::Many(_) => "serve the others with another server: --listen localhost:PORT",
        };
        usage_error(error.to_string()).hint(hint)
    })?;
    let failures = workspaces.iter().filter_map(|NamedWorkspace { name, host }| {
        let error = require_workspace(&ui.with_host(host.clone())).err()?;
        Some((name.clone(), error))
    });
    let mut failures: Vec<(String, CommandError)> = failures.collect();
    if failures.len() == workspaces.len() {
        return Err(failures.swap_remove(0).1);
    }
    for (name, error) in failures {
        let reason = untrusted(&error.message);
        ui.print_message_line(&format!("the workspace `{name}` cannot be opened: {reason}"));
    }
    Ok(workspaces)
}

/// Reads `NAME=FOLDER`, or a folder.
fn served_folder(ui: &Ui, text: &str) -> Result<ServedFolder, CommandError> {
    let (name, folder) = text.split_once('=').map_or((None, text), |(name, folder)| (Some(name), folder));
    if folder.is_empty() {
        return Err(usage_error(format!("--workspace {text} names no folder")));
    }
    let folder = normalize_path(&ui.host.cwd().join(folder));
    Ok(ServedFolder { name: name.map(str::to_owned), host: ui.host.in_folder(folder) })
}

/// Returns the words of a command line for folders, in whatever folder.
pub fn workspace_words(ui: &Ui, folders: &[String]) -> Vec<String> {
    let word = |text: &String| {
        let (name, folder) =
            text.split_once('=').map_or(("", text.as_str()), |(name, folder)| (name, folder));
        let folder = normalize_path(&ui.host.cwd().join(folder)).display().to_string();
        let text = if name.is_empty() { folder } else { format!("{name}={folder}") };
        ["--workspace".to_owned(), text]
    };
    folders.iter().flat_map(word).collect()
}

use crate::{CliExitCode, CommandError, Host, Workspace, relative_path};
use wf_base::{
    remedy::{Remedy, UserAction},
    untrusted::shell_word,
};

/// A file that is not a plan, as the command for its kind takes it.
pub(super) struct NonPlanFile {
    /// The path of the file as seen from the current folder.
    shown: String,
    /// The shell command to run before, where the command looks for it elsewhere.
    preparation: String,
    /// The file as the command takes it.
    argument: String,
}

impl NonPlanFile {
    pub(super) fn new(host: &Host, workspace: &Workspace, path: &str) -> Self {
        let cwd = host.cwd();
        let shown = relative_path(&workspace.root.join(path), cwd);
        // The command works in the workspace of the current folder.
        let here = workspace.root == host.workspace().root;
        let root = relative_path(&workspace.root, cwd);
        let (before, named) = if here {
            (String::new(), shown.clone())
        } else {
            (format!("cd {} && ", shell_word(&root)), path.to_owned())
        };
        Self { shown, preparation: before, argument: named }
    }

    /// Refuses it, and names the act for it.
    pub(super) fn refuse(
        &self,
        kind: &str,
        action: impl FnOnce(String) -> UserAction,
        does: &str,
    ) -> CommandError {
        let message = format!("{} is a {kind}, not a plan", self.shown);
        let remedy = Remedy::from(format!("`{}", self.preparation)).action(action(self.argument.clone()));
        CommandError::new(CliExitCode::Usage, message).hint(remedy.text(format!("` {does}")))
    }
}

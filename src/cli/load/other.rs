use crate::cli::{Exit, Failure, Ui, Workspace, relative};
use crate::report::word;

/// A file that is no plan, as a command of another kind takes it.
pub(super) struct Other {
    /// The file as seen from here.
    shown: String,
    /// What a shell must do before, where the command looks for it elsewhere.
    before: String,
    /// The file as the command takes it.
    named: String,
}

impl Other {
    /// A file of a workspace.
    pub(super) fn new(ui: &Ui, workspace: &Workspace, path: &str) -> Self {
        let cwd = ui.env.cwd();
        let shown = relative(&workspace.root.join(path), cwd);
        // The command works in the workspace of the current folder.
        let here = workspace.root == ui.workspace().root;
        let root = relative(&workspace.root, cwd);
        let (before, named) = if here {
            (String::new(), shown.clone())
        } else {
            (format!("cd {} && ", word(&root)), path.to_owned())
        };
        Self {
            shown,
            before,
            named,
        }
    }

    /// Refuses it, and says which command takes it.
    pub(super) fn refuse(&self, kind: &str, command: &str, does: &str) -> Failure {
        let message = format!("{} is a {kind}, not a plan", self.shown);
        let (before, named) = (&self.before, word(&self.named));
        let hint = format!("`{before}{command} {named}` {does}");
        Failure::new(Exit::Usage, message).hint(hint)
    }
}

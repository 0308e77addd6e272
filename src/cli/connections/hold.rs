use crate::cli::{Exit, Failure, Ui, Workspace};

/// Whether the skills may be used. Stands in for `crate::cli::skills::hold`, which looks at
/// `skills.lock` and at approvals: here only their folders must be there.
pub fn hold(_: &Ui, workspace: &Workspace, names: &[String]) -> Result<(), Failure> {
    for name in names {
        if super::adapter::folder(workspace, name).is_none() {
            let message = format!("there is no skill `{name}` in this workspace");
            let hint = "a skill lies in skills/NAME, .agents/skills/NAME or .claude/skills/NAME";
            return Err(Failure::new(Exit::Usage, message).hint(hint));
        }
    }
    Ok(())
}

//! The condition of a workspace beside others: whether its pages can show anything.

use crate::{CONFIG, Caller, CliExitCode, CommandError, specs::load::read_config, views::state_reader};
use wf_base::{diag::Severity, remedy::UserAction};
use wf_lang::DiskFiles;

/// Fails if the folder of a workspace is gone: the workspace around it, or an empty one, would stand in its place.
pub fn require_folder(caller: &dyn Caller) -> Result<(), CommandError> {
    let folder = caller.host().cwd();
    if folder.is_dir() {
        return Ok(());
    }
    let message = format!("there is no folder {}", folder.display());
    Err(CommandError::new(CliExitCode::State, message).hint("put it back, or serve without it"))
}

/// Fails if a workspace cannot be opened: its folder is gone, its configuration has errors, or its state cannot be read.
pub fn require_workspace(caller: &dyn Caller) -> Result<(), CommandError> {
    require_folder(caller)?;
    let files = DiskFiles::new(&caller.host().workspace().root);
    if let Some((_, checked)) = read_config(&files, CONFIG) {
        let mut mistakes = checked.diagnostics.iter();
        if let Some(mistake) = mistakes.find(|mistake| mistake.severity() == Severity::Error) {
            let line = checked.source.line_column(mistake.span.start).line;
            let message = format!("{CONFIG}:{line}: {}", mistake.message);
            return Err(CommandError::new(CliExitCode::Invalid, message)
                .remedy("correct it; what is wrong with it: ", UserAction::CheckFile(CONFIG.to_owned())));
        }
    }
    state_reader(caller).map(drop)
}

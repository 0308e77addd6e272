use std::path::PathBuf;

use crate::keys::from_private_file;
use crate::{Caller, CliExitCode, CommandError};
use wf_base::name::RefId;
use wf_base::redact::weakness;
use wf_exec::secret::SecretText;

/// The files with secrets.
#[derive(Clone, Debug)]
pub struct SecretFiles(Vec<(RefId, PathBuf)>);

impl SecretFiles {
    /// Secrets by their names, each from the first line of a file that only its owner can read.
    pub fn new(files: Vec<(RefId, PathBuf)>) -> Self {
        Self(files)
    }

    /// Reads a secret: from its file, else from the user, without echo.
    pub fn get(&self, caller: &dyn Caller, name: &RefId, label: &str) -> Result<SecretText, CommandError> {
        let file = self.0.iter().find(|(known, _)| known == name);
        let text = match file {
            Some((_, path)) => from_private_file(caller.host(), path)?,
            None if caller.is_interactive() => caller.ask_hidden(&format!("{label} ({name}): "))?,
            None => {
                let message = format!("not a terminal, cannot ask for the secret `{name}`");
                let hint = format!("pass --secret-file {name}=FILE to read it from a file");
                return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
            }
        };
        match weakness(&text) {
            None => Ok(SecretText::from(text.as_str())),
            Some(weak) => {
                let message = format!("the secret `{name}` is too weak to be masked: {weak}");
                Err(CommandError::new(CliExitCode::Usage, message).hint("use a stronger one"))
            }
        }
    }
}

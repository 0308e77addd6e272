use std::path::PathBuf;

use crate::{Caller, CliExitCode, CommandError, keys::from_private_file};
use wf_base::{name::RefId, redact::weakness};
use wf_exec::secret::SecretText;

/// The sources of the secrets of a setup.
#[derive(Clone, Debug)]
pub struct SetupSecretSources {
    /// Files by the names of secrets, each with the secret in its first line, which only its owner can read.
    pub files: Vec<(RefId, PathBuf)>,
    /// True if the other secrets are entered in a browser.
    pub in_browser: bool,
}

impl SetupSecretSources {
    /// True if a secret is entered in a browser.
    pub fn is_in_browser(&self, name: &RefId) -> bool {
        self.in_browser && self.files.iter().all(|(ref_id, _)| ref_id != name)
    }

    /// Reads a secret: from its file, else from the user, without echo.
    pub fn get(&self, caller: &dyn Caller, name: &RefId, label: &str) -> Result<SecretText, CommandError> {
        let file = self.files.iter().find(|(ref_id, _)| ref_id == name);
        let text = match file {
            Some((_, path)) => from_private_file(caller.host(), path)?,
            None if caller.is_interactive() => caller.ask_hidden(&format!("{label} ({name}): "))?,
            None => {
                let message = format!("not a terminal, cannot ask for the secret `{name}`");
                let hint =
                    format!("pass --secret-file {name}=FILE to read it from a file, or --secrets-in-browser");
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

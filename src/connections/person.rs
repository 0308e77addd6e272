use std::path::PathBuf;

use clap::Args;

use crate::keys::from_private_file;
use crate::{CliExitCode, CommandError};
use wf_app::Caller;
use wf_base::name::RefId;
use wf_base::redact::weakness;
use wf_exec::secret::SecretText;

/// The source of the secrets that a setup asks for.
#[derive(Args, Clone, Debug, Default)]
pub struct SecretArgs {
    /// Read a secret from the first line of a file that only you can read, instead of asking for it
    #[arg(long = "secret-file", value_name = "REF=FILE", value_parser = pair)]
    files: Vec<(RefId, PathBuf)>,
}

/// The files with secrets.
#[derive(Clone, Debug)]
pub struct SecretFiles(Vec<(RefId, PathBuf)>);

fn pair(text: &str) -> Result<(RefId, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("expected REF=FILE")?;
    let name = RefId::parse(name).map_err(|bad| bad.to_string())?;
    Ok((name, file.into()))
}

impl SecretArgs {
    /// Returns the given files.
    pub fn files(&self) -> SecretFiles {
        SecretFiles(self.files.clone())
    }
}

impl SecretFiles {
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

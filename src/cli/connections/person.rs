use std::path::PathBuf;

use clap::Args;

use crate::cli::keys::{asked_secretly, from_private_file};
use crate::cli::{Exit, Failure, Ui};
use crate::exec::secret::Hidden;
use crate::mask::weakness;
use crate::name::RefId;

/// Where secrets come from that a setup asks for.
#[derive(Args, Clone, Debug, Default)]
pub struct SecretArgs {
    /// Read a secret from the first line of a file that only you can read; else it is asked for
    #[arg(long = "secret-file", value_name = "REF=FILE", value_parser = pair)]
    files: Vec<(RefId, PathBuf)>,
}

/// Where secrets come from.
#[derive(Clone, Debug)]
pub struct SecretFiles(Vec<(RefId, PathBuf)>);

fn pair(text: &str) -> Result<(RefId, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("write REF=FILE")?;
    let name = RefId::parse(name).map_err(|bad| bad.to_string())?;
    Ok((name, file.into()))
}

impl SecretArgs {
    /// What was given.
    pub fn files(&self) -> SecretFiles {
        SecretFiles(self.files.clone())
    }
}

impl SecretFiles {
    /// A secret: from its file, else from the person, who does not see what they type.
    pub fn get(&self, ui: &Ui, name: &RefId, label: &str) -> Result<Hidden, Failure> {
        let file = self.0.iter().find(|(known, _)| known == name);
        let text = match file {
            Some((_, path)) => from_private_file(ui, path)?,
            None if ui.env.asks => asked_secretly(ui, &format!("{label} ({name}): "))?,
            None => {
                let message = format!("the secret `{name}` is asked for, and nobody can be asked");
                let hint = format!("--secret-file {name}=FILE reads it from a file");
                return Err(Failure::new(Exit::Usage, message).hint(hint));
            }
        };
        match weakness(&text) {
            None => Ok(Hidden::from(text.as_str())),
            Some(weak) => {
                let message = format!("the secret `{name}` is too weak to be hidden: {weak}");
                Err(Failure::new(Exit::Usage, message).hint("give a stronger one"))
            }
        }
    }
}

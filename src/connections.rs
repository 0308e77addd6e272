//! The options of commands for the secrets of connections.

use std::path::PathBuf;

use clap::Args;

use wf_app::connections::SetupSecretSources;
use wf_base::name::{NameFormatError, RefId};

/// The source of the secrets for a setup.
#[derive(Args, Clone, Debug, Default)]
pub struct SecretArgs {
    /// Read a secret from the first line of a file that only you can read, instead of asking for it
    #[arg(long = "secret-file", value_name = "REF=FILE", value_parser = pair)]
    files: Vec<(RefId, PathBuf)>,
    /// Wait until the secrets are entered in a browser, on the page /secrets of `wf serve`
    #[arg(long)]
    secrets_in_browser: bool,
}

/// The reason why a text does not name a secret and its file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum BadSecretFile {
    #[error("expected REF=FILE")]
    Form,
    #[error(transparent)]
    Name(#[from] NameFormatError),
}

fn pair(text: &str) -> Result<(RefId, PathBuf), BadSecretFile> {
    let (name, file) = text.split_once('=').ok_or(BadSecretFile::Form)?;
    Ok((RefId::parse(name)?, file.into()))
}

impl SecretArgs {
    /// Returns the given sources.
    pub fn sources(&self) -> SetupSecretSources {
        SetupSecretSources { files: self.files.clone(), in_browser: self.secrets_in_browser }
    }
}

//! The options of commands for the secrets of connections.

use std::path::PathBuf;

use clap::Args;

use wf_app::connections::SetupSecretSources;
use wf_base::name::RefId;

/// The source of the secrets that a setup asks for.
#[derive(Args, Clone, Debug, Default)]
pub struct SecretArgs {
    /// Read a secret from the first line of a file that only you can read, instead of asking for it
    #[arg(long = "secret-file", value_name = "REF=FILE", value_parser = pair)]
    files: Vec<(RefId, PathBuf)>,
    /// Wait until the secrets are entered in a browser, on the page /secrets of `wf serve`
    #[arg(long)]
    secrets_in_browser: bool,
}

fn pair(text: &str) -> Result<(RefId, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("expected REF=FILE")?;
    let name = RefId::parse(name).map_err(|error| error.to_string())?;
    Ok((name, file.into()))
}

impl SecretArgs {
    /// Returns the given sources.
    pub fn sources(&self) -> SetupSecretSources {
        SetupSecretSources { files: self.files.clone(), in_browser: self.secrets_in_browser }
    }
}

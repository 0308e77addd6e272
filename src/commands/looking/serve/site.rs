//! The options of the pages, for whatever process serves them.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use crate::{Ui, actions::command_text};
use wf_app::{CliExitCode, CommandError, keys::from_private_file};
use wf_base::time::{format_duration, parse_duration};
use wf_web::{SiteAddress, SiteOptions};

/// The default address.
const DEFAULT_LISTEN: &str = "localhost:8420";

#[derive(Args, Debug)]
pub struct SiteArgs {
    /// Local address of the pages [default: localhost:8420]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the proxy through which browsers reach the pages
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// File with the token for /metrics, which only its owner can read
    #[arg(long, value_name = "FILE")]
    metrics_token: Option<PathBuf>,
    /// Time without an operation after which a browser may only look
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    operate_for: Option<Duration>,
}

impl SiteArgs {
    /// Returns the options of the pages.
    pub fn options(&self, ui: &Ui) -> Result<SiteOptions, CommandError> {
        let listen = self.listen.as_deref().unwrap_or(DEFAULT_LISTEN);
        let address = SiteAddress::parse(listen, self.public_url.as_deref())
            .map_err(|error| CommandError::new(CliExitCode::Usage, error.to_string()))?;
        let token =
            self.metrics_token.as_deref().map(|path| from_private_file(&ui.host, path)).transpose()?;
        if token.as_ref().is_some_and(String::is_empty) {
            return Err(CommandError::new(CliExitCode::Usage, "the token for /metrics is empty"));
        }
        let (operate_for, action_words) = (self.operate_for, command_text);
        Ok(SiteOptions { address, metrics_token: token, operate_for, action_words })
    }

    /// Returns the words of a command line for them, in whatever folder: none if none is set.
    pub fn words(&self, ui: &Ui) -> Vec<String> {
        let file = self.metrics_token.as_ref().map(|file| ui.host.cwd().join(file).display().to_string());
        let options = [
            ("--listen", self.listen.clone()),
            ("--public-url", self.public_url.clone()),
            ("--metrics-token", file),
            ("--operate-for", self.operate_for.map(format_duration)),
        ];
        let given = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
        given.flatten().collect()
    }
}

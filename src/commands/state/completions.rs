use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{Ui, args::Cli};
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf completions bash > ~/.local/share/bash-completion/completions/wf
  wf completions zsh > ~/.zfunc/_wf
  wf completions fish > ~/.config/fish/completions/wf.fish")]
pub struct CompletionsArgs {
    /// Shell to write completions for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Writes completions.
pub fn run(ui: &Ui, args: &CompletionsArgs) -> Result<CliExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "wf", &mut script);
    ui.print_bytes(&script)?;
    Ok(CliExitCode::Ok)
}

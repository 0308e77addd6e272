use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    memory::{MemoryReader, contradict_rule},
};
use wf_core::memory::{MegramOrigin, contradict};

/// Contradict a rule
#[derive(Args, Debug)]
#[command(after_help = "\
The rule stays unchanged; the feedback is stored as evidence against it. `wf memory dream` drops
the rule once the evidence about its cluster contradicts it.")]
pub struct MemoryFeedbackArgs {
    /// Rule ID or unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// Reason why it is wrong
    #[arg(value_name = "TEXT")]
    text: String,
}

/// Records the user's contradiction of a rule.
pub(super) fn run(ui: &Ui, args: &MemoryFeedbackArgs) -> Result<CliExitCode, CommandError> {
    if args.text.trim().is_empty() {
        return Err(CommandError::new(CliExitCode::Usage, "the text is empty")
            .hint("describe what is wrong with the rule"));
    }
    let rule = MemoryReader::open(&ui.host)?.find_megram(&args.id)?;
    let from = format!("feedback {}", rule.id);
    let origin = MegramOrigin { at: ui.host.now(), from: &from };
    let megram = contradict(&rule, args.text.clone(), origin).map_err(|not| {
        CommandError::new(CliExitCode::Usage, not.to_string())
            .hint("for the rules: wf memory list --level common_sense")
    })?;
    let id = megram.id;
    contradict_rule(ui, rule.id, megram)?;
    let rule = rule.id.short();
    ui.print_line(&format!("stored {} against the rule {rule}", id.short()))?;
    Ok(CliExitCode::Ok)
}

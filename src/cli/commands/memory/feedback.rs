use clap::Args;

use super::rows::{found, store};
use crate::bus::Act;
use crate::cli::{Exit, Failure, Ui, watch};
use crate::memory::{Origin, against};

/// Contradict a rule
#[derive(Args, Debug)]
#[command(after_help = "\
The rule stays as it is; what is said is remembered beside it, against it. The Dreamer takes the rule
back once the evidence about its cluster points the other way: wf memory dream.")]
pub struct FeedbackArgs {
    /// The rule, by as much of its id as is unique
    #[arg(value_name = "ID")]
    id: String,
    /// What is wrong with it
    #[arg(value_name = "TEXT")]
    text: String,
}

/// Remembers what somebody says against a rule.
pub(super) fn run(ui: &Ui, args: &FeedbackArgs) -> Result<Exit, Failure> {
    if args.text.trim().is_empty() {
        return Err(
            Failure::new(Exit::Usage, "the text is empty").hint("say what is wrong with the rule")
        );
    }
    let rule = found(ui, &args.id)?;
    let from = format!("feedback {}", rule.id);
    let origin = Origin {
        at: ui.env.now(),
        from: &from,
    };
    let megram = against(&rule, args.text.clone(), origin).map_err(|not| {
        Failure::new(Exit::Usage, not.to_string())
            .hint("rules are what `wf memory list --level common_sense` lists")
    })?;
    let id = megram.id;
    let new = store(ui)?.remember(vec![megram]).wait()?;
    if new > 0 {
        watch::note(
            ui,
            Act::MemoryFeedback {
                rule: rule.id,
                megram: id,
            },
        );
    }
    let rule = rule.id.short();
    ui.print_line(&format!(
        "remembered {} against the rule {rule}",
        id.short()
    ))?;
    Ok(Exit::Ok)
}

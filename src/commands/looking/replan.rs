use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::Ui;
use wf_app::{CliExitCode, CommandError, RunOptions, load};
use wf_core::ggs::{RoundMeasures, decide};
use wf_model::ReplanSettings;
use wf_report::{decision_json, decision_text};

#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub struct ReplanArgs {
    #[command(subcommand)]
    command: ReplanCommand,
}

#[derive(Subcommand, Debug)]
enum ReplanCommand {
    Explain(ReplanExplainArgs),
}

/// Explain the decision for the given numbers of a round
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf replan explain --d 0.5 --p 0.2 --omega 0.3 --gradient 0
  wf replan explain --d 0.5 --p 0.8 --omega 0.3 --gradient -0.2 --plan plan.md
  wf replan explain --d 0.5 --p 0.8 --omega 0.3 --gradient 0.2 --worsening 1 --json

Runs and records nothing. Exit code 0 for any decision, 2 if a number is invalid or out of range.")]
struct ReplanExplainArgs {
    /// D, from 0 to 1: distance of the result from the target
    #[arg(long, value_name = "D", value_parser = share, allow_negative_numbers = true)]
    d: f64,
    /// P, from 0 to 1: share of the failures caused by the approach
    #[arg(long, value_name = "P", value_parser = share, allow_negative_numbers = true)]
    p: f64,
    /// Ω, from 0 to 1: used share of the budget
    #[arg(long, value_name = "O", value_parser = share, allow_negative_numbers = true)]
    omega: f64,
    /// ∇L: increase of the loss over the round before; 0 for the first
    #[arg(long, value_name = "G", value_parser = change, allow_negative_numbers = true)]
    gradient: f64,
    /// Number of consecutive rounds before this one that were worse
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    worsening: u32,
    /// Use the `replan` settings of this plan instead of the defaults
    #[arg(long, value_name = "PLAN")]
    plan: Option<PathBuf>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &ReplanArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        ReplanCommand::Explain(args) => explain(ui, args),
    }
}

fn explain(ui: &Ui, args: &ReplanExplainArgs) -> Result<CliExitCode, CommandError> {
    let replan = numbers(ui, args)?;
    let measures = RoundMeasures { d: args.d, p: args.p, omega: args.omega };
    let outcome = decide(&replan, measures, args.gradient, args.worsening);
    if args.json {
        ui.print_json(&format!("{:#}\n", decision_json(&replan, &outcome)))?;
    } else {
        ui.print(&decision_text(&replan, &outcome))?;
    }
    Ok(CliExitCode::Ok)
}

fn numbers(ui: &Ui, args: &ReplanExplainArgs) -> Result<ReplanSettings, CommandError> {
    let Some(path) = &args.plan else {
        return Ok(ReplanSettings::default());
    };
    let loaded = load::load_named(ui, path, RunOptions::at_present(&ui.host, None))?;
    loaded.plan.parts().replan.clone().ok_or_else(|| {
        let message = format!("{} does not set `replan`", loaded.path);
        let hint = "add `replan: {}` to its front matter to use the defaults";
        CommandError::new(CliExitCode::Usage, message).hint(hint)
    })
}

/// The reason why a text is not a measure of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum BadMeasure {
    #[error("it must be a number such as 0.5")]
    Form,
    #[error("it must be from 0 to 1")]
    Range,
    #[error("it must be finite")]
    Infinite,
}

/// Parses a number from 0 to 1.
fn share(text: &str) -> Result<f64, BadMeasure> {
    let number = number(text)?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(BadMeasure::Range) }
}

/// Parses a difference of two losses.
fn change(text: &str) -> Result<f64, BadMeasure> {
    let number = number(text)?;
    if number.is_finite() { Ok(number) } else { Err(BadMeasure::Infinite) }
}

fn number(text: &str) -> Result<f64, BadMeasure> {
    let read: Option<f64> = text.parse().ok();
    read.filter(|number| !number.is_nan()).ok_or(BadMeasure::Form)
}

#[cfg(test)]
mod tests {
    use super::{change, share};

    #[test]
    fn only_numbers_in_their_bounds_are_read() {
        assert_eq!(share("0.25"), Ok(0.25));
        assert_eq!(share("1"), Ok(1.0));
        assert_eq!(change("-0.5"), Ok(-0.5));
        for text in ["", "x", "0,5", "NaN", "-0.1", "1.01", "inf", "50%"] {
            assert!(share(text).is_err(), "{text}");
        }
        for text in ["", "x", "nan", "inf", "-infinity", "1e999"] {
            assert!(change(text).is_err(), "{text}");
        }
    }
}

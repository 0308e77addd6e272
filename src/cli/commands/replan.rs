use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::{Begun, Exit, Failure, Ui, load};
use crate::ggs::{Measures, decide};
use crate::model::Replan;
use crate::report::{solved, solved_json};

#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub struct ReplanArgs {
    #[command(subcommand)]
    command: ReplanCommand,
}

#[derive(Subcommand, Debug)]
enum ReplanCommand {
    Explain(ExplainArgs),
}

/// Say what follows from the numbers of a round, and why
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf replan explain --d 0.5 --p 0.2 --omega 0.3 --gradient 0
  wf replan explain --d 0.5 --p 0.8 --omega 0.3 --gradient -0.2 --plan plan.md
  wf replan explain --d 0.5 --p 0.8 --omega 0.3 --gradient 0.2 --worsening 1 --json

Nothing is run and nothing is recorded. Exit code 0 whatever follows, 2 if a number is none or not
in its bounds.")]
struct ExplainArgs {
    /// D, from 0 to 1: how far the result is from what was asked
    #[arg(long, value_name = "D", value_parser = share, allow_negative_numbers = true)]
    d: f64,
    /// P, from 0 to 1: how much of what failed failed by its approach
    #[arg(long, value_name = "P", value_parser = share, allow_negative_numbers = true)]
    p: f64,
    /// Ω, from 0 to 1: how much of the budget is used up
    #[arg(long, value_name = "O", value_parser = share, allow_negative_numbers = true)]
    omega: f64,
    /// ∇L: by how much the loss is more than that of the round before; 0 for the first
    #[arg(long, value_name = "G", value_parser = change, allow_negative_numbers = true)]
    gradient: f64,
    /// How many rounds in a row were worse before this one
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    worsening: u32,
    /// Decide by the `replan` of this plan, instead of by the usual numbers
    #[arg(long, value_name = "PLAN")]
    plan: Option<PathBuf>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Does what is asked of replanning.
pub fn run(ui: &Ui, args: &ReplanArgs) -> Result<Exit, Failure> {
    match &args.command {
        ReplanCommand::Explain(args) => explain(ui, args),
    }
}

fn explain(ui: &Ui, args: &ExplainArgs) -> Result<Exit, Failure> {
    let replan = numbers(ui, args)?;
    let measures = Measures {
        d: args.d,
        p: args.p,
        omega: args.omega,
    };
    let found = decide(&replan, measures, args.gradient, args.worsening);
    if args.json {
        ui.print_json(&format!("{:#}\n", solved_json(&replan, &found)))?;
    } else {
        ui.print(&solved(&replan, &found))?;
    }
    Ok(Exit::Ok)
}

fn numbers(ui: &Ui, args: &ExplainArgs) -> Result<Replan, Failure> {
    let Some(path) = &args.plan else {
        return Ok(Replan::default());
    };
    let ready = load::plan(ui, path, Begun::now(ui, None))?;
    ready.plan.parts().replan.clone().ok_or_else(|| {
        let message = format!("{} has no `replan`", ready.path);
        let hint = "`replan: {}` in its front matter takes the usual numbers";
        Failure::new(Exit::Usage, message).hint(hint)
    })
}

/// Reads a number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let number = number(text)?;
    if (0.0..=1.0).contains(&number) {
        Ok(number)
    } else {
        Err("it must be from 0 to 1".into())
    }
}

/// Reads a difference of two losses.
fn change(text: &str) -> Result<f64, String> {
    let number = number(text)?;
    if number.is_finite() {
        Ok(number)
    } else {
        Err("it must be finite".into())
    }
}

fn number(text: &str) -> Result<f64, String> {
    let read: Option<f64> = text.parse().ok();
    read.filter(|number| !number.is_nan())
        .ok_or_else(|| "it must be a number such as 0.5".into())
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

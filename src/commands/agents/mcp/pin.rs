use clap::Args;
use serde_json::json;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    mcp_pin::{PinState, ServerReview},
};
use wf_base::untrusted::{GOOD, NAME, paint, untrusted};
use wf_report::unified_diff;

/// Print the tools of an MCP server, and pin their digest in wf.yaml
#[derive(Args, Debug)]
#[command(after_help = "\
The server is started in a sandbox without network, as for a step without `allow`. Read what it
prints: a description is an instruction to the model. If the list that was pinned before was
pinned here, the changes are printed, too. Nothing but `mcp.NAME.digest` is changed in wf.yaml.

Examples:
  wf mcp pin files           print the tools of the server `files`, and pin them
  wf mcp pin files --check   for CI: exit code 3 if they are not pinned, or have changed")]
pub struct McpPinArgs {
    /// The name of the server in wf.yaml
    #[arg(value_name = "NAME")]
    name: String,
    /// Write nothing; fail if the tools are not those that are pinned
    #[arg(long)]
    check: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Prints the tools of a server, and pins them.
pub fn run(ui: &Ui, args: &McpPinArgs) -> Result<CliExitCode, CommandError> {
    let review = ServerReview::of(ui, &args.name)?;
    let (state, digest) = (review.listing.state, review.listing.digest);
    if !args.json {
        print_listing(ui, &review)?;
    }
    let is_pinned = if args.check { state == PinState::Same } else { review.pin()? };
    if args.json {
        print_document(ui, args, &review, is_pinned)?;
    }
    match (args.check, is_pinned) {
        (true, false) => {
            let error = CommandError::new(CliExitCode::Invalid, disagreement(&args.name, state));
            Err(error.hint(format!("review them, and pin them: wf mcp pin {}", args.name)))
        }
        (false, false) => {
            let message = "wf.yaml cannot be edited safely; nothing was written";
            let error = CommandError::new(CliExitCode::Usage, message);
            Err(error.hint(format!("write under `mcp.{}`: `digest: {digest}`", args.name)))
        }
        (_, true) => {
            if !args.json {
                let state_text = if state == PinState::Same { "as pinned" } else { "pinned" };
                ui.print_line(&format!("{} {}", paint(GOOD, state_text), paint(NAME, &args.name)))?;
            }
            Ok(CliExitCode::Ok)
        }
    }
}

fn disagreement(name: &str, state: PinState) -> String {
    match state {
        PinState::Changed(pinned) => {
            format!("the tools of `{name}` have changed since they were pinned (digest {pinned})")
        }
        PinState::Same | PinState::Unpinned => format!("the tools of `{name}` are not pinned"),
    }
}

fn print_document(
    ui: &Ui,
    args: &McpPinArgs,
    review: &ServerReview,
    is_pinned: bool,
) -> Result<(), CommandError> {
    let listing = &review.listing;
    let state = match listing.state {
        PinState::Same => "same",
        PinState::Changed(_) => "changed",
        PinState::Unpinned => "unpinned",
    };
    let (server, digest, tools) = (&args.name, listing.digest, &listing.tools);
    let document = json!({
        "v": 1, "server": server, "digest": digest, "was": state, "is_pinned": is_pinned, "tools": tools,
    });
    ui.print_json(&format!("{document:#}\n"))
}

fn print_listing(ui: &Ui, review: &ServerReview) -> Result<(), CommandError> {
    let text = review.listing.text();
    ui.print(&format!("{}\n", untrusted(text.trim_end()).block()))?;
    match (review.listing.state, review.pinned_text()) {
        (PinState::Changed(_), Some(old)) => {
            let diff = unified_diff("tools", &old, &text);
            ui.print(&format!("\n{}\n", untrusted(diff.trim_end()).block()))
        }
        (PinState::Changed(_), None) => {
            ui.print_info_line("the list that is pinned is not known here, so the changes are not shown");
            Ok(())
        }
        _ => Ok(()),
    }
}

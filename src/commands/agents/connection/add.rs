use std::time::Duration;

use clap::Args;

use crate::{Ui, connections::SecretArgs};
use wf_app::{
    CliExitCode, CommandError,
    approve::confirmed,
    connections::{ConnectionOffer, EstablishedConnection, NewConnection, write_health_goal},
};
use wf_base::{
    name::PlanId,
    time::parse_duration,
    untrusted::{BOLD, GOOD, paint, untrusted},
};

/// Set up a connection, or renew one
#[derive(Args, Debug)]
#[command(after_help = "\
Shows the requested permissions first. Secrets are read from the terminal, from files or from a
browser, and stored in the keyring or in files that only you can read.

Examples:
  wf connection add mail --skill m365-mail
  wf connection add notes --skill notion --secrets-in-browser
  wf connection add notes --skill notion --secret-file token=/dev/fd/3 --yes")]
pub struct ConnectionAddArgs {
    /// Name of the connection
    #[arg(value_name = "NAME")]
    name: PlanId,
    /// Skill that maintains it
    #[arg(long, value_name = "SKILL")]
    skill: String,
    /// Request this permission, and no others but those named this way
    #[arg(long = "permission", value_name = "PERMISSION")]
    permissions: Vec<String>,
    /// Hint about the account, for example email=ada@example.org
    #[arg(long = "hint", value_name = "KEY=VALUE", value_parser = pair)]
    hints: Vec<(String, String)>,
    /// Also write a goal that checks it on a schedule
    #[arg(long)]
    goal: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Time limit for the setup
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// An error for a text without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected KEY=VALUE")]
struct NoPair;

fn pair(text: &str) -> Result<(String, String), NoPair> {
    let (key, value) = text.split_once('=').ok_or(NoPair)?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Sets up a connection.
pub(super) fn run(ui: &Ui, args: &ConnectionAddArgs) -> Result<CliExitCode, CommandError> {
    let new = NewConnection {
        name: args.name.clone(),
        skill: args.skill.clone(),
        permissions: args.permissions.clone(),
        hint: args.hints.iter().cloned().collect(),
        timeout: args.timeout,
    };
    let offer = ConnectionOffer::prepare(ui, new)?;
    ui.print_message(&offered_terms(&args.name, &offer));
    if !confirmed(ui, args.yes, "Connect?")? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was connected"));
    }
    let established = offer.connect(ui, args.secrets.sources())?;
    ui.print(&result_text(&established))?;
    if args.goal {
        match write_health_goal(&ui.host.workspace(), &args.name, established.check_every)? {
            Some(path) => ui
                .print_info_line(&format!("wrote {path}; `wf daemon` runs it after `wf goal accept {path}`")),
            None => ui.print_info_line(&format!("goals/connection-{}.md already exists", args.name)),
        }
    }
    Ok(CliExitCode::Ok)
}

/// The terms for the user to agree to.
fn offered_terms(name: &PlanId, offer: &ConnectionOffer<'_>) -> String {
    let (reply, permissions) = (&offer.discovery, &offer.permissions);
    let provider = untrusted(&reply.provider);
    let mut text = format!(
        "connect {} to {provider}\n  by           {}\n  permissions  {}\n",
        paint(BOLD, name.as_str()),
        reply.auth_strategy.as_str(),
        if permissions.is_empty() { "none".to_owned() } else { permissions.join(", ") }
    );
    let needs = &reply.setup_requirements;
    for secret in &needs.secure_inputs {
        let label = secret.label.replace('\n', " ");
        text += &format!("  secret       {label} ({})\n", secret.ref_id);
    }
    if needs.browser {
        text += "  needs        a browser\n";
    }
    if needs.app_registration {
        text += "  needs        an app registered with the service\n";
    }
    if reply.identity_match == Some(false) {
        text += "  warning      the service does not know the account given as hint\n";
    }
    text
}

fn result_text(established: &EstablishedConnection) -> String {
    let record = &established.record;
    let mut text = format!("{} {}", paint(GOOD, "connected:"), record.name);
    if let Some(account) = &record.account {
        text += &format!(" · {}", account.replace('\n', " "));
    }
    if let Some(probe) = &established.probe {
        text += &format!(" · {}", probe.line());
    }
    text + "\n"
}

use clap::Args;

use crate::Ui;
use wf_app::{
    Caller as _, CliExitCode, CommandError,
    approve::confirmed,
    keys::{KeyEnrolment, asked_keys, enrol_key, find_asked, is_words},
    usage_error,
};
use wf_sign::ApproverKey;
use wf_web::open_logins;

/// Add a public key to the approvers, such as that of a browser
#[derive(Args, Debug)]
#[command(after_help = "\
Adds the key to approvers.yaml, which is created where there is none, for you alone to approve
(`policy: owner`). Commit the file, so that its signatures count for everyone.

A browser asks for its key to be enrolled on its page `Keys of this browser`. Without KEY, each
such key is shown by its six words: compare them with those on the browser.

Examples:
  wf key enrol phone
  wf key enrol phone lusab-babad-gutih-tugad-mapih-hofun
  wf key enrol phone 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")]
pub struct KeyEnrolArgs {
    /// Name of the approver
    #[arg(value_name = "NAME")]
    name: String,
    /// Public key: 64 hexadecimal digits, a passkey as the browser shows it, or the words of a key
    /// of a browser asking to be enrolled
    #[arg(value_name = "KEY")]
    key: Option<String>,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
}

/// Adds a key to the approvers.
pub fn run(ui: &Ui, args: &KeyEnrolArgs) -> Result<CliExitCode, CommandError> {
    let (key, is_compared) = match &args.key {
        Some(words) if is_words(words) => {
            let asked = find_asked(ui, words, &open_logins(&ui.host))?;
            ui.message_line(&asked.origin(ui.host.now()));
            (asked.key, false)
        }
        Some(text) => (ApproverKey::parse(text).map_err(|error| usage_error(error.to_string()))?, false),
        None => (choose(ui)?, true),
    };
    match enrol_key(ui, &args.name, &key, args.yes || is_compared)? {
        KeyEnrolment::Before(file) => ui.print_line(&format!("already in {file}: {}", key.text()))?,
        KeyEnrolment::Now(file) => {
            ui.print_line(&format!("added to {file}: {} {}", args.name, key.text()))?;
        }
    }
    Ok(CliExitCode::Ok)
}

/// Lets the person choose among the keys to be enrolled, by the words on the browser.
fn choose(ui: &Ui) -> Result<ApproverKey, CommandError> {
    let asked = asked_keys(ui, &open_logins(&ui.host))?;
    if asked.is_empty() {
        let hint =
            "on its page \"Keys of this browser\", choose \"Ask to be enrolled\"; or pass its public key";
        return Err(usage_error("no browser asks for its key to be enrolled").hint(hint));
    }
    if !ui.is_interactive() {
        let error = usage_error("not a terminal, cannot ask which words the browser shows");
        return Err(error.hint("pass them as KEY, with --yes"));
    }
    for asked in asked {
        ui.message_line(&format!("{}, for a key with the words", asked.origin(ui.host.now())));
        ui.message_line(&format!("    {}", asked.key.words()));
        if confirmed(ui, false, "Does the browser show the same words?")? {
            return Ok(asked.key);
        }
    }
    Err(CommandError::new(CliExitCode::Approval, "no key was enrolled"))
}

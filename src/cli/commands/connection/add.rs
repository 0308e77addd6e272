use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;

use super::args::{duration, name};
use crate::bus::Act;
use crate::cli::approve::asked;
use crate::cli::commands::goal::who;
use crate::cli::connections::consent::{ConnectionScope, allowed};
use crate::cli::connections::{
    Adapter, Desk, Failed, SecretArgs, Secrets, Trouble, Wish, ledger, rows, set_up, write_goal,
};
use crate::cli::{Exit, Failure, Ui, watch};
use crate::connection::request::{Discovery, Probed, Request};
use crate::connection::{Completed, Terms};
use crate::name::PlanId;
use crate::report::{BOLD, GOOD, paint};
use crate::store::{ConnectionRow, ConnectionState, Use};
use crate::untrusted::untrusted;

/// Set up a connection, or connect one again
#[derive(Args, Debug)]
#[command(after_help = "\
What it asks for is shown first. Secrets are read from the terminal or from files, and kept in the
keyring or in files that only you can read. Examples:
  wf connection add mail --skill m365-mail
  wf connection add notes --skill notion --secret-file token=/dev/fd/3 --yes")]
pub struct AddArgs {
    /// What to call it
    #[arg(value_name = "NAME", value_parser = name)]
    name: PlanId,
    /// The skill that looks after it
    #[arg(long, value_name = "SKILL")]
    skill: String,
    /// Ask for this permission, and for no others but those that are named so
    #[arg(long = "permission", value_name = "PERMISSION")]
    permissions: Vec<String>,
    /// What is known of whose account it is, for example email=ada@example.org
    #[arg(long = "hint", value_name = "KEY=VALUE", value_parser = pair)]
    hints: Vec<(String, String)>,
    /// Write a goal that looks at it on a schedule
    #[arg(long)]
    goal: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// The longest that the setup may take
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    secrets: SecretArgs,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Sets up a connection.
pub(super) fn run(ui: &Ui, args: &AddArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let before = rows(ui)?.into_iter().find(|row| row.name == args.name);
    other_skill(before.as_ref(), args)?;
    let adapter = Adapter::find(ui, &workspace, &args.skill)?;
    let desk = Desk::open(ui, &workspace, &args.name, adapter, args.timeout)?;
    let hint: BTreeMap<String, String> = args.hints.iter().cloned().collect();
    let told = |trouble: Trouble| trouble.failure(args.name.as_str(), &args.skill);
    let request = Request::Discover {
        identity_hint: &hint,
    };
    // Nothing of another setup is lent to a script that only looks.
    let (found, _) = desk
        .ask_with::<Discovery>(&request, &Vec::new())
        .map_err(told)?;
    let wanted = wanted(&desk, args, &found)?;
    let by = allowed(
        ui,
        &workspace,
        &ConnectionScope::new(&args.name, &desk.adapter, &wanted),
    )?;
    ui.say(&terms(args, &found, &wanted));
    if !asked(ui, args.yes, "connect it?")? {
        return Err(Failure::new(Exit::Interrupted, "nothing was connected"));
    }
    let mut row = proposed(ui, &desk, &found, before.as_ref());
    if before.is_none() {
        ledger(ui)?.connect(row.clone()).wait()?;
    }
    let wish = Wish {
        terms: Terms {
            auth: found.auth_strategy,
            permissions: wanted.clone(),
            refs: row.refs.iter().cloned().collect(),
        },
        initial: wanted.clone(),
        incremental: Vec::new(),
        hint,
        secrets: args.secrets.files(),
    };
    let (completed, secrets) = set_up(&desk, wish).map_err(|failed| match failed {
        Failed::Script(trouble) => told(*trouble),
        Failed::Person(failure) => failure,
    })?;
    let probed = probe(&desk, &secrets, None).map_err(told)?;
    record(ui, &mut row, completed, wanted, by)?;
    ui.print(&done(&row, probed.as_ref()))?;
    if args.goal {
        let every = desk.adapter.spec().check_every;
        match write_goal(&workspace, &args.name, every)? {
            Some(path) => ui.note_line(&format!(
                "wrote {path}; `wf daemon` keeps it after `wf goal accept {path}`"
            )),
            None => ui.note_line(&format!(
                "goals/connection-{}.md is there already",
                args.name
            )),
        }
    }
    Ok(Exit::Ok)
}

fn other_skill(before: Option<&ConnectionRow>, args: &AddArgs) -> Result<(), Failure> {
    let Some(row) = before.filter(|row| row.skill != args.skill) else {
        return Ok(());
    };
    let message = format!(
        "`{}` is a connection of the skill `{}`",
        row.name, row.skill
    );
    let hint = format!("wf connection remove {} makes room for another", row.name);
    Err(Failure::new(Exit::Usage, message).hint(hint))
}

/// The permissions that are asked for: what the script wants, or what the person says.
fn wanted(desk: &Desk<'_>, args: &AddArgs, found: &Discovery) -> Result<Vec<String>, Failure> {
    let spec = desk.adapter.spec();
    if let Some(why) = found.beyond(spec) {
        let message = format!("connection `{}`: discover: {why}", args.name);
        return Err(Failure::new(Exit::RunFailed, message));
    }
    let mut known = spec.initial.iter().chain(&spec.available);
    let unknown = |one: &&String| !known.any(|other| other == *one);
    if let Some(unknown) = args.permissions.iter().find(unknown) {
        let message = format!("the skill `{}` has no permission `{unknown}`", args.skill);
        let all: Vec<&str> = spec
            .initial
            .iter()
            .chain(&spec.available)
            .map(String::as_str)
            .collect();
        return Err(Failure::new(Exit::Usage, message).hint(format!("it has {}", all.join(", "))));
    }
    if args.permissions.is_empty() {
        return Ok(found.initial_permissions.clone());
    }
    Ok(args.permissions.clone())
}

/// What somebody agrees to.
fn terms(args: &AddArgs, found: &Discovery, wanted: &[String]) -> String {
    let provider = untrusted(&found.provider);
    let mut text = format!(
        "connect {} to {provider}\n  by           {}\n  permissions  {}\n",
        paint(BOLD, args.name.as_str()),
        found.auth_strategy.as_str(),
        if wanted.is_empty() {
            "none".to_owned()
        } else {
            wanted.join(", ")
        }
    );
    let needs = &found.setup_requirements;
    for one in &needs.secure_inputs {
        let label = one.label.replace('\n', " ");
        text += &format!("  secret       {label} ({})\n", one.ref_id);
    }
    if needs.browser {
        text += "  needs        a browser\n";
    }
    if needs.app_registration {
        text += "  needs        an app that you registered with the service\n";
    }
    if found.identity_match == Some(false) {
        text += "  warning      the account of the hint is not known to the service\n";
    }
    text
}

fn proposed(
    ui: &Ui,
    desk: &Desk<'_>,
    found: &Discovery,
    before: Option<&ConnectionRow>,
) -> ConnectionRow {
    let inputs = &found.setup_requirements.secure_inputs;
    ConnectionRow {
        name: desk.name.clone(),
        skill: desk.adapter.skill.clone(),
        folder: desk.adapter.folder.clone(),
        digest: desk.adapter.digest,
        auth: found.auth_strategy,
        state: ConnectionState::Proposed,
        account: None,
        permissions: Vec::new(),
        refs: inputs.iter().map(|one| one.ref_id.clone()).collect(),
        created: before.map_or_else(|| ui.env.now(), |row| row.created),
        checked: None,
        token_expires_at: None,
        refresh_expires_at: None,
        last_refresh: None,
        last_used: before.and_then(|row| row.last_used),
        failure: None,
    }
}

/// Keeps the secrets of a setup if the connection works with them, and else those from before.
pub(super) fn probe(
    desk: &Desk<'_>,
    secrets: &Secrets,
    capability: Option<&str>,
) -> Result<Option<Probed>, Trouble> {
    let refs = |fault| Trouble::unkept("probe", fault);
    let mut all = desk.secrets().map_err(refs)?;
    all.retain(|(name, _)| secrets.iter().all(|(other, _)| other != name));
    all.extend(secrets.iter().cloned());
    let mut probed = None;
    if desk.adapter.script("probe").is_some() {
        let request = Request::Probe {
            connection_id: desk.name.as_str(),
            capability,
        };
        let (found, written) = desk.ask_with::<Probed>(&request, &all)?;
        all.retain(|(name, _)| written.iter().all(|(other, _)| other != name));
        all.extend(written);
        probed = Some(found);
    }
    desk.keep(&all).map_err(refs)?;
    Ok(probed)
}

fn record(
    ui: &Ui,
    row: &mut ConnectionRow,
    completed: Completed,
    wanted: Vec<String>,
    by: Option<Use>,
) -> Result<(), Failure> {
    row.state = ConnectionState::Active;
    row.account = completed.account;
    row.permissions = completed.permissions_granted.unwrap_or(wanted);
    row.token_expires_at = completed.token_expires_at;
    row.refresh_expires_at = completed.refresh_token_expires_at;
    row.checked = Some(ui.env.now());
    ledger(ui)?.connect_by(row.clone(), by).wait()?;
    let act = Act::ConnectionAdded {
        connection: row.name.clone(),
        skill: row.skill.clone(),
        digest: row.digest,
        permissions: row.permissions.clone(),
        key: who(ui).map(|key| key.public.id()),
    };
    watch::note(ui, act);
    Ok(())
}

fn done(row: &ConnectionRow, probed: Option<&Probed>) -> String {
    let mut text = format!("{} {}", paint(GOOD, "connected:"), row.name);
    if let Some(account) = &row.account {
        text += &format!(" · {}", account.replace('\n', " "));
    }
    if let Some(probed) = probed {
        text += &format!(" · {}", probed.line());
    }
    text + "\n"
}

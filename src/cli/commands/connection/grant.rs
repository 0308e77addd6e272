use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;

use super::add::probe;
use super::args::{duration, name};
use super::check::{same_skill, set_up as was_set_up};
use crate::bus::Act;
use crate::cli::approve::asked;
use crate::cli::commands::goal::who;
use crate::cli::connections::consent::{ConnectionScope, allowed};
use crate::cli::connections::{Desk, Failed, SecretArgs, Trouble, Wish, ledger, named, set_up};
use crate::cli::{Exit, Failure, Ui, watch};
use crate::connection::{Completed, Terms};
use crate::model::ConnectionSpec;
use crate::name::PlanId;
use crate::store::{ConnectionRow, ConnectionState};

/// Let a connection do more
#[derive(Args, Debug)]
pub struct GrantArgs {
    /// The connection
    #[arg(value_name = "NAME", value_parser = name)]
    name: PlanId,
    /// What it is to be permitted besides
    #[arg(value_name = "PERMISSION")]
    permission: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// The longest that the setup may take
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// Sets up a connection once more, with a further permission.
pub(super) fn run(ui: &Ui, args: &GrantArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let mut row = was_set_up(named(ui, &args.name)?)?;
    let adapter = same_skill(ui, &workspace, &row)?;
    grantable(&row, adapter.spec(), &args.permission)?;
    let mut wanted = row.permissions.clone();
    wanted.push(args.permission.clone());
    let by = allowed(
        ui,
        &workspace,
        &ConnectionScope::new(&row.name, &adapter, &wanted),
    )?;
    let desk = Desk::open(ui, &workspace, &row.name, adapter, args.timeout)?;
    ui.say(&format!(
        "{} has {}; it is to have {}, too
",
        row.name,
        row.permissions.join(", "),
        args.permission
    ));
    if !asked(ui, args.yes, "grant it?")? {
        return Err(Failure::new(Exit::Interrupted, "nothing was granted"));
    }
    let wish = Wish {
        terms: Terms {
            auth: row.auth,
            permissions: wanted.clone(),
            refs: row.refs.iter().cloned().collect(),
        },
        initial: row.permissions.clone(),
        incremental: vec![args.permission.clone()],
        hint: BTreeMap::new(),
        secrets: args.secrets.files(),
    };
    let told = |trouble: Trouble| trouble.failure(row.name.as_str(), &row.skill);
    let (completed, secrets) = set_up(&desk, wish).map_err(|failed| match failed {
        Failed::Script(trouble) => told(*trouble),
        Failed::Person(failure) => failure,
    })?;
    let granted = granted(&completed, &wanted, args)?;
    probe(&desk, &secrets, Some(&args.permission)).map_err(told)?;
    row.state = ConnectionState::Active;
    row.failure = None;
    row.permissions = granted;
    row.account = completed.account.or(row.account);
    row.token_expires_at = completed.token_expires_at;
    row.refresh_expires_at = completed.refresh_token_expires_at;
    ledger(ui)?.connect_by(row.clone(), by).wait()?;
    let act = Act::ConnectionGranted {
        connection: row.name.clone(),
        permissions: row.permissions.clone(),
        key: who(ui).map(|key| key.public.id()),
    };
    watch::note(ui, act);
    ui.print_line(&format!("{} has {}", row.name, row.permissions.join(", ")))?;
    Ok(Exit::Ok)
}

fn grantable(row: &ConnectionRow, spec: &ConnectionSpec, permission: &str) -> Result<(), Failure> {
    let is = |one: &String| one == permission;
    if row.permissions.iter().any(is) {
        let message = format!("`{}` has `{permission}` already", row.name);
        return Err(Failure::new(Exit::Usage, message));
    }
    if spec.available.iter().chain(&spec.initial).any(is) {
        return Ok(());
    }
    let message = format!("the skill `{}` has no permission `{permission}`", row.skill);
    let hint = format!("it can have {}", spec.available.join(", "));
    Err(Failure::new(Exit::Usage, message).hint(hint))
}

/// What the service granted, if it is what was wanted.
fn granted(
    completed: &Completed,
    wanted: &[String],
    args: &GrantArgs,
) -> Result<Vec<String>, Failure> {
    let granted = completed.permissions_granted.clone();
    let granted = granted.unwrap_or_else(|| wanted.to_vec());
    if granted.contains(&args.permission) {
        return Ok(granted);
    }
    let message = format!(
        "the service did not grant `{}` to `{}`",
        args.permission, args.name
    );
    Err(Failure::new(Exit::RunFailed, message).hint("nothing was changed"))
}

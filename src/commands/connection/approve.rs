use std::time::Duration;

use clap::Args;

use super::args::{duration, name};
use crate::Ui;
use crate::keys::PassphraseArgs;
use wf_app::approve::{SigningRules, check_can_sign, confirm, draft_statement, use_count, write_token};
use wf_app::connections::consent::{self, ConnectionScope};
use wf_app::connections::{ConnectionAdapter, connection_rows};
use wf_app::keys::{self};
use wf_app::{CliExitCode, CommandError, Host, Workspace, relative_path, watch};
use wf_base::name::PlanId;
use wf_base::untrusted::{BOLD, paint};
use wf_sign::approval::{
    ApprovalRefusal, ApprovalScope, ApprovalStatement, ApprovalToken, PlanRef, plan_digest,
};
use wf_store::feed::WorkspaceAction;

/// Sign for a connection that another user sets up
#[derive(Args, Debug)]
#[command(after_help = "\
With `policy: reviewed` in approvers.yaml, setting up a connection or granting it more permissions
requires an approval signed by another approver. It covers one setup, by this skill, with at most
these permissions. It is written to connections/NAME.approval.json, to be committed to git. Examples:
  wf connection approve mail --skill m365-mail
  wf connection approve mail --permission Mail.Read --permission Mail.Send")]
pub struct ConnectionApproveArgs {
    /// Name of the connection
    #[arg(value_name = "NAME", value_parser = name)]
    name: PlanId,
    /// Skill that maintains it [default: that of the connection, if it is set up already]
    #[arg(long, value_name = "SKILL")]
    skill: Option<String>,
    /// Permission that it may have [default: those that it has, or that the skill requests first]
    #[arg(long = "permission", value_name = "PERMISSION")]
    permissions: Vec<String>,
    /// Validity of the approval [default: the maximum in approvers.yaml, else 7d]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<Duration>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Sign with this key, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    secret: PassphraseArgs,
}

/// Shows the permissions of a connection, asks, and signs.
pub(super) fn run(ui: &Ui, args: &ConnectionApproveArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let row = connection_rows(&ui.host)?.into_iter().find(|row| row.name == args.name);
    let skill = args.skill.clone();
    let Some(skill) = skill.or_else(|| row.as_ref().map(|row| row.skill.clone())) else {
        let failure = CommandError::new(CliExitCode::Usage, format!("unknown connection `{}`", args.name));
        return Err(failure.hint("name the skill that maintains it: --skill SKILL"));
    };
    let adapter = ConnectionAdapter::load_approved(ui, &workspace, &skill)?;
    let permissions = permissions(args, &adapter, row.map(|row| row.permissions))?;
    let rules = SigningRules::of(ui, &workspace)?;
    let keys = keys::key_folder(&ui.host)?;
    let key = keys::require_signing_key(&ui.host, &keys, args.key.as_deref())?;
    check_can_sign(&rules, &key)?;
    let wanted = ConnectionScope::new(&args.name, &adapter, &permissions);
    let file = consent::approval_path(&workspace, &args.name);
    let statement = statement(&ui.host, &workspace, &rules, &wanted, args.expires)?;
    let before = consent::read_approval(&workspace, &file);
    let same = match before {
        Some(token) if is_same(&token, &statement) && use_count(&workspace, &token)? == 0 => Some(token),
        _ => None,
    };
    let id = key.public.id();
    let shown = relative_path(&file, ui.host.cwd());
    if same.as_ref().is_some_and(|token| token.signers().any(|by| by == Some(id))) {
        ui.print_line(&format!("already approved with this key: {shown}"))?;
        return Ok(CliExitCode::Ok);
    }
    ui.print(&terms(&wanted, &adapter, same.as_ref().map_or(&statement, ApprovalToken::statement)))?;
    confirm(ui, args.yes, "Approve this connection?")?;
    let signer = keys::open_key(ui, &keys, &key, args.secret.file())?;
    let token = match same {
        Some(mut token) => {
            token.add_signature(&signer);
            token
        }
        None => ApprovalToken::sign(statement, &signer),
    };
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_token(&ui.host, &file, &token)?;
    let scope = ApprovalScope::ConnectionManage.as_str().to_owned();
    watch::record_quietly(ui, WorkspaceAction::Approved { scope, key: id });
    ui.print_line(&format!("signed {shown}"))?;
    Ok(CliExitCode::Ok)
}

/// The permissions to sign for: each is one that the skill declares.
fn permissions(
    args: &ConnectionApproveArgs,
    adapter: &ConnectionAdapter,
    has: Option<Vec<String>>,
) -> Result<Vec<String>, CommandError> {
    let spec = adapter.spec();
    let known: Vec<&String> = spec.initial.iter().chain(&spec.available).collect();
    if let Some(unknown) = args.permissions.iter().find(|one| !known.contains(one)) {
        let message = format!("the skill `{}` has no permission `{unknown}`", adapter.skill);
        let all: Vec<&str> = known.iter().map(|one| one.as_str()).collect();
        return Err(CommandError::new(CliExitCode::Usage, message)
            .hint(format!("its permissions are {}", all.join(", "))));
    }
    let mut chosen = match (args.permissions.as_slice(), has) {
        ([], Some(has)) if !has.is_empty() => has,
        ([], _) => spec.initial.clone(),
        (named, _) => named.to_vec(),
    };
    chosen.sort();
    chosen.dedup();
    Ok(chosen)
}

fn statement(
    host: &Host,
    workspace: &Workspace,
    rules: &SigningRules,
    wanted: &ConnectionScope<'_>,
    expires: Option<Duration>,
) -> Result<ApprovalStatement, CommandError> {
    let allowed = rules.approvers.validity;
    let asks = expires.unwrap_or(allowed);
    if asks > allowed || asks.is_zero() {
        let refusal = ApprovalRefusal::TooLong { asks, allowed };
        let hint = format!("shorten it: --expires {}", wf_base::time::format_duration(allowed));
        return Err(CommandError::new(CliExitCode::Approval, refusal.to_string()).hint(hint));
    }
    let files = consent::skill_pins(workspace, wanted.skill)?;
    let plan =
        PlanRef { id: wanted.name.clone(), path: wanted.folder.to_owned(), digest: plan_digest(&files) };
    let purpose = format!("nonce of connection {}", wanted.name);
    let draft = draft_statement(host, &purpose, ApprovalScope::ConnectionManage, plan, asks)?;
    let params = [consent::permissions_bound(wanted.permissions)].into();
    Ok(ApprovalStatement { files, params, ..draft })
}

/// True if the statement signed by other approvers is exactly this one, and still valid.
fn is_same(token: &ApprovalToken, statement: &ApprovalStatement) -> bool {
    let signed = token.statement();
    signed.scope == statement.scope
        && signed.verdict == statement.verdict
        && signed.plan == statement.plan
        && signed.files == statement.files
        && signed.params == statement.params
        && signed.issued <= statement.issued
        && statement.issued < signed.expires
}

/// The terms that the approver signs for.
fn terms(wanted: &ConnectionScope<'_>, adapter: &ConnectionAdapter, statement: &ApprovalStatement) -> String {
    let permissions = match wanted.permissions {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    format!(
        "the connection {} can be set up once\n  by the skill  {} {}\n  permissions   {permissions}\n  until         {}\n",
        paint(BOLD, wanted.name.as_str()),
        wanted.skill,
        adapter.digest.short(),
        statement.expires,
    )
}

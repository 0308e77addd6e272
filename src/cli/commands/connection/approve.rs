use std::time::Duration;

use clap::Args;

use super::args::{duration, name};
use crate::approval::{
    Nonce, PlanRef, Refusal, Scope, Statement, Token, VERSION, Verdict, plan_digest,
};
use crate::bus::Act;
use crate::cli::approve::{Rules, agreed, may_sign, used_token, write_token};
use crate::cli::connections::consent::{self, ConnectionScope};
use crate::cli::connections::{Adapter, rows};
use crate::cli::keys::{self, PassphraseArgs};
use crate::cli::{Exit, Failure, Ui, Workspace, relative, watch};
use crate::name::PlanId;
use crate::report::{BOLD, paint};

/// Sign for a connection that somebody else sets up
#[derive(Args, Debug)]
#[command(after_help = "\
Where approvers.yaml says `policy: reviewed`, a connection is set up, and granted more, only as
others have signed: by this skill, with these permissions or fewer, once. The approval is written to
connections/NAME.approval.json, for git. Examples:
  wf connection approve mail --skill m365-mail
  wf connection approve mail --permission Mail.Read --permission Mail.Send")]
pub struct ApproveArgs {
    /// The connection
    #[arg(value_name = "NAME", value_parser = name)]
    name: PlanId,
    /// The skill that looks after it; that of the connection, if it is set up already
    #[arg(long, value_name = "SKILL")]
    skill: Option<String>,
    /// A permission that it may have; else those that it has, or that the skill asks for first
    #[arg(long = "permission", value_name = "PERMISSION")]
    permissions: Vec<String>,
    /// How long the approval holds; by default, as long as approvers.yaml allows, else 7d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<Duration>,
    /// Do not ask: you have looked at it
    #[arg(long)]
    yes: bool,
    /// The key that signs, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    secret: PassphraseArgs,
}

/// Shows what a connection may have, asks, and signs.
pub(super) fn run(ui: &Ui, args: &ApproveArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let row = rows(ui)?.into_iter().find(|row| row.name == args.name);
    let skill = args.skill.clone();
    let Some(skill) = skill.or_else(|| row.as_ref().map(|row| row.skill.clone())) else {
        let failure = Failure::new(
            Exit::Usage,
            format!("there is no connection `{}`", args.name),
        );
        return Err(failure.hint("name the skill that is to look after it: --skill SKILL"));
    };
    let adapter = Adapter::find(ui, &workspace, &skill)?;
    let permissions = permissions(args, &adapter, row.map(|row| row.permissions))?;
    let rules = Rules::of(ui, &workspace)?;
    let keys = keys::keys(ui)?;
    let Some(key) = keys::choose(ui, &keys, args.key.as_deref())? else {
        let failure = Failure::new(Exit::Usage, "you have no key to sign with");
        return Err(failure.hint("`wf key init` makes one"));
    };
    may_sign(&rules, &key)?;
    let wanted = ConnectionScope::new(&args.name, &adapter, &permissions);
    let file = consent::path(&workspace, &args.name);
    let statement = statement(ui, &workspace, &rules, &wanted, args.expires)?;
    let before = consent::signed(&workspace, &file);
    let same = match before {
        Some(token) if is_same(&token, &statement) && used_token(&workspace, &token)? == 0 => {
            Some(token)
        }
        _ => None,
    };
    let id = key.public.id();
    let shown = relative(&file, ui.env.cwd());
    if same
        .as_ref()
        .is_some_and(|token| token.signers().any(|by| by == Some(id)))
    {
        ui.print_line(&format!("approved already with this key: {shown}"))?;
        return Ok(Exit::Ok);
    }
    ui.print(&terms(
        &wanted,
        &adapter,
        same.as_ref().map_or(&statement, Token::statement),
    ))?;
    agreed(ui, args.yes, "approve this connection?")?;
    let signer = keys::open(ui, &keys, &key, &args.secret)?;
    let token = match same {
        Some(mut token) => {
            token.sign_too(&signer);
            token
        }
        None => Token::sign(statement, &signer),
    };
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_token(ui, &file, &token)?;
    let scope = Scope::ConnectionManage.as_str().to_owned();
    watch::note(ui, Act::Approved { scope, key: id });
    ui.print_line(&format!("signed {shown}"))?;
    Ok(Exit::Ok)
}

/// The permissions that are signed for: each is one that the skill declares.
fn permissions(
    args: &ApproveArgs,
    adapter: &Adapter,
    has: Option<Vec<String>>,
) -> Result<Vec<String>, Failure> {
    let spec = adapter.spec();
    let known: Vec<&String> = spec.initial.iter().chain(&spec.available).collect();
    if let Some(unknown) = args.permissions.iter().find(|one| !known.contains(one)) {
        let message = format!(
            "the skill `{}` has no permission `{unknown}`",
            adapter.skill
        );
        let all: Vec<&str> = known.iter().map(|one| one.as_str()).collect();
        return Err(Failure::new(Exit::Usage, message).hint(format!("it has {}", all.join(", "))));
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
    ui: &Ui,
    workspace: &Workspace,
    rules: &Rules,
    wanted: &ConnectionScope<'_>,
    expires: Option<Duration>,
) -> Result<Statement, Failure> {
    let allowed = rules.approvers.validity;
    let asks = expires.unwrap_or(allowed);
    if asks > allowed || asks.is_zero() {
        let refusal = Refusal::TooLong { asks, allowed };
        let hint = format!(
            "sign for less: --expires {}",
            crate::time::format_duration(allowed)
        );
        return Err(Failure::new(Exit::Approval, refusal.to_string()).hint(hint));
    }
    let files = consent::skill_pins(workspace, wanted.skill)?;
    let mut bytes = [0; 16];
    let drawn = ui
        .env
        .random(&format!("nonce of connection {}", wanted.name))?;
    bytes.copy_from_slice(drawn.split_at(16).0);
    let now = ui.env.now();
    Ok(Statement {
        v: VERSION,
        scope: Scope::ConnectionManage,
        verdict: Verdict::Approved,
        reason: None,
        plan: PlanRef {
            id: wanted.name.clone(),
            path: wanted.folder.to_owned(),
            digest: plan_digest(&files),
        },
        files,
        params: [consent::bound(wanted.permissions)].into(),
        run: None,
        ask: None,
        nonce: Nonce::from_bytes(bytes),
        issued: now,
        expires: now.after(asks),
        executions: 1,
        spawn_policy: None,
    })
}

/// Whether what others signed is of exactly this, and still holds.
fn is_same(token: &Token, statement: &Statement) -> bool {
    let signed = token.statement();
    signed.scope == statement.scope
        && signed.verdict == statement.verdict
        && signed.plan == statement.plan
        && signed.files == statement.files
        && signed.params == statement.params
        && signed.issued <= statement.issued
        && statement.issued < signed.expires
}

/// What somebody signs for.
fn terms(wanted: &ConnectionScope<'_>, adapter: &Adapter, statement: &Statement) -> String {
    let permissions = match wanted.permissions {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    format!(
        "the connection {} may be set up once\n  by the skill  {} {}\n  permissions   {permissions}\n  until         {}\n",
        paint(BOLD, wanted.name.as_str()),
        wanted.skill,
        adapter.digest.short(),
        statement.expires,
    )
}

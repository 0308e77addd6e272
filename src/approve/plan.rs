use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::AnswerArgs;
use super::bounds::{ParamBoundArgs, ParamBounds, param_bounds};
use super::view::{approval_text, changes_text, signed_message};
use crate::Ui;
use crate::keys::PassphraseArgs;
use wf_app::approve::confirm;
use wf_app::approve::spawned_goal;
use wf_app::approve::withdrawal_time;
use wf_app::approve::{SigningRules, approved_tree, token_at};
use wf_app::approve::{draft_statement, plan_ref, read_token, use_count, write_token};
use wf_app::keys;
use wf_app::load::{self, LoadedPlan};
use wf_app::skills::consent::SkillSigning;
use wf_app::{CliExitCode, CommandError, Host, relative_path, watch};
use wf_base::time::{Moment, parse_duration};
use wf_core::machine::PinnedFile;
use wf_sign::approval::{ApprovalDecision, ApprovalRefusal, ApprovalScope, ApprovalStatement, ApprovalToken};
use wf_store::feed::WorkspaceAction;

/// The options for approving a plan.
#[derive(Args, Clone, Debug, Default)]
pub struct PlanApprovalArgs {
    #[command(flatten)]
    bounds: ParamBoundArgs,
    /// Validity of the approval [default: the maximum in approvers.yaml, else 7d]
    #[arg(long, value_name = "TIME", value_parser = period)]
    expires: Option<Duration>,
    /// Number of runs it permits [default: 1]; for a goal, number of repairs [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    executions: Option<u32>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Write the approval to this file instead of beside the plan
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Sign with this key, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl PlanApprovalArgs {
    /// The same options for answering a pending approval.
    pub fn for_answer(&self, reason: Option<&String>) -> AnswerArgs {
        AnswerArgs {
            yes: self.yes,
            reason: reason.cloned(),
            key: self.key.clone(),
            secret: self.passphrase.clone(),
        }
    }
}

impl PlanApprovalArgs {
    /// The same options for signing for a skill.
    pub fn for_skill(&self) -> SkillSigning {
        SkillSigning {
            is_confirmed: self.yes,
            validity: self.expires.map(|asks| asks.min(wf_sign::approval::SKILL_VALIDITY)),
            key: self.key.clone(),
            passphrase_file: self.passphrase.file().map(Into::into),
        }
    }

    fn executions(&self, ready: &LoadedPlan) -> u32 {
        let usual = if ready.goal.is_some() { DEFAULT_REPAIRS } else { 1 };
        self.executions.unwrap_or(usual)
    }
}

/// The default number of repairs that the approval of a goal permits.
const DEFAULT_REPAIRS: u32 = 10;

/// The scope of an approval of it.
fn scope(ready: &LoadedPlan) -> ApprovalScope {
    match ready.goal {
        Some(_) => ApprovalScope::Standing,
        None => ApprovalScope::FullPlan,
    }
}

fn period(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|bad| bad.to_string())
}

/// A plan under review.
pub(super) struct PlanReview {
    pub(super) ready: LoadedPlan,
    pub(super) bounds: ParamBounds,
    pub(super) pins: Vec<PinnedFile>,
    pub(super) rules: SigningRules,
}

/// Shows a plan, asks, and signs. Silas 5.1.2.
pub fn approve_plan(ui: &Ui, path: &Path, args: &PlanApprovalArgs) -> Result<CliExitCode, CommandError> {
    let ready = load::load_for_review(ui, path)?;
    let rules = SigningRules::of(ui, &ready.workspace)?;
    let keys = keys::key_folder(&ui.host)?;
    let key = keys::require_signing_key(&ui.host, &keys, args.key.as_deref())?;
    wf_app::approve::check_can_sign(&rules, &key)?;
    let bounds = param_bounds(ui, ready.plan.parts(), ready.goal.is_some(), &args.bounds)?;
    let out = token_at(&ui.host, &ready, args.out.as_ref());
    let pins = approved_tree(&ui.host, &ready, &bounds.known_values, &out)?.files;
    let proposal = PlanReview { ready, bounds, pins, rules };
    let (token, is_new) = statement_or_token(&ui.host, &proposal, args, &out)?;
    let id = key.public.id();
    if !is_new && token.signers().any(|by| by == Some(id)) {
        ui.print_line(&format!("already approved with this key: {}", relative_path(&out, ui.host.cwd())))?;
        return Ok(CliExitCode::Ok);
    }
    ui.print(&approval_text(&proposal, token.statement()))?;
    ui.print(&changes_text(ui, &proposal, &read_token(&proposal.ready.workspace, &out)))?;
    confirm(ui, args.yes, "Approve?")?;
    let signer = keys::open_key(ui, &keys, &key, args.passphrase.file())?;
    let signed_token = match token {
        StatementDraft::New(statement) => ApprovalToken::sign(*statement, &signer),
        StatementDraft::Signed(mut token) => {
            token.add_signature(&signer);
            *token
        }
    };
    write_token(&ui.host, &out, &signed_token)?;
    let scope = scope(&proposal.ready).as_str().to_owned();
    watch::record_quietly(ui, WorkspaceAction::Approved { scope, key: id });
    ui.print(&signed_message(&proposal, &signed_token, &relative_path(&out, ui.host.cwd())))?;
    Ok(CliExitCode::Ok)
}

/// The statement to sign: a new one, or one that other approvers have signed.
enum StatementDraft {
    New(Box<ApprovalStatement>),
    Signed(Box<ApprovalToken>),
}

impl StatementDraft {
    fn statement(&self) -> &ApprovalStatement {
        match self {
            Self::New(statement) => statement,
            Self::Signed(token) => token.statement(),
        }
    }

    fn signers(&self) -> impl Iterator<Item = Option<wf_base::digest::Sha256Digest>> {
        let token = match self {
            Self::New(_) => None,
            Self::Signed(token) => Some(token),
        };
        token.into_iter().flat_map(|token| token.signers())
    }
}

/// Returns the token signed by other approvers, if it is for exactly this and usable; else a new statement.
fn statement_or_token(
    host: &Host,
    proposal: &PlanReview,
    args: &PlanApprovalArgs,
    out: &Path,
) -> Result<(StatementDraft, bool), CommandError> {
    let now = host.now();
    if let Ok(token) = read_token(&proposal.ready.workspace, out) {
        let statement = token.statement();
        let same = statement.scope == scope(&proposal.ready)
            && statement.verdict == ApprovalDecision::Approved
            && statement.run.is_none()
            && statement.plan == plan_ref(&proposal.ready, &proposal.pins)
            && statement.params == proposal.bounds.bounds
            && statement.executions == args.executions(&proposal.ready)
            && statement.issued <= now
            && now < statement.expires;
        let as_long = args.expires.is_none_or(|asked| statement.expires.since(statement.issued) == asked);
        let counts = |by: Option<wf_base::digest::Sha256Digest>| {
            let one = by.and_then(|id| proposal.rules.approvers.find(id));
            one.is_some_and(|one| one.revoked.is_none())
        };
        let left = use_count(&proposal.ready.workspace, &token)? < statement.executions
            && !is_withdrawn(&proposal.ready, statement, now)?;
        if same && as_long && left && token.signers().all(counts) {
            return Ok((StatementDraft::Signed(Box::new(token)), false));
        }
    }
    let allowed = proposal.rules.approvers.validity;
    let asks = args.expires.unwrap_or(allowed);
    if asks > allowed || asks.is_zero() {
        let refusal = ApprovalRefusal::TooLong { asks, allowed };
        let failure = CommandError::new(CliExitCode::Approval, refusal.to_string());
        return Err(failure.hint(refusal.remedy()));
    }
    let plan = plan_ref(&proposal.ready, &proposal.pins);
    let draft = draft_statement(host, "nonce of an approval", scope(&proposal.ready), plan, asks)?;
    let statement = ApprovalStatement {
        files: proposal.pins.clone(),
        params: proposal.bounds.bounds.clone(),
        executions: args.executions(&proposal.ready),
        spawn_policy: spawned_goal(&proposal.ready, &proposal.pins).map(|spawned| spawned.policy),
        ..draft
    };
    Ok((StatementDraft::New(Box::new(statement)), true))
}

/// True if it was withdrawn: then it cannot be used, even with further signatures.
fn is_withdrawn(
    ready: &LoadedPlan,
    statement: &ApprovalStatement,
    now: Moment,
) -> Result<bool, CommandError> {
    let Some(of) = &ready.goal else {
        return Ok(false);
    };
    let found = withdrawal_time(&ready.workspace, &of.goal.id, statement, now)?;
    Ok(found.is_some())
}

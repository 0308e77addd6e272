use std::time::Duration;

use clap::Args;

use super::bounds::{ParamBoundArgs, param_bounds};
use super::plan::PlanReview;
use super::view::{changes_text, plan_summary};
use crate::Ui;
use crate::keys::PassphraseArgs;
use wf_app::approve::confirm;
use wf_app::approve::{SigningRules, owner_signer};
use wf_app::approve::{acceptance_path, reviewed_files};
use wf_app::approve::{draft_statement, plan_ref, read_token, write_token};
use wf_app::keys::{self};
use wf_app::load::LoadedPlan;
use wf_app::{CliExitCode, CommandError, watch};
use wf_model::Goal;
use wf_sign::approval::{ApprovalScope, ApprovalStatement, ApprovalToken};
use wf_store::feed::WorkspaceAction;

/// The options for accepting a goal.
#[derive(Args, Clone, Debug, Default)]
pub struct AcceptanceArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Sign with this key, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl AcceptanceArgs {
    /// The options of a user who runs a reconciliation of the goal explicitly.
    pub fn by_run() -> Self {
        Self { yes: true, ..Self::default() }
    }
}

/// The validity of an acceptance: practically until the goal changes.
const ACCEPTANCE_VALIDITY: Duration = Duration::from_hours(100 * 365 * 24);

/// Shows a goal and what changed since it was accepted, asks, and signs. `ready` is the goal as it
/// is reviewed.
pub fn accept_goal(
    ui: &Ui,
    ready: LoadedPlan,
    goal: &Goal,
    args: &AcceptanceArgs,
) -> Result<(), CommandError> {
    let out = acceptance_path(&ready.workspace, &goal.id);
    let is_goal = true;
    let bounds = param_bounds(ui, ready.plan.parts(), is_goal, &ParamBoundArgs::default())?;
    let pins = reviewed_files(&ui.host, &ready)?;
    let rules = SigningRules::of(ui, &ready.workspace)?;
    let mut proposal = PlanReview { ready, bounds, pins, rules };
    ui.print(&plan_summary(&proposal))?;
    ui.print(&changes_text(ui, &proposal, &read_token(&proposal.ready.workspace, &out)))?;
    confirm(ui, args.yes, &format!("Accept {}?", goal.id))?;
    keys::key_folder(&ui.host)?;
    let signer = owner_signer(ui, &mut proposal.rules, args.key.as_deref(), args.passphrase.file())?;
    let purpose = format!("nonce of the acceptance of {}", goal.id);
    let plan = plan_ref(&proposal.ready, &proposal.pins);
    let draft = draft_statement(&ui.host, &purpose, ApprovalScope::GoalAccept, plan, ACCEPTANCE_VALIDITY)?;
    let statement = ApprovalStatement { files: proposal.pins, ..draft };
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            CommandError::new(CliExitCode::State, format!("{}: {error}", folder.display()))
        })?;
    }
    write_token(&ui.host, &out, &ApprovalToken::sign(statement, &signer))?;
    let (scope, key) = (ApprovalScope::GoalAccept.as_str().to_owned(), signer.public().id());
    watch::record_quietly(ui, WorkspaceAction::Approved { scope, key });
    ui.print_info_line(&format!("accepted {}: `wf daemon` now runs it", goal.id));
    Ok(())
}

//! Signatures for goals by keys elsewhere, as those of a browser: one acceptance, or one approval of the repairs that
//! the autonomy of the goal advises.
//!
//! As with requests, the server drafts the statement, the browser shows and signs it, and what comes back counts only if it
//! is the statement that would be drafted now.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ParamBoundsRequest, PlanApprovalRequest, PlanReview, SigningOptions,
    accepted::{goal_content, reviewed_files},
    answers::remote::is_by_passkey,
    signing::rejected_signature,
    workspace_settings,
};
use crate::{
    Caller, CliExitCode, CommandError,
    goals::{AutonomyStatus, load_by_id, verified_reader, wake_daemon},
    specs::load,
};
use wf_base::{remedy::UserAction, untrusted::plain};
use wf_core::risk::{ActionRisk, RiskLevel, risk_of_plan};
use wf_model::{JsonObject, PlanParam, resolve_params};
use wf_report::consent::{PlanSummary, consent};
use wf_sign::approval::{ApprovalRefusal, ApprovalScope, ApprovalStatement, ApprovalToken, PAYLOAD, accepts};

/// The longest time between a draft and its signature.
const DRAFT_TIME: Duration = Duration::from_mins(15);

/// The subject of a signature for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalSignature {
    Acceptance,
    /// The repairs its autonomy advises.
    Proposal,
}

/// A text to sign for a goal.
#[derive(Clone, Debug, Serialize)]
pub struct GoalDraft {
    pub payload_type: &'static str,
    /// The statement, in its only form.
    pub payload: String,
    /// The possible acts of the goal, for the reader: the statement has the digests of its files.
    pub review: String,
    /// The risk of its possible acts.
    pub risk: ActionRisk,
}

/// Drafts a statement about a goal.
pub fn draft_goal_signature(
    caller: &dyn Caller,
    goal: &str,
    signature: GoalSignature,
) -> Result<GoalDraft, CommandError> {
    let PlanReview { loaded, known_values, token } = review(caller, goal, signature)?;
    let files: Vec<_> = token.statement.files.iter().map(|pin| (pin.path.clone(), pin.digest)).collect();
    let goal = loaded.goal.as_ref().map(|goal_plan| &*goal_plan.goal);
    let settings = PlanSummary::default().add_workspace_settings(&workspace_settings(&loaded));
    let text = consent(&loaded.plan, &loaded.path, &files, &known_values, goal) + &settings.text();
    Ok(GoalDraft {
        payload_type: PAYLOAD,
        payload: token.statement.text(),
        review: plain(&text),
        risk: risk_of_plan(&loaded.plan),
    })
}

/// Records a signed statement about a goal, if it counts.
pub fn submit_goal_signature(caller: &dyn Caller, goal: &str, token: &str) -> Result<(), CommandError> {
    let rejected = |refusal: ApprovalRefusal| rejected_signature(caller, &refusal).hint(refusal.remedy());
    let token = ApprovalToken::parse(token).map_err(rejected)?;
    let signers: Vec<_> = token.signers().collect();
    let [Some(key)] = *signers else {
        let message = "the statement about a goal has exactly one signature";
        return Err(CommandError::new(CliExitCode::Approval, message)
            .hint("sign a new draft, as the page has when it is opened again"));
    };
    let signed = token.statement();
    let what = match signed.scope {
        ApprovalScope::GoalAccept => GoalSignature::Acceptance,
        _ => GoalSignature::Proposal,
    };
    let review = review(caller, goal, what)?;
    let now = caller.host().now();
    let drafted = &review.token.statement;
    // Each draft has a nonce and a time of its own.
    let same = ApprovalStatement {
        nonce: signed.nonce.clone(),
        issued: signed.issued,
        expires: signed.issued.after(drafted.expires.since(drafted.issued)),
        ..drafted.clone()
    };
    if *signed != same || signed.issued > now || now.since(signed.issued) > DRAFT_TIME {
        let message = "the goal, or what is advised for it, is not what was signed any more";
        return Err(CommandError::new(CliExitCode::Approval, message)
            .hint("sign a new draft, as the page has when it is opened again"));
    }
    let loaded = &review.loaded;
    let is_irreversible = risk_of_plan(&loaded.plan).level == RiskLevel::Irreversible;
    if is_irreversible && !is_by_passkey(caller, &token)? {
        let message = "what cannot be taken back is approved with a passkey, not with any other key";
        let action = UserAction::ApprovePlan(loaded.path.clone());
        return Err(CommandError::new(CliExitCode::Approval, message)
            .remedy("make one on /keys, or in the workspace: ", action));
    }
    let files = reviewed_files(caller.host(), loaded)?;
    accepts(&token, &goal_content(loaded, &files)?, &review.token.rules.approvers).map_err(rejected)?;
    review.token.record(caller, &token, key)?;
    wake_daemon(&loaded.workspace.state);
    Ok(())
}

/// Prepares the statement about a goal as it is now.
fn review(caller: &dyn Caller, id: &str, signature: GoalSignature) -> Result<PlanReview, CommandError> {
    let refused = |message: String, text: &str, action| {
        Err(CommandError::new(CliExitCode::Usage, message).remedy(text, action))
    };
    let (loaded, goal) = load_by_id(caller, id)?;
    let path = loaded.workspace.root.join(&loaded.path);
    let values = |params: &[PlanParam]| Ok(resolve_params(params, &JsonObject::new())?);
    let bounds = ParamBoundsRequest { any: &[], within: &[], values: &values };
    let review = match signature {
        GoalSignature::Acceptance => {
            let loaded = load::load_for_review(caller, &path)?;
            PlanReview::of_goal(caller, loaded, &bounds)?
        }
        GoalSignature::Proposal => {
            let reader = verified_reader(&loaded.workspace)?;
            let status = AutonomyStatus::of(caller, &loaded, &goal, reader.as_ref())?;
            let Some(advice) = &status.advice else {
                return refused(
                    format!("nothing is advised for {id}"),
                    "see: ",
                    UserAction::ShowAutonomy(id.to_owned()),
                );
            };
            let signing =
                SigningOptions { validity: Some(advice.new_limits.validity), ..SigningOptions::default() };
            let executions = Some(advice.new_limits.executions);
            let request = PlanApprovalRequest { bounds, executions, file: None, signing: &signing };
            PlanReview::of_plan_elsewhere(caller, &path, &request)?
        }
    };
    let required = review.token.rules.approvers.quorum();
    if required > 1 {
        let message = format!("{required} approvers must sign for {id}, one after another");
        let action = UserAction::ApprovePlan(review.loaded.path.clone());
        return refused(message, "sign in the workspace: ", action);
    }
    Ok(review)
}

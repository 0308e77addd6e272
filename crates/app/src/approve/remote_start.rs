//! A signature for one run of a plan by a key elsewhere, as that of a browser: for a plan that a login alone does not start.
//!
//! As with goals, the server drafts the statement, the browser shows and signs it, and what comes back counts only if it is
//! the statement that would be drafted now. It is about one run in one workspace, with the values of its parameters.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;

use super::{
    ParamBoundsRequest, PlanApprovalRequest, PlanReview, SigningOptions, answers::remote::is_by_passkey,
};
use crate::{Caller, CliExitCode, CommandError, Workspace};
use wf_base::{name::RunId, remedy::UserAction, untrusted::plain};
use wf_core::risk::{ActionRisk, RiskLevel, risk_of_plan};
use wf_model::{JsonObject, PlanParam};
use wf_report::consent::consent;
use wf_sign::approval::{ApprovalRefusal, ApprovalStatement, ApprovalToken, PAYLOAD};

/// The validity of a start: it is signed and sent at once.
const START_TIME: Duration = Duration::from_mins(15);

/// A run of a plan to be signed for.
#[derive(Clone, Copy)]
pub struct RemoteStart<'a> {
    /// The path of the plan, relative to the workspace.
    pub path: &'a str,
    /// The resolved parameters.
    pub params: &'a JsonObject,
    pub run: &'a RunId,
}

/// A text to sign for a start.
#[derive(Clone, Debug, Serialize)]
pub struct StartDraft {
    pub payload_type: &'static str,
    /// The statement, in its only form.
    pub payload: String,
    /// The possible acts of the plan, for the reader: the statement has the digests of its files.
    pub review: String,
    pub risk: ActionRisk,
}

/// Drafts the statement that starts a run.
pub fn draft_start(caller: &dyn Caller, start: RemoteStart<'_>) -> Result<StartDraft, CommandError> {
    let PlanReview { loaded, known_values, token } = review(caller, start)?;
    let files: Vec<_> = token.statement.files.iter().map(|pin| (pin.path.clone(), pin.digest)).collect();
    Ok(StartDraft {
        payload_type: PAYLOAD,
        payload: token.statement.text(),
        review: plain(&consent(&loaded.plan, &loaded.path, &files, &known_values, None)),
        risk: risk_of_plan(&loaded.plan),
    })
}

/// Returns the approval of a start, if it is what would be drafted now. Whether its signature counts is decided when the run
/// starts.
pub fn signed_start(
    caller: &dyn Caller,
    start: RemoteStart<'_>,
    token: &str,
) -> Result<ApprovalToken, CommandError> {
    let rejected = |refusal: ApprovalRefusal| {
        let error = CommandError::new(CliExitCode::Approval, format!("signature rejected: {refusal}"));
        error.hint(refusal.remedy())
    };
    let token = ApprovalToken::parse(token).map_err(rejected)?;
    let (signed, now) = (token.statement(), caller.host().now());
    // Said first: in a copy nothing else is wrong about it.
    refuse_other_workspace(signed, &caller.host().workspace()).map_err(rejected)?;
    let review = review(caller, start)?;
    let drafted = &review.token.statement;
    // Each draft has a nonce and a time of its own.
    let same = ApprovalStatement {
        nonce: signed.nonce.clone(),
        issued: signed.issued,
        expires: signed.issued.after(drafted.expires.since(drafted.issued)),
        ..drafted.clone()
    };
    if *signed != same || signed.issued > now {
        let message =
            "what was signed is not what would start now: the plan, its files, its parameters, or the form";
        return Err(CommandError::new(CliExitCode::Approval, message)
            .hint("sign a new draft, as the form has when it is opened again"));
    }
    let is_irreversible = risk_of_plan(&review.loaded.plan).level == RiskLevel::Irreversible;
    if is_irreversible && !is_by_passkey(caller, &token)? {
        let message = "what cannot be taken back is started with a passkey, not with any other key";
        let action = UserAction::RunFile(start.path.to_owned());
        let error = CommandError::new(CliExitCode::Approval, message);
        return Err(error.remedy("make one on /keys, or in the workspace: ", action));
    }
    Ok(token)
}

/// Prepares the statement about a run of a plan as it is now.
fn review(caller: &dyn Caller, start: RemoteStart<'_>) -> Result<PlanReview, CommandError> {
    let values = |_: &[PlanParam]| Ok(start.params.clone());
    // The approval is in no file of the workspace, so none is left out of the approved ones.
    let file: PathBuf = std::env::temp_dir().join("start.approval.json");
    let signing = SigningOptions { validity: Some(START_TIME), ..SigningOptions::default() };
    let request = PlanApprovalRequest {
        bounds: ParamBoundsRequest { any: &[], within: &[], values: &values },
        executions: None,
        file: Some(&file),
        signing: &signing,
    };
    let path = caller.host().workspace().root.join(start.path);
    let mut review = PlanReview::of_plan_elsewhere(caller, &path, &request)?;
    let required = review.token.rules.approvers.quorum();
    if required > 1 {
        let message = format!("{required} approvers must sign for a run, one after another");
        let action = UserAction::ApprovePlan(start.path.to_owned());
        let error = CommandError::new(CliExitCode::Approval, message);
        return Err(error.remedy("sign in the workspace: ", action));
    }
    review.token.statement.run = Some(start.run.clone());
    review.token.statement.workspace = Some(caller.host().workspace().reference());
    Ok(review)
}

/// Refuses a statement that names another workspace, as that for a copy of this one.
pub(super) fn refuse_other_workspace(
    statement: &ApprovalStatement,
    workspace: &Workspace,
) -> Result<(), ApprovalRefusal> {
    match &statement.workspace {
        Some(named) if *named != workspace.reference() => {
            Err(ApprovalRefusal::OtherWorkspace(Box::new(named.clone())))
        }
        _ => Ok(()),
    }
}

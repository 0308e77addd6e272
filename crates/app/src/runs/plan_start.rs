//! The start of a plan at the request of a browser: a command in a process of its own, so it decides by the same rules as any
//! other start, and the run outlives the server.
//!
//! A request has a key, and the id of its run follows from it. So a request that is repeated leads to the run that it started, and
//! one with other values and the same key starts nothing.
//!
//! **Invariant:** a request is in the audit log before its process is started.

mod key;

use std::path::Path;

use super::{background::start_in_background, run_acts::ACTS_LOCK};
use crate::{
    Caller, CliExitCode, CommandError, Host, RunOptions,
    approve::{RemoteStart, SigningRules, StartDraft, draft_start, signed_start},
    goals::FileLock,
    specs::load::{LoadedPlan, load_plan},
    state::start_files::{StartFiles, has_left, remove_left},
    watch,
};
pub use key::{StartKey, program_key};
use serde_json::Value;
use wf_base::{digest::Sha256Digest, name::RunId, remedy::UserAction};
use wf_core::risk::{ActionRisk, RiskLevel, risk_of_plan};
use wf_lang::DiskFiles;
use wf_model::{JsonObject, ParamErrors, Plan, resolve_params};
use wf_sign::{
    approval::{ApprovalToken, ReviewPolicy},
    canonical,
};
use wf_store::{RunRow, StoreError, StoreReader, allow_no_state, feed::WorkspaceAction};

/// The highest risk of a plan that a login starts by itself: what it changes is known, and can be restored.
const MAX_LOGIN_RISK: RiskLevel = RiskLevel::Medium;

/// A request of a browser to start a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanStartRequest {
    /// The path of the plan, relative to the workspace.
    pub path: String,
    /// The given values of its parameters.
    pub values: JsonObject,
    /// The digest of the plan as its reader saw it.
    pub plan_digest: String,
    /// The key of the request.
    pub key: String,
    /// The signed statement that starts it; `None`: a login starts it.
    pub token: Option<String>,
}

/// The reason why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum PlanStartError {
    /// Values of parameters are missing or wrong.
    #[error("{0}")]
    Params(ParamErrors),
    /// The form is not what would be shown now: it was used, is too old, or is of another plan than there is now.
    #[error("{}", .0.message)]
    Outdated(CommandError),
    #[error("{}", .0.message)]
    Refused(CommandError),
}

impl PlanStartError {
    /// Returns the error for a plan whose file was removed, or is no plan any more.
    pub fn gone() -> Self {
        let error = CommandError::new(CliExitCode::Usage, "the plan is not there any more");
        Self::Refused(error.hint("restore its file, then look at it again"))
    }
}

impl From<CommandError> for PlanStartError {
    fn from(error: CommandError) -> Self {
        Self::Refused(error)
    }
}

/// Returns the digest of all texts of a plan, by which a start is of what its reader saw.
pub fn plan_digest(loaded: &LoadedPlan) -> Sha256Digest {
    let texts = loaded.sources.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]);
    Sha256Digest::of_parts(texts)
}

/// Returns the risk that keeps a login from starting a plan by itself; `None`: it may.
pub fn excessive_risk(plan: &Plan) -> Option<ActionRisk> {
    Some(risk_of_plan(plan)).filter(|risk| risk.level > MAX_LOGIN_RISK)
}

/// Returns the reason why a start needs the signature of an approver; `None`: a login is enough.
pub fn signature_reason(caller: &dyn Caller, loaded: &LoadedPlan) -> Result<Option<String>, CommandError> {
    if let Some(risk) = excessive_risk(&loaded.plan) {
        return Ok(Some(format!("the risk of the plan is {risk}; a login alone starts up to medium")));
    }
    let policy = SigningRules::of(caller, &loaded.workspace)?.approvers.policy;
    let reason = "the policy of the workspace is `reviewed`, so an approver signs for each run";
    Ok((policy == ReviewPolicy::Reviewed).then(|| reason.to_owned()))
}

/// Refuses a run that a login alone does not start, where nobody can sign for it: an act starts it in a terminal.
pub(super) fn require_login_start(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    action: UserAction,
) -> Result<(), CommandError> {
    match signature_reason(caller, loaded)? {
        None => Ok(()),
        Some(reason) => Err(CommandError::new(CliExitCode::Approval, reason)
            .remedy("sign for a run with the form of the plan, or in a terminal: ", action)),
    }
}

/// Returns the reason why a run of the plan in a file needs the signature of an approver, as the plan is now; `None`: a login is
/// enough, or the plan cannot be read, which an act says.
pub fn signature_reason_at(caller: &dyn Caller, path: &str) -> Result<Option<String>, CommandError> {
    match load_at(caller, path) {
        Ok(loaded) => signature_reason(caller, &loaded),
        Err(_) => Ok(None),
    }
}

/// Loads the plan in a file, as it is now.
pub(crate) fn load_at(caller: &dyn Caller, path: &str) -> Result<LoadedPlan, CommandError> {
    let workspace = caller.host().workspace();
    let files = DiskFiles::new(&workspace.root);
    load_plan(caller, &files, workspace, path.to_owned(), RunOptions::at_present(caller.host(), None))
}

/// Drafts what an approver signs to start a plan.
pub fn draft_plan_start(
    caller: &dyn Caller,
    request: &PlanStartRequest,
) -> Result<StartDraft, PlanStartError> {
    let prepared = PreparedStart::of(caller, request)?;
    if let Some(row) = recorded_run(&caller.host().workspace().state, &prepared.run)? {
        return Err(PlanStartError::Outdated(used_for(&row)));
    }
    refuse_pruned(&caller.host().workspace().state, &prepared.run)?;
    prepared.require_current(caller, request)?;
    Ok(draft_start(caller, prepared.remote(request))?)
}

/// Starts a plan, and returns its run; that of the same request, if it was sent before.
pub fn request_start(caller: &dyn Caller, request: &PlanStartRequest) -> Result<RunId, PlanStartError> {
    let host = caller.host();
    let state = host.workspace().state;
    let prepared = PreparedStart::of(caller, request)?;
    let _lock = FileLock::lock_blocking(&state, ACTS_LOCK)?;
    if let Some(row) = recorded_run(&state, &prepared.run)? {
        let is_same = row.path == request.path && row.params == prepared.params;
        return if is_same { Ok(row.id) } else { Err(PlanStartError::Outdated(used_for(&row))) };
    }
    refuse_pruned(&state, &prepared.run)?;
    prepared.require_current(caller, request)?;
    let approval = approval_of(caller, request, &prepared)?;
    let files = StartFiles::make(&state, &prepared.run)?;
    let params = files.write("params.json", &prepared.params_text)?;
    let approval = approval.map(|token| files.write("approval.json", &token.text())).transpose()?;
    let digest = prepared.digest.to_string();
    let mut command = vec!["run", "--params", &params, "--requested-run", prepared.run.as_str()];
    command.extend(["--plan-digest", &digest]);
    command.extend(approval.iter().flat_map(|path| ["--approval", path]));
    // A file that begins like an option is one all the same.
    let file = format!("./{}", request.path);
    command.push(&file);
    let act = WorkspaceAction::RunRequested {
        plan: prepared.loaded.plan.id().clone(),
        plan_digest: prepared.digest,
        params_digest: Sha256Digest::of_bytes(prepared.params_text.as_bytes()),
        run: prepared.run.clone(),
    };
    watch::record_act(caller, act).map_err(CommandError::from)?;
    let started_run = || Ok(recorded_run(&state, &prepared.run)?.map(|row| row.id));
    Ok(start_in_background(host, &command, &started_run)?)
}

/// Removes what starts left whose server was killed, unless another server starts something now.
pub fn remove_left_starts(host: &Host) -> Result<(), CommandError> {
    let state = host.workspace().state;
    if has_left(&state)
        && let Ok(_lock) = FileLock::try_lock(&state, ACTS_LOCK)?
    {
        remove_left(&state)?;
    }
    Ok(())
}

/// The remedy for a request that has started a run.
const ANOTHER_REQUEST: &str = "load the form again, or send another `Idempotency-Key`";

/// Returns the error of a form that has started a run.
fn used_for(row: &RunRow) -> CommandError {
    let message = format!(
        "the request has started run {} already, of another plan or with other values",
        row.id.short()
    );
    CommandError::new(CliExitCode::Usage, message).hint(ANOTHER_REQUEST)
}

/// A plan that is about to be started.
struct PreparedStart {
    loaded: LoadedPlan,
    params: JsonObject,
    /// The same as text.
    params_text: String,
    /// The digest of the plan as it is now.
    digest: Sha256Digest,
    key: StartKey,
    run: RunId,
}

impl PreparedStart {
    fn of(caller: &dyn Caller, request: &PlanStartRequest) -> Result<Self, PlanStartError> {
        let now = caller.host().now();
        let key = StartKey::parse(&request.key, now).map_err(PlanStartError::Outdated)?;
        let run = key.run(caller.host().workspace().digest());
        let loaded = load_at(caller, &request.path)?;
        let declared = &loaded.plan.parts().params;
        let params = resolve_params(declared, &request.values).map_err(PlanStartError::Params)?;
        let params_text = canonical(&Value::Object(params.clone()));
        Ok(Self { digest: plan_digest(&loaded), loaded, params, params_text, key, run })
    }

    /// Refuses a form that is too old, or of another plan than there is now.
    fn require_current(&self, caller: &dyn Caller, request: &PlanStartRequest) -> Result<(), PlanStartError> {
        let is_current = self.key.require_current(caller.host().now());
        let is_same = || require_same_plan(self.digest, &request.plan_digest);
        is_current.and_then(|()| is_same()).map_err(PlanStartError::Outdated)
    }

    fn remote<'a>(&'a self, request: &'a PlanStartRequest) -> RemoteStart<'a> {
        RemoteStart { path: &request.path, params: &self.params, run: &self.run }
    }
}

/// Returns the approval that was signed for a start; `None`: a login is enough.
fn approval_of(
    caller: &dyn Caller,
    request: &PlanStartRequest,
    prepared: &PreparedStart,
) -> Result<Option<ApprovalToken>, CommandError> {
    if let Some(token) = &request.token {
        return signed_start(caller, prepared.remote(request), token).map(Some);
    }
    match signature_reason(caller, &prepared.loaded)? {
        None => Ok(None),
        Some(reason) => Err(CommandError::new(CliExitCode::Approval, reason).remedy(
            "sign for it with a key of this browser, or start it in a terminal: ",
            UserAction::RunFile(request.path.clone()),
        )),
    }
}

/// Returns a run, if it is recorded.
fn recorded_run(state: &Path, run: &RunId) -> Result<Option<RunRow>, CommandError> {
    let Some(reader) = allow_no_state(StoreReader::open(state))? else {
        return Ok(None);
    };
    match reader.runs().get(run) {
        Ok(row) => Ok(Some(row)),
        Err(StoreError::UnknownRun(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refuses a request whose run retention has removed: with its signature, it would run a second time.
fn refuse_pruned(state: &Path, run: &RunId) -> Result<(), PlanStartError> {
    let Some(reader) = allow_no_state(StoreReader::open(state)).map_err(CommandError::from)? else {
        return Ok(());
    };
    if !reader.runs().is_pruned(run).map_err(CommandError::from)? {
        return Ok(());
    }
    let message = format!("the request has started run {} already, which retention has removed", run.short());
    Err(PlanStartError::Outdated(CommandError::new(CliExitCode::Usage, message).hint(ANOTHER_REQUEST)))
}

/// Refuses a plan that is another one than its reader saw.
pub fn require_same_plan(digest: Sha256Digest, seen: &str) -> Result<(), CommandError> {
    if digest.to_string() == seen {
        return Ok(());
    }
    let message = "the plan has changed since it was read: nothing has started";
    Err(CommandError::new(CliExitCode::Usage, message).hint("read it again, then start it"))
}

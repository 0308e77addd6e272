//! The start of a plan at the request of a browser: a command in a process of its own, so it decides by the same rules as any
//! other start, and the run outlives the server.
//!
//! A request has a key, and the id of its run follows from the key and from all that is started. So a request that is
//! repeated leads to the run that it started, and another one with the same key is another run.

use std::{io::Write as _, path::Path};

use super::{background::start_in_background, run_acts::ACTS_LOCK};
use crate::{
    Caller, CliExitCode, CommandError, RunOptions,
    approve::{RemoteStart, SigningRules, StartDraft, draft_start, signed_start},
    goals::FileLock,
    specs::load::{LoadedPlan, load_plan},
    watch,
};
use serde_json::Value;
use tempfile::NamedTempFile;
use wf_base::{digest::Sha256Digest, name::RunId, remedy::UserAction};
use wf_core::risk::{ActionRisk, RiskLevel, risk_of_plan};
use wf_lang::DiskFiles;
use wf_model::{JsonObject, ParamErrors, Plan, resolve_params};
use wf_sign::{
    approval::{ApprovalToken, ReviewPolicy},
    canonical,
};
use wf_store::{StoreError, StoreReader, allow_no_state, feed::WorkspaceAction};

/// The highest risk of a plan that a login starts by itself: what it changes is known, and can be restored.
const MAX_LOGIN_RISK: RiskLevel = RiskLevel::Medium;

/// The length of the key of a request, in hexadecimal digits.
const KEY_LENGTH: usize = 64;

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
    #[error("{}", .0.message)]
    Refused(CommandError),
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

/// Drafts what an approver signs to start a plan.
pub fn draft_plan_start(
    caller: &dyn Caller,
    request: &PlanStartRequest,
) -> Result<StartDraft, PlanStartError> {
    let prepared = PreparedStart::of(caller, request)?;
    require_same_plan(prepared.digest, &request.plan_digest)?;
    Ok(draft_start(caller, prepared.remote(request))?)
}

/// Starts a plan, and returns its run; that of the same request, if it was sent before.
pub fn request_start(caller: &dyn Caller, request: &PlanStartRequest) -> Result<RunId, PlanStartError> {
    let host = caller.host();
    let state = host.workspace().state;
    let prepared = PreparedStart::of(caller, request)?;
    let _lock = FileLock::lock_blocking(&state, ACTS_LOCK)?;
    let started_run = || recorded_run(&state, &prepared.run);
    if let Some(run) = started_run()? {
        return Ok(run);
    }
    require_same_plan(prepared.digest, &request.plan_digest)?;
    let approval = approval_of(caller, request, &prepared)?;
    let approval = approval.map(|token| temporary_file(&token.text())).transpose()?;
    let params = temporary_file(&prepared.params_text)?;
    let path = |file: &NamedTempFile| file.path().display().to_string();
    let (params_path, digest) = (path(&params), prepared.digest.to_string());
    let approval_path = approval.as_ref().map(path);
    let mut command = vec!["run", "--params", &params_path, "--requested-run", prepared.run.as_str()];
    command.extend(["--plan-digest", &digest]);
    command.extend(approval_path.iter().flat_map(|path| ["--approval", path]));
    // A file that begins like an option is one all the same.
    let file = format!("./{}", request.path);
    command.push(&file);
    let run = start_in_background(host, &command, &started_run)?;
    let act = WorkspaceAction::RunRequested {
        plan: prepared.loaded.plan.id().clone(),
        plan_digest: prepared.digest,
        params_digest: Sha256Digest::of_bytes(prepared.params_text.as_bytes()),
        run: run.clone(),
    };
    watch::record_quietly(caller, act);
    Ok(run)
}

/// A plan that is about to be started.
struct PreparedStart {
    loaded: LoadedPlan,
    params: JsonObject,
    /// The same as text.
    params_text: String,
    /// The digest of the plan as it is now.
    digest: Sha256Digest,
    run: RunId,
}

impl PreparedStart {
    fn of(caller: &dyn Caller, request: &PlanStartRequest) -> Result<Self, PlanStartError> {
        let workspace = caller.host().workspace();
        let files = DiskFiles::new(&workspace.root);
        let options = RunOptions::at_present(caller.host(), None);
        let loaded = load_plan(caller, &files, workspace, request.path.clone(), options)?;
        let declared = &loaded.plan.parts().params;
        let params = resolve_params(declared, &request.values).map_err(PlanStartError::Params)?;
        let params_text = canonical(&Value::Object(params.clone()));
        let run = requested_run(request, &params_text)?;
        Ok(Self { digest: plan_digest(&loaded), loaded, params, params_text, run })
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
fn recorded_run(state: &Path, run: &RunId) -> Result<Option<RunId>, CommandError> {
    let Some(reader) = allow_no_state(StoreReader::open(state))? else {
        return Ok(None);
    };
    match reader.runs().get(run) {
        Ok(row) => Ok(Some(row.id)),
        Err(StoreError::UnknownRun(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Writes a text to a file that its owner alone can read, and that is removed with the value.
fn temporary_file(text: &str) -> Result<NamedTempFile, CommandError> {
    let written = NamedTempFile::new().and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.flush().map(|()| file)
    });
    written.map_err(|error| {
        CommandError::new(CliExitCode::State, format!("cannot write the parameters: {error}"))
    })
}

/// Refuses a plan that is another one than its reader saw.
pub fn require_same_plan(digest: Sha256Digest, seen: &str) -> Result<(), CommandError> {
    if digest.to_string() == seen {
        return Ok(());
    }
    let message = "the plan has changed since it was read: nothing has started";
    Err(CommandError::new(CliExitCode::Usage, message).hint("read it again, then start it"))
}

/// Returns the id of the run of a request.
fn requested_run(request: &PlanStartRequest, params_text: &str) -> Result<RunId, CommandError> {
    let key = &request.key;
    if key.len() != KEY_LENGTH || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(CommandError::new(CliExitCode::Usage, "the form is incomplete: open it again"));
    }
    let digest = Sha256Digest::of_parts([
        key.as_bytes(),
        request.path.as_bytes(),
        request.plan_digest.as_bytes(),
        params_text.as_bytes(),
    ]);
    let mut bytes = [0; 16];
    for (byte, part) in bytes.iter_mut().zip(digest.bytes()) {
        *byte = *part;
    }
    Ok(RunId::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::{PlanStartRequest, requested_run};
    use wf_model::JsonObject;

    #[test]
    fn a_request_that_is_repeated_is_of_the_same_run() {
        let request = |key: &str, path: &str| PlanStartRequest {
            path: path.into(),
            values: JsonObject::new(),
            plan_digest: "d".into(),
            key: key.into(),
            token: None,
        };
        let (key, other) = ("a1".repeat(32), "b2".repeat(32));
        let run = requested_run(&request(&key, "a.md"), "{}").unwrap();
        assert_eq!(requested_run(&request(&key, "a.md"), "{}").unwrap(), run);
        for different in [
            requested_run(&request(&other, "a.md"), "{}"),
            requested_run(&request(&key, "b.md"), "{}"),
            requested_run(&request(&key, "a.md"), "{\"n\":1}"),
        ] {
            assert_ne!(different.unwrap(), run);
        }
        for wrong in ["", "a1", &"g1".repeat(32)] {
            assert!(requested_run(&request(wrong, "a.md"), "{}").is_err(), "{wrong}");
        }
    }
}

//! The runs of a reconciliation, its check run and its repair: on this machine, or on the backend of the goal.

use std::sync::Arc;

use super::{StartedRun, cycle::ObserverFactory};
use crate::{
    Caller, CliExitCode, CommandError, Host, Workspace,
    approve::{RunAuthorization, reauthorize},
    revision::tracked_check_files,
    runs::{
        backend::{RecordedBackendRun, backend_of, backend_program, on_backend},
        given::{approval_of_run, secrets_of_run},
        lineage::retried_run,
        outdated::warn_of_changed_results,
        session::{open_run_session, open_session, prune},
    },
    specs::load::{self, LoadedPlan},
};
use wf_base::name::{Name, RunId};
use wf_engine::{self as engine, BackendProgram, EngineError, FinishedRun, RunRequest};
use wf_model::JsonObject;
use wf_store::{ReconciliationClaim, RunState, StoreError, StoreReader};

/// The id of a run of a reconciliation: random, or where tests set the seed, by its purpose.
pub(super) fn run_id(host: &Host, purpose: &str) -> Result<RunId, CommandError> {
    Ok(RunId::from_bytes(host.random_id(purpose)?))
}

/// Returns the request for a run of a reconciliation.
pub(super) fn run_request(
    host: &Host,
    loaded: &LoadedPlan,
    run: RunId,
    params: JsonObject,
    authorization: RunAuthorization,
    claim: ReconciliationClaim,
) -> RunRequest {
    let config = loaded.options.write_to(serde_json::Value::Null);
    let tracked = tracked_check_files(host, loaded, &params);
    RunRequest {
        run,
        plan: loaded.plan.clone(),
        path: loaded.path.clone(),
        sources: loaded.sources.iter().cloned().chain([authorization.token]).collect(),
        params,
        session: None,
        repeated_run: None,
        approved: Some(authorization.approved),
        config: match backend_of_goal(loaded) {
            Some(name) => on_backend(config, name),
            None => config,
        },
        claim: Some(claim),
        begun: None,
        tracked,
    }
}

/// Returns the name of the backend where the runs of a goal go.
fn backend_of_goal(loaded: &LoadedPlan) -> Option<&str> {
    loaded.goal.as_ref()?.goal.backend.as_ref().map(Name::as_str)
}

/// Starts a run of a reconciliation and works on it to its end, here or on the backend of its goal.
pub(super) fn start(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    request: RunRequest,
    observe: ObserverFactory<'_>,
) -> Result<(), CommandError> {
    let backend =
        backend_of_goal(loaded).map(|name| backend_program(caller.host(), loaded, name)).transpose()?;
    let session = open_run_session(caller, loaded, false, observe(loaded))?;
    let outcome = run_outcome(match &backend {
        Some(backend) => engine::run_on(&session, request, backend),
        None => engine::run(&session, request),
    });
    prune(caller, &session, loaded);
    outcome
}

/// Resumes a run of a reconciliation, if it has not ended.
pub(super) fn resume(
    caller: &dyn Caller,
    run: &RunId,
    observe: ObserverFactory<'_>,
) -> Result<(), CommandError> {
    let reader = StoreReader::from_log(&caller.host().workspace().state)?;
    let row = reader.runs().get(run)?;
    if row.state != RunState::Running {
        return Ok(());
    }
    let loaded = load::load_recorded(caller, &reader, run)?;
    reauthorize(caller, &reader, run, &loaded)?;
    let open = || open_run_session(caller, &loaded, false, observe(&loaded));
    if let Some(elsewhere) = RecordedBackendRun::read(caller.host(), &reader, run, &loaded)? {
        drop(reader);
        let session = open()?;
        return run_outcome(engine::run_on(&session, elsewhere.request, &elsewhere.backend));
    }
    let repeated_run = retried_run(&reader, &row, &loaded.plan)?;
    warn_of_changed_results(caller, &reader, run, &loaded)?;
    let secrets = secrets_of_run(&reader, run, &loaded.plan)?;
    let approved = approval_of_run(&reader, run)?;
    drop(reader);
    let session = open()?;
    engine::recover(&session, &loaded.plan, approved.as_ref(), secrets)?;
    run_outcome(engine::resume(&session, run, loaded.plan.clone(), repeated_run))
}

/// Records a run the backend of a deployed goal started, and follows it to its end, or until it waits for people. An
/// interrupt ends that, and not the run.
pub(super) fn follow_started(
    caller: &dyn Caller,
    workspace: &Workspace,
    started: &StartedRun,
    claim: ReconciliationClaim,
    observe: ObserverFactory<'_>,
) -> Result<(), CommandError> {
    if has_ended(&StoreReader::from_log(&workspace.state)?, &started.run)? {
        return Ok(());
    }
    let loaded = load::load_started(caller, workspace.clone(), started)?;
    let StartedRun { run, path, sources, params, approved, config, at } = started.clone();
    let name = backend_of(&config).ok_or_else(|| {
        CommandError::new(CliExitCode::State, "a run of a deployed goal was started on no backend")
    })?;
    let backend = backend_program(caller.host(), &loaded, name)?;
    let request = RunRequest {
        run,
        plan: Arc::clone(&loaded.plan),
        path,
        sources,
        params,
        session: None,
        repeated_run: None,
        approved: Some(approved),
        config,
        claim: Some(claim),
        begun: Some(at),
        tracked: None,
    };
    leave_on_interrupt(caller, &loaded, RecordedBackendRun { request, backend }, observe)
}

/// Follows a recorded run of a deployed goal, if it has not ended.
pub(super) fn follow_recorded(
    caller: &dyn Caller,
    run: &RunId,
    observe: ObserverFactory<'_>,
) -> Result<(), CommandError> {
    let reader = StoreReader::from_log(&caller.host().workspace().state)?;
    if has_ended(&reader, run)? {
        return Ok(());
    }
    let loaded = load::load_recorded_as(caller, &reader, run, None)?;
    match RecordedBackendRun::read(caller.host(), &reader, run, &loaded)? {
        Some(elsewhere) => leave_on_interrupt(caller, &loaded, elsewhere, observe),
        None => Ok(()),
    }
}

/// True if a run is recorded with its end.
fn has_ended(reader: &StoreReader, run: &RunId) -> Result<bool, CommandError> {
    match reader.runs().get(run) {
        Ok(row) => Ok(row.state != RunState::Running),
        Err(StoreError::UnknownRun(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Follows a run, which survives an interrupt.
fn leave_on_interrupt(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    backend_run: RecordedBackendRun,
    observe: ObserverFactory<'_>,
) -> Result<(), CommandError> {
    let backend = BackendProgram { leaves: true, ..backend_run.backend };
    let session = open_session(caller, loaded, false, observe(loaded))?;
    let outcome = run_outcome(engine::run_on(&session, backend_run.request, &backend));
    prune(caller, &session, loaded);
    outcome
}

/// The outcome of a run is read from its record; a suspended one is no error.
fn run_outcome(finished: Result<FinishedRun, EngineError>) -> Result<(), CommandError> {
    match finished {
        Ok(_) | Err(EngineError::Parked { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

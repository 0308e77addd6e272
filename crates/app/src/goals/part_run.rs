//! The runs of a reconciliation, its check run and its repair: on this machine, or on the backend of the goal.

use super::cycle::ObserverFactory;
use crate::approve::{RunAuthorization, reauthorize};
use crate::backend::{RecordedBackendRun, backend_program, on_backend};
use crate::given::{approval_of_run, secrets_of_run};
use crate::lineage::retried_run;
use crate::load::{self, LoadedPlan};
use crate::outdated::warn_of_changed_results;
use crate::session::{open_run_session, prune};
use crate::{Caller, CommandError, Host};
use wf_base::name::{Name, RunId};
use wf_engine::{self as engine, EngineError, FinishedRun, RunRequest};
use wf_model::JsonObject;
use wf_store::{ReconciliationClaim, RunState, StoreReader};

/// The id of a run of a reconciliation: random, or where tests set the seed, by its purpose.
pub(super) fn run_id(host: &Host, purpose: &str) -> Result<RunId, CommandError> {
    Ok(RunId::from_bytes(host.random_id(purpose)?))
}

/// Returns the request for a run of a reconciliation.
pub(super) fn run_request(
    ready: &LoadedPlan,
    run: RunId,
    params: JsonObject,
    entered: RunAuthorization,
    claim: ReconciliationClaim,
) -> RunRequest {
    let config = ready.options.write_to(serde_json::Value::Null);
    RunRequest {
        run,
        plan: ready.plan.clone(),
        path: ready.path.clone(),
        sources: ready.sources.iter().cloned().chain([entered.token]).collect(),
        params,
        session: None,
        past: None,
        approved: Some(entered.approved),
        config: match backend_of_goal(ready) {
            Some(name) => on_backend(config, name),
            None => config,
        },
        claim: Some(claim),
    }
}

/// Returns the name of the backend where the runs of a goal go.
fn backend_of_goal(ready: &LoadedPlan) -> Option<&str> {
    ready.goal.as_ref()?.goal.backend.as_ref().map(Name::as_str)
}

/// Starts a run of a reconciliation and works on it to its end, here or on the backend of its goal.
pub(super) fn start(
    caller: &dyn Caller,
    ready: &LoadedPlan,
    request: RunRequest,
    observe: ObserverFactory<'_>,
) -> Result<(), CommandError> {
    let backend =
        backend_of_goal(ready).map(|name| backend_program(caller.host(), ready, name)).transpose()?;
    let session = open_run_session(caller, ready, false, observe(ready))?;
    let done = run_outcome(match &backend {
        Some(backend) => engine::run_on(&session, request, backend),
        None => engine::run(&session, request),
    });
    prune(caller, &session, ready);
    done
}

/// Resumes a run of a reconciliation, if it has not ended.
pub(super) fn resume(
    caller: &dyn Caller,
    run: &RunId,
    observe: ObserverFactory<'_>,
) -> Result<(), CommandError> {
    let reader = StoreReader::from_log(&caller.host().workspace().state)?;
    let row = reader.run(run)?;
    if row.state != RunState::Running {
        return Ok(());
    }
    let ready = load::load_recorded(caller, &reader, run)?;
    reauthorize(caller, &reader, run, &ready)?;
    let open = || open_run_session(caller, &ready, false, observe(&ready));
    if let Some(elsewhere) = RecordedBackendRun::read(caller.host(), &reader, run, &ready)? {
        drop(reader);
        let session = open()?;
        return run_outcome(engine::run_on(&session, elsewhere.request, &elsewhere.backend));
    }
    let past = retried_run(&reader, &row, &ready.plan)?;
    warn_of_changed_results(caller, &reader, run, &ready)?;
    let given = secrets_of_run(&reader, run, &ready.plan)?;
    let approved = approval_of_run(&reader, run)?;
    drop(reader);
    let session = open()?;
    engine::recover(&session, &ready.plan, approved.as_ref(), given)?;
    run_outcome(engine::resume(&session, run, ready.plan.clone(), past))
}

/// The outcome of a run is read from its record; a suspended one is no error.
fn run_outcome(finished: Result<FinishedRun, EngineError>) -> Result<(), CommandError> {
    match finished {
        Ok(_) | Err(EngineError::Parked { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

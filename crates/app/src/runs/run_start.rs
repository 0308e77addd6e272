//! The start of a run, whoever asks for it: it is authorized, its texts and parameters are recorded, and it is executed.

use super::{
    needs::{missing_programs, require_secrets},
    session::lost_use_race,
};
use crate::{
    Caller, CommandError,
    approve::{ApprovalDemand, authorize},
    revision::tracked_check_files,
    specs::load::LoadedPlan,
    watch::AuditedSession,
};
use serde_json::Value;
use wf_base::name::{RunId, SessionName};
use wf_engine::{self as engine, BackendProgram, EngineError, FinishedRun, RunRequest};
use wf_model::JsonObject;

/// A run ready to start.
pub struct RunStart {
    pub loaded: LoadedPlan,
    pub params: JsonObject,
    /// The session it belongs to.
    pub session: Option<SessionName>,
    /// Its recorded configuration.
    pub config: Value,
    /// The backend it goes on, if not this machine.
    pub backend: Option<BackendProgram>,
    /// Its id, if its requester chose that: a request that is repeated starts it once.
    pub requested_run: Option<RunId>,
}

/// A run, executed to its end, or until it waits.
pub struct ExecutedRun {
    /// The plan, which its report names.
    pub loaded: LoadedPlan,
    pub session: AuditedSession,
    /// Its end.
    pub finished: Result<FinishedRun, EngineError>,
}

impl RunStart {
    /// Starts the run and executes it in a session that `open` opens once it may start; `None` if another run took the
    /// next use of the approval: nothing was started, and counting again may find one.
    pub fn execute(
        self,
        caller: &dyn Caller,
        demand: &ApprovalDemand,
        open: impl FnOnce(&LoadedPlan) -> Result<AuditedSession, CommandError>,
    ) -> Result<Option<ExecutedRun>, CommandError> {
        let Self { loaded, params, session: belongs_to, config, backend, requested_run } = self;
        if backend.is_none() {
            require_secrets(caller.host(), &loaded.plan)?;
            for warning in missing_programs(caller.host(), &loaded.plan) {
                caller.info_line(&format!("warning: {warning}"));
            }
        }
        let run = requested_run.map_or_else(|| caller.host().new_run(), Ok)?;
        let entered = authorize(caller, &loaded, &run, &params, demand)?;
        let session = open(&loaded)?;
        let tracked = tracked_check_files(caller.host(), &loaded, &params);
        let request = RunRequest {
            run,
            plan: loaded.plan.clone(),
            path: loaded.path.clone(),
            sources: loaded.sources.iter().cloned().chain([entered.token]).collect(),
            params,
            session: belongs_to,
            repeated_run: None,
            approved: Some(entered.approved),
            config,
            claim: None,
            begun: None,
            tracked,
        };
        let finished = match &backend {
            Some(backend) => engine::run_on(&session, request, backend),
            None => engine::run(&session, request),
        };
        Ok(if lost_use_race(&finished) { None } else { Some(ExecutedRun { loaded, session, finished }) })
    }
}

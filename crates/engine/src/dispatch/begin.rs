use std::sync::Arc;

use tokio::sync::watch;

use wf_base::name::{RunId, SessionName};
use wf_core::machine::{Event, EventKind, Machine, RunApproval};
use wf_exec::view::KeptFiles;
use wf_exec::{StopLevel, spawn_task, supervisor};
use wf_model::Plan;
use wf_store::{FencingToken, NewRun, RunFence, RunLease, RunRow, StateFolder, StoreError, StoreReader};

use super::dispatcher::RunDispatcher;
use super::session_watch;
use crate::files::copies;
use crate::files::evidence::{self, EarlierBaseline, ViewedRun};
use crate::reuse::RepeatedRun;
use crate::run::RunContext;
use crate::run::context::{RunInputs, RunOwnership};
use crate::run::evidence_record::EvidenceRecord;
use crate::run::lineage::first_run;
use crate::session::end::recorded_end;
use crate::session::waiting::block_on;
use crate::session::{EngineError, EngineSession, FinishedRun, RunRequest, waiting};
use wf_core::observe::RunRef;

/// Begins a run and works on it to its end. The first interrupt of the program cancels the run,
/// the second kills what is left.
pub fn run(session: &Arc<EngineSession>, request: RunRequest) -> Result<FinishedRun, EngineError> {
    run_and_conclude(session, async {
        let supervisor_id = session.executor.supervisor_id().unwrap_or_default();
        let (token, owned) = session.store.own_new_run(&request.run, supervisor_id);
        let BegunRun { run: ongoing, machine, new } = BegunRun::of(session, token, request)?;
        let (stop, heard) = watch::channel(StopLevel::No);
        let dispatcher = RunDispatcher::new(Arc::clone(&ongoing), machine, Some(new), None);
        let works = Box::pin(waiting::heeding(stop, spawn_task(dispatcher.work(heard))));
        let suspended = session_watch::interruption(Arc::clone(&ongoing), ongoing.session_name.clone());
        let finished = run_fenced(owned, suspended, works).await?;
        copies::tidy(&ongoing);
        Ok(finished)
    })
}

/// Resumes an interrupted run. `plan` is made of the texts that the run was recorded with; `past`
/// is the run that it repeats, as it was when it began.
pub fn resume(
    session: &Arc<EngineSession>,
    run: &RunId,
    plan: Arc<Plan>,
    past: Option<RepeatedRun>,
) -> Result<FinishedRun, EngineError> {
    resume_run(session, run, plan, past, StopLevel::No)
}

/// Brings an interrupted run to its end: what is left of it is cancelled.
pub fn cancel(
    session: &Arc<EngineSession>,
    run: &RunId,
    plan: Arc<Plan>,
) -> Result<FinishedRun, EngineError> {
    resume_run(session, run, plan, None, StopLevel::Gently)
}

fn resume_run(
    session: &Arc<EngineSession>,
    run: &RunId,
    plan: Arc<Plan>,
    past: Option<RepeatedRun>,
    stop_level: StopLevel,
) -> Result<FinishedRun, EngineError> {
    run_and_conclude(session, async {
        let fence = session.store.own_run(run, session.executor.supervisor_id().unwrap_or_default()).await?;
        // To cancel a run needs no active session.
        let watched = session_of(session, run)?.filter(|_| stop_level == StopLevel::No);
        if let Some(name) = &watched {
            session.store.log_reader()?.session(name)?.require_active().map_err(StoreError::Session)?;
        }
        let ReplayedRun { run: ongoing, machine, events } =
            ReplayedRun::of(session, fence.token(), plan, past)?;
        copies::release_recorded(&ongoing, &events);
        let end = recorded_end(run, &events, &machine);
        let (stop, heard) = watch::channel(stop_level);
        let dispatcher = RunDispatcher::new(Arc::clone(&ongoing), machine, None, end).after_replay(&events);
        let works = Box::pin(waiting::heeding(stop, spawn_task(dispatcher.work(heard))));
        let suspended = session_watch::interruption(Arc::clone(&ongoing), watched);
        let finished = run_fenced(async { Ok(fence) }, suspended, works).await?;
        copies::tidy(&ongoing);
        session.store.release_run(run).await?;
        Ok(finished)
    })
}

/// A run of which nothing is recorded.
pub(crate) struct BegunRun {
    pub(crate) run: Arc<RunContext>,
    pub(crate) machine: Machine,
    /// The run, to be recorded with its first events.
    pub(crate) new: NewRun,
}

impl BegunRun {
    /// Prepares a run that is to begin.
    pub(crate) fn of(
        session: &Arc<EngineSession>,
        token: FencingToken,
        request: RunRequest,
    ) -> Result<Self, EngineError> {
        let RunRequest {
            run,
            plan,
            path,
            sources,
            params,
            session: name,
            past,
            approved,
            config,
            claim,
            begun,
            tracked,
        } = request;
        let key_scope = first_run(&config, &run);
        let new = NewRun {
            plan: plan.id().clone(),
            path,
            params: params.clone(),
            parent: None,
            retry_of: past.as_ref().and_then(|past| past.run().cloned()),
            session: name.clone(),
            sources,
            created: begun.unwrap_or_else(|| session.clock.now()),
            config,
            claim,
        };
        let machine = Machine::new(plan.clone(), run, params.clone());
        let past = session.without_changed(past)?;
        let kept = evidence::keep_files(session, &token.run, &plan, &params, tracked.unwrap_or_default());
        let earlier = EarlierBaseline::of(session, past.as_ref())?;
        let viewed = ViewedRun { run: &token.run, plan: &plan, params: &params };
        let view = evidence::view(session, viewed, approved.as_ref(), &kept, earlier.as_ref());
        let pins = evidence::pins(session, &plan, approved.as_ref());
        let errand = RunInputs {
            key_scope,
            plan,
            params,
            session_name: name,
            past,
            view,
            pins,
            approved: approved.map(Arc::new),
            evidence: EvidenceRecord::default(),
            around: None,
            learns: false,
        };
        Ok(Self { run: run_context(session, token, errand, None)?, machine, new })
    }
}

/// A run that is recorded, as far as it went.
pub(crate) struct ReplayedRun {
    pub(crate) run: Arc<RunContext>,
    pub(crate) machine: Machine,
    pub(crate) events: Vec<(u64, Event)>,
}

impl ReplayedRun {
    /// Reads a run that this process owns.
    pub(crate) fn of(
        session: &Arc<EngineSession>,
        token: FencingToken,
        plan: Arc<Plan>,
        past: Option<RepeatedRun>,
    ) -> Result<Self, EngineError> {
        let reader = session.store.log_reader()?;
        let RunRow { params, session: name, .. } = reader.run(&token.run)?;
        let key_scope = first_run(&reader.config(&token.run)?, &token.run);
        let events = reader.events(&token.run, 0)?;
        let owners = reader.owners(&token.run)?;
        let keepers = former_supervisors(&owners);
        let mut machine = Machine::new(plan.clone(), token.run.clone(), params.clone());
        let view = if events.is_empty() {
            let viewed = ViewedRun { run: &token.run, plan: &plan, params: &params };
            evidence::view(session, viewed, None, &KeptFiles::default(), None)
        } else {
            evidence::recorded_view(session, &token.run, &plan, &events).map(Arc::new)
        };
        let approved = approval(&events);
        let pins = evidence::pins(session, &plan, approved.as_deref());
        let errand = RunInputs {
            key_scope,
            plan,
            params,
            session_name: name,
            past,
            view,
            pins,
            approved,
            evidence: EvidenceRecord::of(events.iter().map(|(_, event)| event)),
            around: None,
            learns: false,
        };
        let run = run_context(session, token, errand, keepers)?;
        for (_, event) in &events {
            machine.replay(event)?;
        }
        Ok(Self { run, machine, events })
    }
}

/// Returns the session that a recorded run belongs to.
fn session_of(session: &EngineSession, run: &RunId) -> Result<Option<SessionName>, StoreError> {
    Ok(session.store.log_reader()?.run(run)?.session)
}

/// Works until the end, or until another process took the run over, or its steps are to be interrupted: then everything
/// in progress here is dropped, and killed.
async fn run_fenced<T>(
    owned: impl Future<Output = Result<RunFence, StoreError>>,
    interrupted: impl Future<Output = EngineError>,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    let lost = async {
        match owned.await {
            Ok(mut fence) => fence.lost().await,
            Err(refused) => refused,
        }
    };
    tokio::select! {
        biased;
        error = lost => Err(error.into()),
        finished = work => finished,
        error = interrupted => Err(error),
    }
}

fn run_context(
    session: &Arc<EngineSession>,
    token: FencingToken,
    errand: RunInputs,
    keepers: Option<Arc<[String]>>,
) -> Result<Arc<RunContext>, EngineError> {
    let this = RunRef { id: token.run.clone(), plan: errand.plan.id().clone(), path: Vec::new() };
    let tenure = RunOwnership { token, supervisors: keepers };
    Ok(RunContext::new(Arc::clone(session), this, errand, tenure)?)
}

/// Works, and reports the end to the supervisor, which then forgets recorded work and ends work
/// that can no longer be recorded.
fn run_and_conclude(
    session: &EngineSession,
    work: impl Future<Output = Result<FinishedRun, EngineError>>,
) -> Result<FinishedRun, EngineError> {
    let finished = block_on(async {
        let finished = work.await?;
        session.name_left_processes();
        sweep(session.store.folder()).await?;
        Ok(finished)
    });
    match &finished {
        Ok(_) => session.executor.confirm_recorded(),
        // The process that took the run over continues the work under way. A suspended run leaves
        // nothing under way but services.
        Err(
            EngineError::Store(StoreError::Fenced { .. })
            | EngineError::Parked { .. }
            | EngineError::SessionSuspended { is_interrupted: false, .. },
        ) => {}
        Err(_) => session.executor.kill(),
    }
    finished
}

/// Ends the leftovers of ended runs whose engines died: services that their steps started, and the
/// supervisors of these.
pub fn tidy(state: &StateFolder) -> Result<(), EngineError> {
    block_on(sweep(state))
}

async fn sweep(state: &StateFolder) -> Result<(), EngineError> {
    let dir = state.keepers();
    // Live engines end their supervisors themselves.
    let orphans = supervisor::orphans(&dir);
    if orphans.is_empty() {
        return Ok(());
    }
    let reader = StoreReader::open(state.path())?;
    for orphan in &orphans {
        if !reader.needs_keeper(orphan)? {
            supervisor::conclude(&dir, orphan).await;
        }
    }
    Ok(())
}

/// Returns the recorded approval of a run.
fn approval(events: &[(u64, Event)]) -> Option<Arc<RunApproval>> {
    let mut facts = events.iter().map(|(_, event)| &event.fact);
    facts.find_map(|fact| match fact {
        EventKind::RunApproved(approved) => Some(Arc::new((**approved).clone())),
        _ => None,
    })
}

/// Returns the supervisors of all lease owners but the last, which is this engine; `None` if the
/// machine was restarted in between.
fn former_supervisors(owners: &[RunLease]) -> Option<Arc<[String]>> {
    let (last, before) = owners.split_last()?;
    let same_boot = !last.boot.is_empty() && before.iter().all(|owner| owner.boot == last.boot);
    same_boot.then(|| before.iter().map(|owner| owner.supervisor.clone()).collect())
}

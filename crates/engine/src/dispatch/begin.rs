//! The work on an outermost run, from its beginning, its resumption or its cancellation to its end.

use std::sync::Arc;

use tokio::sync::watch;

use wf_base::name::{RunId, SessionName};
use wf_exec::{StopLevel, spawn_task, supervisor};
use wf_model::Plan;
use wf_store::{RunFence, StateFolder, StoreError, StoreReader};

use super::{
    dispatcher::RunDispatcher,
    opening::{BegunRun, ReplayedRun},
    session_watch,
};
use crate::{
    files::copies,
    reuse::RepeatedRun,
    session::{
        EngineError, EngineSession, FinishedRun, RunRequest,
        end::{name_left_processes, recorded_end},
        waiting::{self, block_on},
    },
};

/// Begins a run and works on it to its end. The first interrupt of the program cancels the run,
/// the second kills what is left.
pub fn run(session: &Arc<EngineSession>, request: RunRequest) -> Result<FinishedRun, EngineError> {
    run_and_conclude(session, async {
        let supervisor_id = session.executor.supervisor_id().unwrap_or_default();
        let (token, owned) = session.store.own_new_run(&request.run, supervisor_id);
        let BegunRun { run: ongoing, machine, new } = BegunRun::new(session, token, request)?;
        let (stop, heard) = watch::channel(StopLevel::No);
        let dispatcher = RunDispatcher::new(Arc::clone(&ongoing), machine, Some(new), None);
        let works = Box::pin(waiting::heeding(stop, spawn_task(dispatcher.work(heard))));
        let suspended = session_watch::interruption(Arc::clone(&ongoing), ongoing.session_name.clone());
        let finished = run_fenced(owned, suspended, works).await?;
        copies::tidy(&ongoing);
        Ok(finished)
    })
}

/// Resumes an interrupted run. `plan` is made of the texts the run was recorded with; `past` is the run it repeats, as
/// it was when it began.
pub fn resume(
    session: &Arc<EngineSession>,
    run: &RunId,
    plan: Arc<Plan>,
    repeated_run: Option<RepeatedRun>,
) -> Result<FinishedRun, EngineError> {
    resume_run(session, run, plan, repeated_run, StopLevel::No)
}

/// Brings an interrupted run to its end: its remains are cancelled.
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
    repeated_run: Option<RepeatedRun>,
    stop_level: StopLevel,
) -> Result<FinishedRun, EngineError> {
    run_and_conclude(session, async {
        let fence = session.store.own_run(run, session.executor.supervisor_id().unwrap_or_default()).await?;
        // To cancel a run needs no active session.
        let watched = session_of(session, run)?.filter(|_| stop_level == StopLevel::No);
        if let Some(name) = &watched {
            session
                .store
                .log_reader()?
                .sessions()
                .get(name)?
                .require_active()
                .map_err(StoreError::Session)?;
        }
        let ReplayedRun { run: ongoing, machine, events } =
            ReplayedRun::new(session, fence.token(), plan, repeated_run)?;
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

/// Returns the session a recorded run belongs to.
fn session_of(session: &EngineSession, run: &RunId) -> Result<Option<SessionName>, StoreError> {
    Ok(session.store.log_reader()?.runs().get(run)?.session)
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

/// Works, and reports the end to the supervisor, which then forgets recorded work and ends work
/// that can no longer be recorded.
fn run_and_conclude(
    session: &EngineSession,
    work: impl Future<Output = Result<FinishedRun, EngineError>>,
) -> Result<FinishedRun, EngineError> {
    let finished = block_on(async {
        let finished = work.await?;
        name_left_processes(session);
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

/// Ends the leftovers of ended runs whose engines died: services their steps started, and the supervisors of these.
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
        if !reader.leases().needs_keeper(orphan)? {
            supervisor::conclude(&dir, orphan).await;
        }
    }
    Ok(())
}

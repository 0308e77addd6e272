use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::exec::{Stop, alone, keeper};
use crate::machine::{Approved, Event, Fact, Machine};
use crate::model::Plan;
use crate::name::RunId;
use crate::repeat::Past;
use crate::store::{Fence, Folder, Lease, NewRun, Reader, StoreError, Token};

use super::dispatch::Dispatcher;
use super::end::recorded_end;
use super::run::{Errand, Ongoing, Tenure};
use super::{EngineError, Finished, Request, RunRef, Session, evidence, signals};

/// Begins a run and works on it to its end. The first interrupt of the program cancels the run,
/// the second kills what is left.
pub fn run(session: &Arc<Session>, request: Request) -> Result<Finished, EngineError> {
    let Request {
        run,
        plan,
        path,
        sources,
        params,
        past,
        approved,
        config,
        claim,
    } = request;
    let new = NewRun {
        plan: plan.id().clone(),
        path,
        params: params.clone(),
        parent: None,
        retry_of: past.as_ref().and_then(|past| past.run().cloned()),
        sources,
        created: session.clock.now(),
        config,
        claim,
    };
    concluded(session, async {
        let machine = Machine::new(plan.clone(), run.clone(), params.clone());
        let past = session.checked(past)?;
        let view = evidence::view(session, &plan, &params, approved.as_ref());
        let pins = evidence::pins(session, &plan, approved.as_ref());
        let errand = Errand {
            plan,
            params,
            past,
            view,
            pins,
            approved: approved.map(Arc::new),
            evidence: BTreeMap::new(),
        };
        let keeper = session.hands.keeper().unwrap_or_default();
        let (token, owned) = session.store.own_new_run(&run, keeper);
        let ongoing = ongoing(session, token, errand, None)?;
        let (stop, heard) = watch::channel(Stop::No);
        let dispatcher = Dispatcher::new(ongoing, machine, Some(new), None);
        let works = Box::pin(signals::heeding(stop, alone(dispatcher.work(heard))));
        fenced(owned, works).await
    })
}

/// Goes on with a run that was interrupted. `plan` is made of the texts that the run was
/// recorded with; `past` is the run that it repeats, as it was when it began.
pub fn resume(
    session: &Arc<Session>,
    run: &RunId,
    plan: Arc<Plan>,
    past: Option<Past>,
) -> Result<Finished, EngineError> {
    go_on(session, run, plan, past, Stop::No)
}

/// Brings a run that was interrupted to its end: what is left of it is cancelled.
pub fn cancel(
    session: &Arc<Session>,
    run: &RunId,
    plan: Arc<Plan>,
) -> Result<Finished, EngineError> {
    go_on(session, run, plan, None, Stop::Gently)
}

fn go_on(
    session: &Arc<Session>,
    run: &RunId,
    plan: Arc<Plan>,
    past: Option<Past>,
    told: Stop,
) -> Result<Finished, EngineError> {
    concluded(session, async {
        let fence = session
            .store
            .own_run(run, session.hands.keeper().unwrap_or_default())
            .await?;
        let token = fence.token();
        let reader = session.store.log_reader()?;
        let params = reader.run(run)?.params;
        let events = reader.events(run, 0)?;
        let owners = reader.owners(run)?;
        let keepers = former(&owners);
        let mut machine = Machine::new(plan.clone(), run.clone(), params.clone());
        let view = if events.is_empty() {
            evidence::view(session, &plan, &params, None)
        } else {
            evidence::recorded_view(session, run, &plan, &events).map(Arc::new)
        };
        let approved = approval(&events);
        let pins = evidence::pins(session, &plan, approved.as_deref());
        let errand = Errand {
            plan,
            params,
            past,
            view,
            pins,
            approved,
            evidence: evidence::recorded(events.iter().map(|(_, event)| event)),
        };
        let ongoing = ongoing(session, token, errand, keepers)?;
        for (_, event) in &events {
            machine.replay(event)?;
        }
        let end = recorded_end(run, &events);
        let (stop, heard) = watch::channel(told);
        let dispatcher = Dispatcher::new(ongoing, machine, None, end).behind(&events);
        let works = Box::pin(signals::heeding(stop, alone(dispatcher.work(heard))));
        let finished = fenced(async { Ok(fence) }, works).await?;
        session.store.release_run(run).await?;
        Ok(finished)
    })
}

/// Works until the end, or until another process took the run over: then everything that is
/// done here is dropped, and killed.
async fn fenced<T>(
    owned: impl Future<Output = Result<Fence, StoreError>>,
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
    }
}

fn ongoing(
    session: &Arc<Session>,
    token: Token,
    errand: Errand,
    keepers: Option<Arc<[String]>>,
) -> Result<Arc<Ongoing>, EngineError> {
    let this = RunRef {
        id: token.run.clone(),
        plan: errand.plan.id().clone(),
        path: Vec::new(),
    };
    let tenure = Tenure { token, keepers };
    Ok(Ongoing::new(Arc::clone(session), this, errand, tenure)?)
}

/// Works, and tells the keeper how that ended: what is recorded need not be remembered, and what
/// nobody can record any more is not worked on in vain.
fn concluded(
    session: &Session,
    work: impl Future<Output = Result<Finished, EngineError>>,
) -> Result<Finished, EngineError> {
    let finished = block_on(async {
        let finished = work.await?;
        sweep(session.store.folder()).await?;
        Ok(finished)
    });
    match &finished {
        Ok(_) => session.hands.settle(),
        // Whoever took the run over goes on with what is under way. What waits for people leaves
        // nothing under way but services.
        Err(EngineError::Store(StoreError::Fenced { .. }) | EngineError::Parked { .. }) => {}
        Err(_) => session.hands.kill(),
    }
    finished
}

/// Ends what runs that have ended left behind because their engines died: services that their
/// steps started, and those who keep them.
pub fn tidy(state: &Folder) -> Result<(), EngineError> {
    block_on(sweep(state))
}

async fn sweep(state: &Folder) -> Result<(), EngineError> {
    let dir = state.keepers();
    // Engines that live end their keepers themselves.
    let orphans = keeper::orphans(&dir);
    if orphans.is_empty() {
        return Ok(());
    }
    let reader = Reader::open(state.path())?;
    for orphan in &orphans {
        if !reader.needs_keeper(orphan)? {
            keeper::conclude(&dir, orphan).await;
        }
    }
    Ok(())
}

/// Who approved a run, as recorded.
fn approval(events: &[(u64, Event)]) -> Option<Arc<Approved>> {
    let mut facts = events.iter().map(|(_, event)| &event.fact);
    facts.find_map(|fact| match fact {
        Fact::RunApproved(approved) => Some(Arc::new((**approved).clone())),
        _ => None,
    })
}

/// The keepers of all owners but the last, who is this engine; `None` if the machine was
/// restarted in between.
fn former(owners: &[Lease]) -> Option<Arc<[String]>> {
    let (last, before) = owners.split_last()?;
    let same_boot = !last.boot.is_empty() && before.iter().all(|owner| owner.boot == last.boot);
    same_boot.then(|| before.iter().map(|owner| owner.keeper.clone()).collect())
}

/// One thread waits for everything: a chain of steps then pays for no hand-over.
pub(super) fn block_on<T>(
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| EngineError::System {
        doing: "wait for processes",
        cause: error.to_string(),
    })?;
    runtime.block_on(work)
}

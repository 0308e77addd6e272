//! Laws of what the world does: processes, room, locks.

use wf_core::machine::{Effect, EventKind, InFlight, LockKey, StepState, TaskId};
use wf_model::{AgentWorkspace, Step, StepWork};

use super::{
    super::{
        engine::Job,
        ledger::step_of,
        locks::HeldLock,
        look::{Look, Seen},
        process::Life,
        units::is_process,
    },
    ensure,
};

pub fn one_process(look: &Look<'_>) -> Result<(), String> {
    let Seen::Begins { task_id, process: true } = look.seen else {
        return Ok(());
    };
    let lives = look.world.lives(look.at, task_id);
    ensure(!lives, || format!("{task_id} has two processes"))
}

pub fn room(look: &Look<'_>) -> Result<(), String> {
    let most = look.plan().parts().policy.max_parallel as usize;
    match look.seen {
        Seen::Turn(_) => {
            let busy = look.decided().busy(look.plan());
            ensure(busy <= most, || format!("{busy} run at once, at most {most} may"))?;
            if look.world.thorough { counted(look, most) } else { Ok(()) }
        }
        Seen::Begins { process: true, .. } => {
            let alive = look.run().processes.iter().filter(|(attempt, process)| {
                let work = &step_of(look.plan(), &attempt.task_id).work;
                process.state == Life::Alive && is_process(work)
            });
            let alive = alive.count();
            ensure(alive < most, || format!("{alive} processes live, and one more begins"))
        }
        Seen::Over => counted(look, 0),
        _ => Ok(()),
    }
}

/// The room that the machine believes to be taken is there.
fn counted(look: &Look<'_>, most: usize) -> Result<(), String> {
    let Some(engine) = look.engine() else {
        return Ok(());
    };
    let state = serde_json::to_string(engine.machine.state()).expect("it can be written down");
    let flight = serde_json::to_value(engine.machine.in_flight()).expect("it can be written down");
    let works = state.matches(r#""room":true"#).count();
    let busy = flight["busy"].as_u64().and_then(|prepares| usize::try_from(prepares).ok());
    let busy = busy.map(|prepares| prepares + works);
    ensure(busy.is_some_and(|busy| busy <= most), || format!("{busy:?} of {most} is taken"))
}

pub fn under_lock(look: &Look<'_>) -> Result<(), String> {
    match look.seen {
        Seen::Begins { task_id, .. } => holds_its_lock(look, task_id),
        Seen::Event(event) => match &event.fact {
            EventKind::AttemptStarted(attempt) => holds_its_lock(look, &attempt.task_id),
            EventKind::CacheHit { task_id, .. } => holds_its_lock(look, task_id),
            _ => Ok(()),
        },
        Seen::Unlocks { task_id } => {
            let works = look.engine().is_some_and(|engine| {
                engine.units.iter().any(|unit| match &unit.job {
                    Job::Tool { id } => id.attempt.task_id == *task_id && unit.begun && !unit.stop,
                    Job::Child { id } => id.attempt.task_id == *task_id && unit.begun && !unit.stop,
                    Job::Work { attempt, .. }
                    | Job::Check { attempt: Some(attempt), .. }
                    | Job::Brief { attempt }
                    | Job::Model { attempt, .. }
                    | Job::Collect { attempt, .. } => attempt.task_id == *task_id && unit.begun && !unit.stop,
                    _ => false,
                })
            });
            ensure(!works, || format!("{task_id} works, and its lock is given back"))
        }
        _ => Ok(()),
    }
}

/// The files that a step keeps other runs from: not those of a step that runs plans, and no patterns.
fn files_of(step: &Step) -> impl Iterator<Item = String> {
    let changes = match &step.work {
        StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) | StepWork::Http(_) => true,
        StepWork::Agent(agent) => agent.dispatch.is_none() && agent.workspace == AgentWorkspace::Shared,
        _ => false,
    };
    let paths = step.writes.iter().map(|path| path.source().to_owned());
    paths.filter(move |path| changes && !path.contains('*'))
}

fn holds_its_lock(look: &Look<'_>, task_id: &TaskId) -> Result<(), String> {
    let step = step_of(look.plan(), task_id);
    let name = step.concurrency.iter().map(|lock| LockKey::Name(lock.name.clone()));
    let life = look.run().lives;
    for key in name.chain(files_of(step).map(LockKey::File)) {
        let mine = |held: &&HeldLock| (held.run, &held.task_id, held.life) == (look.at, task_id, life);
        let holds = look.world.locks.iter().filter(mine).any(|held| held.key == key);
        let other = look.world.locks.iter().find(|held| !mine(held) && held.excludes(&key, look.at));
        ensure(holds && other.is_none(), || {
            format!("{task_id} works without {key:?}, which {other:?} holds")
        })?;
    }
    Ok(())
}

pub fn lock_order(look: &Look<'_>) -> Result<(), String> {
    let (Seen::Act(Effect::Lock { task_id, .. }), Some(engine)) = (look.seen, look.engine()) else {
        return Ok(());
    };
    let known = look.durable();
    // One that waits for guidance, of a planner or of people, keeps its lock.
    let has_room = |task_id: &TaskId| {
        let book = known.book(task_id);
        book.live.is_some() || book.consults.is_some() || book.stuck.is_some()
    };
    let first = engine
        .units
        .iter()
        .find(|unit| matches!(&unit.job, Job::Lock { task_id: waits, .. } if has_room(waits)));
    ensure(first.is_none() || has_room(task_id), || format!("{task_id} takes a lock while {first:?} waits"))
}

pub fn freed(look: &Look<'_>) -> Result<(), String> {
    if !matches!(look.seen, Seen::Over) {
        return Ok(());
    }
    let held = look.world.locks.iter().find(|held| held.run == look.at && held.life == look.run().lives);
    ensure(held.is_none(), || format!("it is over and holds {held:?}"))?;
    let flight = look.engine().map(|engine| engine.machine.in_flight().clone()).unwrap_or_default();
    ensure(flight == InFlight::default(), || format!("it is over, and in flight is {flight:?}"))?;
    let mut processes = look.run().processes.iter();
    let left = processes.find(|(_, process)| process.state == Life::Alive);
    ensure(left.is_none(), || format!("it is over, and a process lives: {left:?}"))
}

pub fn remembered(look: &Look<'_>) -> Result<(), String> {
    let Seen::Act(Effect::Remember { task_id, outputs, .. }) = look.seen else {
        return Ok(());
    };
    let book = look.durable().book(task_id);
    let end = book.ended.as_ref();
    let good = end.is_some_and(|end| end.state == StepState::Succeeded);
    // Its step may begin anew in the same turn.
    let mut rounds = look.durable().rounds.iter();
    let own = rounds.any(|round| round.reopened.contains(&task_id.step));
    ensure(own || good && !book.cached && !book.kept, || format!("{task_id} gives {outputs:?} as {book:?}"))
}

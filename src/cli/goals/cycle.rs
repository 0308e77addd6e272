use std::sync::Arc;

use super::ended::{looked, own_checks, repaired};
use super::given::params;
use super::hold::Hold;
use super::news::{Follows, follows};
use super::told::Told;
use crate::cli::approve::{Entered, enter_goal, go_on, programs_accepted};
use crate::cli::execute::{Telling, prune, session, store};
use crate::cli::given::{approval, secrets_given};
use crate::cli::lineage::past;
use crate::cli::load::{self, Ready};
use crate::cli::outdated::warn_of_outdated;
use crate::cli::{Exit, Failure, Ui};
use crate::engine::{self, EngineError, Finished, Request};
use crate::goal::{Cause, Health, Next, Part, Repaired, Verdict, concluded};
use crate::model::{Goal, GoalApproval, Object};
use crate::name::{PlanId, RunId};
use crate::store::{Claim, CycleEnd, CycleRow, Durability, Reader, RunState, Store, StoreError};
use crate::time::Moment;

/// How many ended cycles are looked at to tell what is news.
const BEFORE: usize = 1000;

/// A cycle that is to begin.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// The slot, which must be due; `None`: somebody asks for it now.
    pub slot: Option<Moment>,
    /// What it is begun for.
    pub cause: Cause,
    /// The token of the daemon that decided about the slot.
    pub token: Option<u64>,
}

/// How a cycle ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The goal.
    pub goal: PlanId,
    /// How.
    pub verdict: Verdict,
}

/// Begins a cycle of a goal and works on it to its end. `ready` is the goal as a look at it.
pub fn begin(
    ui: &Ui,
    (ready, goal): (&Ready, &Arc<Goal>),
    begin: Begin,
    telling: &Telling,
) -> Result<Ended, Failure> {
    let slot = begin
        .slot
        .map_or_else(|| ui.env.now().to_string(), |slot| slot.to_string());
    let run = run_id(ui, &format!("look of {} at {slot}", goal.id))?;
    let state = &ready.workspace.state;
    let given = params(&ready.plan, goal, begin.slot, &[])?;
    let entered = enter_goal(ui, ready, Part::Look, (&run, &given))?;
    let hold = Hold::wait(state, &lock_name(&run))?;
    let claim = Claim::Look {
        goal: goal.id.clone(),
        slot: begin.slot,
        cause: begin.cause,
        token: begin.token,
    };
    let mut told = Told::listen()?;
    let begun = start(ui, ready, (run.clone(), given, entered, claim), telling);
    match begun {
        Ok(()) => conclude(ui, &run, (telling, &mut told), hold),
        Err(failure) => {
            // What was not recorded was not begun, and leaves nothing.
            let reader = Reader::open(state);
            let known = reader.and_then(|reader| reader.cycle(&run));
            if matches!(known, Ok(None) | Err(StoreError::NoState(_))) {
                hold.remove();
            }
            Err(failure)
        }
    }
}

/// Goes on with a cycle whose process died. Waits for a process that works on it.
pub fn adopt(ui: &Ui, run: &RunId, telling: &Telling) -> Result<Ended, Failure> {
    let state = ui.workspace().state;
    let hold = Hold::wait(&state, &lock_name(run))?;
    let cycle = cycle(&Reader::open(&state)?, run)?;
    // What waited for people may have been answered since.
    if let Some((_, health, why)) = cycle.ended.clone()
        && health != Health::Waiting
    {
        hold.remove();
        return Ok(Ended {
            goal: cycle.goal,
            verdict: Verdict { health, why },
        });
    }
    let mut told = Told::listen()?;
    let runs = [Some(run), cycle.repair.as_ref()];
    for run in runs.into_iter().flatten() {
        match resume(ui, run, telling) {
            Ok(()) => {}
            Err(failure) if is_refused(&failure) => {
                let short = run.short();
                let why = reason(&failure);
                return stuck(
                    ui,
                    &cycle,
                    format!("run {short} may not go on: {why}"),
                    hold,
                );
            }
            Err(failure) => return Err(failure),
        }
    }
    conclude(ui, run, (telling, &mut told), hold)
}

/// Whether trying again leads to the same, until people change something.
fn is_refused(failure: &Failure) -> bool {
    matches!(failure.exit, Exit::Approval | Exit::Usage | Exit::Invalid)
}

/// Why something failed, in its own words; what was said before has none left.
fn reason(failure: &Failure) -> &str {
    match failure.message.as_str() {
        "" => "its files, or those of the workspace, are wrong",
        message => message,
    }
}

/// A cycle that cannot go on as things are waits for people, and is in the way of no other.
fn stuck(ui: &Ui, cycle: &CycleRow, why: String, hold: Hold) -> Result<Ended, Failure> {
    let state = ui.workspace().state;
    let reader = Reader::open(&state)?;
    let health = Health::Waiting;
    let verdict = Verdict { health, why };
    let ready = load::snapshot_as(ui, &reader, &cycle.run, Some(Part::Repair));
    let goal = ready
        .ok()
        .and_then(|ready| Some((Arc::clone(&ready.goal.as_ref()?.goal), ready)));
    if let Some((goal, ready)) = goal {
        return close(ui, &ready, (&goal, &cycle.run), verdict, hold);
    }
    // Nobody can be told without the text that says whom.
    let store = Store::open(&state, Durability::Full, ui.env.clock())?;
    let end = CycleEnd {
        run: cycle.run.clone(),
        verdict: verdict.clone(),
        at: ui.env.now(),
        pause: None,
        notices: Vec::new(),
    };
    store.end_cycle(end).wait()?;
    hold.remove();
    let goal = cycle.goal.clone();
    Ok(Ended { goal, verdict })
}

/// Where the lock of a cycle lies.
fn lock_name(run: &RunId) -> String {
    format!("{run}.lock")
}

fn cycle(reader: &Reader, run: &RunId) -> Result<CycleRow, Failure> {
    reader.cycle(run)?.ok_or_else(|| {
        let message = format!("run {} is no look at a goal", run.short());
        Failure::new(Exit::Usage, message)
    })
}

/// The id of a run of a cycle: by chance, or where tests decide it, by what it is for.
fn run_id(ui: &Ui, purpose: &str) -> Result<RunId, Failure> {
    let mut bytes = [0; 16];
    let drawn = ui.env.random(purpose)?;
    bytes.copy_from_slice(drawn.split_at(16).0);
    Ok(RunId::from_bytes(bytes))
}

fn start(
    ui: &Ui,
    ready: &Ready,
    (run, params, entered, claim): (RunId, Object, Entered, Claim),
    telling: &Telling,
) -> Result<(), Failure> {
    let session = session(ui, ready, telling)?;
    let sources = ready.sources.iter().cloned().chain([entered.token]);
    let finished = engine::run(
        &session,
        Request {
            run,
            plan: ready.plan.clone(),
            path: ready.path.clone(),
            sources: sources.collect(),
            params,
            past: None,
            approved: Some(entered.approved),
            config: ready.begun.record(serde_json::Value::Null),
            claim: Some(claim),
        },
    );
    let done = ended(finished);
    prune(ui, &session, ready);
    done
}

/// Goes on with a run of a cycle, if it has not ended.
fn resume(ui: &Ui, run: &RunId, telling: &Telling) -> Result<(), Failure> {
    let reader = Reader::from_log(&ui.workspace().state)?;
    let row = reader.run(run)?;
    if row.state != RunState::Running {
        return Ok(());
    }
    let ready = load::snapshot(ui, &reader, run)?;
    let past = past(&reader, &row, &ready.plan)?;
    go_on(ui, &reader, run, &ready)?;
    warn_of_outdated(ui, &reader, run, &ready)?;
    let given = secrets_given(&reader, run, &ready.plan)?;
    let approved = approval(&reader, run)?;
    drop(reader);
    let session = session(ui, &ready, telling)?;
    engine::recover(&session, (&ready.plan, approved.as_ref()), given)?;
    ended(engine::resume(&session, run, ready.plan.clone(), past))
}

/// How a run ended is read from its record; that it waits for people is one way.
fn ended(finished: Result<Finished, EngineError>) -> Result<(), Failure> {
    match finished {
        Ok(_) | Err(EngineError::Parked { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Brings a cycle to its end, from what is recorded of it.
fn conclude(
    ui: &Ui,
    run: &RunId,
    (telling, told): (&Telling, &mut Told),
    hold: Hold,
) -> Result<Ended, Failure> {
    let reader = Reader::from_log(&ui.workspace().state)?;
    let ready = load::snapshot_as(ui, &reader, run, Some(Part::Repair))?;
    let Some(goal) = ready.goal.as_ref().map(|of| Arc::clone(&of.goal)) else {
        return Err(Failure::new(
            Exit::State,
            "the look was recorded without its goal",
        ));
    };
    let verdict = match looked(&reader, run)? {
        None => Verdict {
            health: Health::Waiting,
            why: format!("the look waits for an answer: wf approve {}", run.short()),
        },
        Some(found) => match concluded(goal.on_failure, &found, None) {
            Next::End(verdict) => verdict,
            Next::Repair => {
                // Whoever ended the look before its last check means the repair, too.
                let repaired = if told.was_told() {
                    Repaired::Cancelled
                } else {
                    repair(ui, &ready, (run, &reader), telling)?
                };
                match concluded(goal.on_failure, &found, Some(&repaired)) {
                    Next::End(verdict) => verdict,
                    Next::Repair => return Err(Failure::new(Exit::Bug, "a repair of a repair")),
                }
            }
        },
    };
    close(ui, &ready, (&goal, run), verdict, hold)
}

/// Repairs, unless that was done or waits already; says how it went.
fn repair(
    ui: &Ui,
    ready: &Ready,
    (look, reader): (&RunId, &Reader),
    telling: &Telling,
) -> Result<Repaired, Failure> {
    let cycle = cycle(reader, look)?;
    if let Some(run) = &cycle.repair {
        return repaired(reader, run);
    }
    if let Some(waits) = another(reader, &cycle.goal)? {
        return Ok(waits);
    }
    let Some(of) = &ready.goal else {
        return Err(Failure::new(Exit::Bug, "this is no goal"));
    };
    let checks = own_checks(reader, look)?;
    let given = params(&ready.plan, &of.goal, cycle.slot, &checks)?;
    // What a person runs by hand they accept by that; a standing approval binds all files anyway.
    if cycle.slot.is_some()
        && of.goal.approval == GoalApproval::None
        && let Err(refusal) = programs_accepted(ui, ready)?
    {
        let why = format!("{refusal}; wf goal accept {}", cycle.goal);
        return Ok(Repaired::Waits(why));
    }
    let run = run_id(ui, &format!("repair of {look}"))?;
    let entered = match enter_goal(ui, ready, Part::Repair, (&run, &given)) {
        Ok(entered) => entered,
        Err(failure) if failure.exit == Exit::Approval => {
            let path = &ready.path;
            let why = format!("{}; wf approve {path}", failure.message);
            return Ok(Repaired::Waits(why));
        }
        // What people must put right does not become right by trying again and again.
        Err(failure) if is_refused(&failure) => {
            let why = reason(&failure);
            return Ok(Repaired::Failed(format!("it could not begin: {why}")));
        }
        Err(failure) => return Err(failure),
    };
    let claim = Claim::Repair {
        cycle: look.clone(),
    };
    if let Err(failure) = start(ui, ready, (run.clone(), given, entered, claim), telling) {
        // Another cycle of the goal was faster.
        return another(reader, &cycle.goal)?.ok_or(failure);
    }
    repaired(reader, &run)
}

/// What a repair waits for while another one of the goal has not ended: two at once would undo
/// each other.
fn another(reader: &Reader, goal: &PlanId) -> Result<Option<Repaired>, Failure> {
    let before = reader.cycles(goal, BEFORE)?;
    for old in before.iter().filter_map(|cycle| cycle.repair.as_ref()) {
        if let Ok(row) = reader.run(old)
            && row.state == RunState::Running
        {
            return if reader.owner(old)?.is_some_and(|owner| owner.alive) {
                let why = format!("another goes on: {}", old.short());
                Ok(Some(Repaired::Waits(why)))
            } else {
                repaired(reader, old).map(Some)
            };
        }
    }
    Ok(None)
}

/// Records the end of a cycle with all that follows from it.
fn close(
    ui: &Ui,
    ready: &Ready,
    (goal, run): (&Goal, &RunId),
    verdict: Verdict,
    hold: Hold,
) -> Result<Ended, Failure> {
    let state = &ready.workspace.state;
    let reader = Reader::open(state)?;
    let mut before = reader.cycles(&goal.id, BEFORE)?;
    before.retain(|cycle| cycle.run != *run && cycle.ended.is_some());
    let at = ui.env.now();
    let cycle = cycle(&reader, run)?;
    let waits = |(_, health, why): &(Moment, Health, String)| {
        *health == Health::Waiting && verdict.health == Health::Waiting && *why == verdict.why
    };
    // That it waits still is no news.
    let follows = if cycle.ended.as_ref().is_some_and(waits) {
        Follows::default()
    } else {
        let resumed = reader.resumed(&goal.id)?;
        follows(goal, (&before, resumed), (&cycle, &verdict, at))
    };
    let store = store(ui, ready)?;
    let end = CycleEnd {
        run: run.clone(),
        verdict: verdict.clone(),
        at,
        pause: follows.pause,
        notices: follows.notices,
    };
    store.end_cycle(end).wait()?;
    hold.remove();
    Ok(Ended {
        goal: goal.id.clone(),
        verdict,
    })
}

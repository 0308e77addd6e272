//! Laws of the record: events, turns, inputs.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wf_base::time::Moment;
use wf_core::machine::{
    AgentEnding, Attempt, ClientTurn, Effect, EventKind, GateQuestion, Machine, MachineState, ModelCall,
    RunPhase, TaskId, TimerKind, ToolOrder,
};

use super::{
    super::{
        agents,
        engine::{Engine, Job},
        ledger::{Ledger, step_of},
        look::{Look, Seen},
    },
    ensure,
};

pub fn fold(look: &Look<'_>) -> Result<(), String> {
    let (Some(engine), Seen::Turn(_) | Seen::Over) = (look.engine(), look.seen) else {
        return Ok(());
    };
    let (found, told) = (engine.machine.state(), engine.shadow.state());
    ensure(found == told, || format!("the state is {found:?}, and its events say {told:?}"))?;
    if !is_thorough(look) {
        return Ok(());
    }
    let text = serde_json::to_string(found).map_err(|error| error.to_string())?;
    let back = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    ensure(restored(look, back)?.state() == found, || format!("it cannot be written down: {text}"))
}

/// True if what takes long is looked at, too.
fn is_thorough(look: &Look<'_>) -> bool {
    look.world.thorough || matches!(look.seen, Seen::Over)
}

fn restored(look: &Look<'_>, state: MachineState) -> Result<Machine, String> {
    Machine::from_state(look.run().plan.clone(), state).map_err(|error| error.to_string())
}

pub fn indexes(look: &Look<'_>) -> Result<(), String> {
    let (Some(engine), Seen::Turn(_) | Seen::Over) = (look.engine(), look.seen) else {
        return Ok(());
    };
    // What is restored has its indexes from a scan.
    let found = engine.machine.state();
    let scan = restored(look, found.clone())?;
    ensure(found == scan.state(), || format!("the state is {found:?}, and a scan says {:?}", scan.state()))?;
    if !is_thorough(look) {
        return Ok(());
    }
    let flight = serde_json::to_value(engine.machine.in_flight()).expect("it can be written down");
    let with = |wanted: &dyn Fn(&Value) -> bool| -> Vec<&Value> {
        let requests = list(&flight["requests"]).iter();
        requests.filter(|pair| wanted(&pair[1])).map(|pair| &pair[0]).collect()
    };
    let turn = |room: bool| with(&move |request| request["Turn"]["room"] == room);
    let has_room = |request: &Value| request["Gates"]["room"] == true || request["Lock"]["room"] == true;
    let busy = with(&|request| *request == "Lookup" || has_room(request)).len();
    let returning = with(&|request| request.get("Return").is_some()).len();
    let scan = json!({ "queue": turn(true), "roomless": turn(false), "busy": busy, "returning": returning });
    let same = ["queue", "roomless", "busy", "returning"].iter().all(|field| flight[field] == scan[field]);
    ensure(same, || format!("in flight is {flight}, and the requests say {scan}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// True if nothing of a run goes on any more.
fn is_halted(known: &Ledger) -> bool {
    known.ending() || known.stopping
}

pub fn durable_first(look: &Look<'_>) -> Result<(), String> {
    let Seen::Act(effect) = look.seen else {
        return Ok(());
    };
    let known = look.durable();
    // What a round lets begin anew had ended before.
    let reopened = |task_id: &TaskId| {
        let last = known.rounds.last();
        last.is_some_and(|round| round.reopened.contains(&task_id.step))
    };
    let over = |task_id: &TaskId| known.is_over(task_id) || reopened(task_id);
    let is_live = |attempt: &Attempt| known.book(&attempt.task_id).live == Some(attempt.attempt);
    let told = match effect {
        Effect::Start { attempt, .. } | Effect::Watch { attempt, .. } => {
            let book = known.book(&attempt.task_id);
            book.attempts >= attempt.attempt || over(&attempt.task_id)
        }
        Effect::Check { attempt: Some(attempt), .. } => {
            let book = known.book(&attempt.task_id);
            book.checking && book.live == Some(attempt.attempt) || over(&attempt.task_id)
        }
        Effect::Check { attempt: None, .. } => known.phase >= RunPhase::Verify,
        // Files are free most of the time: no event says that they are asked for, and nothing follows from that.
        Effect::Lock { locks, .. } if locks.lock.is_none() => true,
        Effect::Lock { task_id, .. } => {
            let book = known.book(task_id);
            // One that waits for guidance, of a planner or of people, keeps its lock.
            let guided = book.consults.is_some() || book.stuck.is_some();
            book.awaits || book.live.is_some() || guided || over(task_id)
        }
        // One that was to have its locks again asks for them anew when its next attempt is due.
        Effect::Unlock { task_id } => over(task_id) || is_halted(known) || known.book(task_id).due.is_some(),
        Effect::Remember { task_id, .. } => over(task_id),
        // It may have ended by itself, and its round with it.
        Effect::Kill { attempt, .. } => {
            let late = attempt.as_ref().is_some_and(|attempt| is_late(look, &attempt.task_id));
            let parent = attempt.as_ref().is_some_and(|attempt| {
                let agent = known.agents.at(&attempt.task_id);
                agent.children.iter().any(|child| child.begun)
            });
            is_halted(known) || !known.rounds.is_empty() || late || parent
        }
        // More is asked of them elsewhere.
        Effect::CallModel(ModelCall { attempt, .. })
        | Effect::ServeClient(ClientTurn { attempt, .. })
        | Effect::EndAgent(AgentEnding { attempt, .. }) => is_live(attempt),
        Effect::Compact { request } => is_live(&request.start.attempt),
        Effect::CallTool(ToolOrder { id, .. }) => is_live(&id.attempt),
        Effect::StartChild { id, .. } => is_live(&id.attempt),
        // More is asked of them elsewhere.
        Effect::PrepareMerge { attempt } => known.merges.is_open(attempt),
        Effect::Merge(start) => known.merges.is_open(&start.attempt),
        Effect::Finish { .. } => known.over.is_some(),
        Effect::Confirm { .. } => known.phase >= RunPhase::Confirm,
        Effect::Gate(GateQuestion { task_id, point, .. }) => known.may_ask(task_id.as_ref(), *point),
        Effect::Plan { request } => {
            let number = request.round.round;
            known.planning.is_some_and(|(round, _)| round == number)
        }
        Effect::Guide { request } => {
            known.book(&request.attempt.task_id).consults == Some(request.attempt.attempt)
        }
        Effect::Ask(ask) => ask.request <= known.asked,
        Effect::Dismiss { number } => !known.asks.contains_key(number),
        Effect::Lookup { .. } | Effect::Wake { .. } => known.begun,
    };
    ensure(told, || format!("{effect:?} is done, and the log does not say why"))
}

/// Whether the time of an agent is over.
fn is_late(look: &Look<'_>, task_id: &TaskId) -> bool {
    let since = look.durable().book(task_id).since;
    let limit = step_of(look.plan(), task_id).timeout;
    let clock = look.engine().map_or(i64::MIN, |engine| engine.clock);
    since.zip(limit).is_some_and(|(since, limit)| since.after(limit).millis() <= clock)
}

pub fn time(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let last = look.decided().last;
    ensure(last.is_none_or(|last| last <= event.at), || format!("{event:?} is earlier than {last:?}"))
}

pub fn idle(look: &Look<'_>) -> Result<(), String> {
    let Seen::Idle { what, changed } = look.seen else {
        return Ok(());
    };
    ensure(!changed, || format!("{what:?} answers nothing and changed something"))
}

fn is_round(fact: &EventKind) -> bool {
    matches!(fact, EventKind::RoundCompleted(_))
}

pub fn frugal(look: &Look<'_>) -> Result<(), String> {
    let Seen::Turn(turn) = look.seen else {
        return Ok(());
    };
    let mut told: BTreeMap<(Option<&TaskId>, &str), u32> = BTreeMap::new();
    for event in &turn.events {
        let (place, kind) = match &event.fact {
            EventKind::LockRequested { task_id, .. } => (Some(task_id), "waits"),
            EventKind::CacheHit { task_id, .. } => (Some(task_id), "hits"),
            EventKind::AttemptStarted(attempt) => (Some(&attempt.task_id), "starts"),
            EventKind::AttemptEnded { attempt, .. } => (Some(&attempt.task_id), "ends"),
            EventKind::AgentBriefed(briefing) => (Some(&briefing.attempt.task_id), "is briefed"),
            EventKind::ModelCallStarted(start) => (Some(&start.attempt.task_id), "calls"),
            EventKind::ModelCallEnded(end) => (Some(&end.attempt.task_id), "is answered"),
            EventKind::CompactionStarted(start) => (Some(&start.attempt.task_id), "asks what is omitted"),
            EventKind::CompactionEnded(end) => (Some(&end.attempt.task_id), "is told what is omitted"),
            EventKind::AgentEnded(end) => (Some(&end.attempt.task_id), "is done"),
            EventKind::RetryScheduled { attempt, .. } => (Some(&attempt.task_id), "rests"),
            EventKind::StepEnded { task_id, .. } => (Some(task_id), "is over"),
            EventKind::RunDraining { .. } => (None, "stops"),
            EventKind::RunTimedOut => (None, "times out"),
            EventKind::CancelRequested { .. } => (None, "is cancelled"),
            EventKind::RunEnded { .. } => (None, "ends"),
            // What follows is told of another round.
            EventKind::RoundCompleted(_) => {
                told.clear();
                continue;
            }
            _ => continue,
        };
        *told.entry((place, kind)).or_default() += 1;
    }
    for (place, kind) in turn.effects.iter().filter_map(told_of) {
        *told.entry((place, kind)).or_default() += 1;
    }
    let most = 1 + turn.events.iter().filter(|event| is_round(&event.fact)).count();
    let twice = told.iter().find(|(_, times)| **times as usize > most);
    ensure(twice.is_none(), || format!("said twice in one turn: {twice:?}"))
}

/// What is done for a place, in words; `None` if it may be done more than once in a turn.
fn told_of(effect: &Effect) -> Option<(Option<&TaskId>, &'static str)> {
    Some(match effect {
        Effect::Start { attempt, .. } | Effect::Watch { attempt, .. } => {
            (Some(&attempt.task_id), "is worked on")
        }
        Effect::Check { attempt, .. } => (attempt.as_ref().map(|a| &a.task_id), "is checked"),
        Effect::Kill { attempt, .. } => (attempt.as_ref().map(|a| &a.task_id), "is killed"),
        Effect::Lock { task_id, .. } => (Some(task_id), "locks"),
        Effect::Unlock { task_id, .. } => (Some(task_id), "unlocks"),
        Effect::Lookup { task_id, .. } => (Some(task_id), "looks"),
        Effect::Remember { task_id, .. } => (Some(task_id), "remembers"),
        Effect::Confirm { .. } => (None, "confirms"),
        Effect::Gate(question) => (question.task_id.as_ref(), "is gated"),
        Effect::Ask(ask) => (ask.task_id.as_ref(), "is asked for"),
        Effect::Plan { .. } => (None, "plans"),
        Effect::Compact { request } => (Some(&request.start.attempt.task_id), "is compacted"),
        Effect::Guide { request } => (Some(&request.attempt.task_id), "is guided"),
        Effect::CallModel(ModelCall { attempt, .. }) => (Some(&attempt.task_id), "calls a model"),
        Effect::CallTool(ToolOrder { id, .. }) => (Some(&id.attempt.task_id), "calls a tool"),
        Effect::ServeClient(ClientTurn { attempt, .. }) => (Some(&attempt.task_id), "goes on"),
        Effect::EndAgent(AgentEnding { attempt, .. }) => (Some(&attempt.task_id), "is collected"),
        Effect::PrepareMerge { attempt } => (Some(&attempt.task_id), "prepares a merge"),
        Effect::Merge(start) => (Some(&start.attempt.task_id), "merges"),
        Effect::StartChild { .. } | Effect::Wake { .. } | Effect::Finish { .. } | Effect::Dismiss { .. } => {
            return None;
        }
    })
}

pub fn asked_once(look: &Look<'_>) -> Result<(), String> {
    let (Seen::Act(effect), Some(engine)) = (look.seen, look.engine()) else {
        return Ok(());
    };
    let under_way = |wanted: &dyn Fn(&Job) -> bool| engine.units.iter().any(|unit| wanted(&unit.job));
    let twice = match effect {
        Effect::Start { attempt, .. } | Effect::Watch { attempt, .. } => {
            under_way(&|job| matches!(job, Job::Work { attempt: a, .. } if a.task_id == attempt.task_id))
                || works_for(engine, &attempt.task_id)
        }
        Effect::CallModel(ModelCall { attempt, .. })
        | Effect::ServeClient(ClientTurn { attempt, .. })
        | Effect::EndAgent(AgentEnding { attempt, .. }) => works_for(engine, &attempt.task_id),
        Effect::Compact { request } => works_for(engine, &request.start.attempt.task_id),
        Effect::CallTool(ToolOrder { id, .. }) => works_for(engine, &id.attempt.task_id),
        Effect::StartChild { id, .. } => {
            under_way(&|job| matches!(job, Job::Child { id: other } if other == id))
        }
        Effect::Gate(GateQuestion { task_id: Some(place), point, .. }) => {
            let same = |job: &Job| matches!(job, Job::Gate { task_id: Some(p), point: q, .. } if (p, q) == (place, point));
            under_way(&same) || works_for(engine, place)
        }
        Effect::Check { attempt, .. } => {
            under_way(&|job| matches!(job, Job::Check { attempt: a, .. } if a == attempt))
        }
        Effect::Lookup { task_id, .. } => {
            under_way(&|job| matches!(job, Job::Look { task_id: p } if p == task_id))
        }
        Effect::Lock { task_id, .. } => {
            under_way(&|job| matches!(job, Job::Lock { task_id: p, .. } if p == task_id))
        }
        Effect::PrepareMerge { .. } | Effect::Merge(_) => under_way(&|job| matches!(job, Job::Merge { .. })),
        Effect::Confirm { .. } => under_way(&|job| matches!(job, Job::Confirm { .. })),
        Effect::Plan { .. } => under_way(&|job| matches!(job, Job::Plan { .. })),
        Effect::Guide { request } => {
            under_way(&|job| matches!(job, Job::Guide { attempt } if *attempt == request.attempt))
        }
        Effect::Wake { timer, at } => {
            // In another round a place waits for its turn anew.
            let rounds = look.plan().parts().replan.is_some();
            let anew = rounds && matches!(timer, TimerKind::Queue(_));
            // An agent that waited for people has its limit later, if time passed meanwhile; so has a place that gates or
            // people let in.
            let later =
                |due: &Moment| matches!(timer, TimerKind::Agent(_) | TimerKind::Queue(_)) && due <= at;
            !anew && engine.timers.iter().any(|(due, set)| set == timer && !later(due))
        }
        _ => false,
    };
    ensure(!twice, || format!("{effect:?} is under way already"))
}

/// Whether anything is under way for the agent of a place.
fn works_for(engine: &Engine, task_id: &TaskId) -> bool {
    engine.units.iter().any(|unit| {
        let asks = matches!(&unit.job, Job::Gate { task_id: Some(p), tool_call, exchange, .. }
            if p == task_id && (tool_call.is_some() || exchange.is_some()));
        asks || agents::attempt_of(&unit.job).is_some_and(|attempt| attempt.task_id == *task_id)
    })
}

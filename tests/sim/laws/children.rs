//! Laws of child runs that agents start.

use wf_core::{
    agent::{ChildChoice, ChildRequest},
    machine::{
        BUDGET_SPENT_PREFIX, ChildDispatch, ChildEnd, ChildId, Effect, EventKind, MachineTurn, TaskId,
        ToolOrder, WorkExit,
    },
};
use wf_model::{AgentDispatch, StepWork};

use super::{
    super::{
        calls::{Agent, Tool},
        children::Child,
        ledger::step_of,
        look::{Look, Seen},
    },
    ensure,
};

pub fn children(look: &Look<'_>) -> Result<(), String> {
    let event = match look.seen {
        Seen::Event(event) => event,
        Seen::Act(Effect::StartChild { id, .. }) => {
            let agent = look.durable().agents.at(&id.attempt.task_id);
            let child = agent.child(&id.child).filter(|child| child.begun && child.end.is_none());
            let same = agent.attempt == id.attempt.attempt;
            return ensure(child.is_some() && same, || format!("{id:?} begins, and the log does not say so"));
        }
        _ => return Ok(()),
    };
    let known = |task_id: &TaskId| look.decided().agents.at(task_id);
    let right = match &event.fact {
        EventKind::ChildDispatched(dispatch) => is_asked_for(look, dispatch),
        EventKind::ChildStarted(id) => may_begin(look, id),
        EventKind::ChildEnded(end) => may_end(&known(&end.id.attempt.task_id), end),
        EventKind::AttemptEnded { attempt, .. } => {
            known(&attempt.task_id).children.iter().all(|child| child.end.is_some())
        }
        _ => return Ok(()),
    };
    ensure(right, || format!("{:?} is not next", event.fact))
}

fn dispatch_of<'a>(look: &Look<'a>, task_id: &TaskId) -> Option<&'a AgentDispatch> {
    match &step_of(look.plan(), task_id).work {
        StepWork::Agent(work) => work.dispatch.as_deref(),
        _ => None,
    }
}

/// Whether the model asked for exactly this child run, in a call that has begun, and the plan allows one more.
fn is_asked_for(look: &Look<'_>, dispatch: &ChildDispatch) -> bool {
    let place = &dispatch.id.attempt.task_id;
    let agent = look.decided().agents.at(place);
    let position = dispatch.id.position as usize;
    let asked = agent.requested().get(position).and_then(|call| call.children.as_deref());
    let begun = agent.calls.last().and_then(|call| call.tools.get(position));
    let same = matches!(asked, Some(ChildRequest::Dispatch(start)) if start.child == dispatch.child && start.depends_on == dispatch.depends_on);
    let now = (agent.attempt, agent.call()) == (dispatch.id.attempt.attempt, dispatch.id.call);
    let is_new = agent.child(&dispatch.child).is_none();
    let max = dispatch_of(look, place).map_or(0, |own| own.max as usize);
    same && now && is_new && matches!(begun, Some(Tool::Begun)) && agent.children.len() < max
}

/// Whether all that a child run depends on succeeded, and there is room for it.
fn may_begin(look: &Look<'_>, id: &ChildId) -> bool {
    let agent = look.decided().agents.at(&id.attempt.task_id);
    let Some(child) = agent.child(&id.child).filter(|child| !child.begun && child.end.is_none()) else {
        return false;
    };
    let mut needed = child.start.depends_on.iter().map(|other| agent.child(other));
    let running = agent.children.iter().filter(|child| child.begun && child.end.is_none()).count();
    let room = dispatch_of(look, &id.attempt.task_id).map_or(0, |own| own.max_parallel as usize);
    let needed = needed.all(|other| other.is_some_and(|other| other.end == Some(true)));
    needed && running < room && agent.exit.is_none() && agent.attempt == id.attempt.attempt
}

/// Whether a child run has not ended before, and, if it never began, why.
fn may_end(agent: &Agent, end: &ChildEnd) -> bool {
    let Some(child) = agent.child(&end.id.child).filter(|child| child.end.is_none()) else {
        return false;
    };
    let has_failed = |other| agent.child(other).is_some_and(|other: &Child| other.end == Some(false));
    let why = match &end.exit {
        WorkExit::Error { reason, .. } if reason.contains(BUDGET_SPENT_PREFIX) => true,
        WorkExit::Error { .. } => child.start.depends_on.iter().any(has_failed),
        exit => *exit == WorkExit::Cancelled,
    };
    child.begun || why
}

pub fn collects(look: &Look<'_>) -> Result<(), String> {
    let Seen::Turn(turn) = look.seen else {
        return Ok(());
    };
    at_once(look, turn)?;
    for effect in &turn.effects {
        let Effect::CallTool(ToolOrder { id, children, .. }) = effect else {
            continue;
        };
        let agent = look.decided().agents.at(&id.attempt.task_id);
        let request = agent.requested().get(id.position as usize).and_then(|call| call.children.as_deref());
        let has_ended = |child: &Child| child.end.is_some();
        let may = match request {
            Some(ChildRequest::Collect(ChildChoice::All)) => agent.children.iter().all(has_ended),
            Some(ChildRequest::Collect(ChildChoice::Child(child))) => {
                agent.child(child).is_some_and(has_ended)
            }
            Some(ChildRequest::Collect(ChildChoice::Ready) | ChildRequest::Dispatch(_)) | None => true,
        };
        ensure(may && request.is_some() == children.is_some(), || {
            format!("{effect:?} answers {request:?}, and there is {:?}", agent.children)
        })?;
    }
    Ok(())
}

/// What waits for nothing is answered in the turn in which it begins.
fn at_once(look: &Look<'_>, turn: &MachineTurn) -> Result<(), String> {
    for event in &turn.events {
        let EventKind::ToolCallStarted(start) = &event.fact else {
            continue;
        };
        let agent = look.decided().agents.at(&start.id.attempt.task_id);
        let request = agent.requested().get(start.id.position as usize);
        let request = request.and_then(|call| call.children.as_deref());
        let waits_never =
            matches!(request, Some(ChildRequest::Dispatch(_) | ChildRequest::Collect(ChildChoice::Ready)));
        let called =
            |effect: &Effect| matches!(effect, Effect::CallTool(ToolOrder { id, .. }) if *id == start.id);
        ensure(!waits_never || turn.effects.iter().any(called), || format!("{start:?} waits"))?;
    }
    Ok(())
}

/// Whether a call of `dispatch` or `collect` asks for what there cannot be.
pub fn is_refused(look: &Look<'_>, task_id: &TaskId, agent: &Agent, request: &ChildRequest) -> bool {
    match request {
        ChildRequest::Collect(ChildChoice::Child(child)) => agent.child(child).is_none(),
        ChildRequest::Collect(_) => false,
        ChildRequest::Dispatch(start) => {
            let max = dispatch_of(look, task_id).map_or(0, |own| own.max as usize);
            agent.child(&start.child).is_some()
                || agent.children.len() >= max
                || start.depends_on.iter().any(|other| agent.child(other).is_none())
        }
    }
}

//! The law of the gates of conversations: what they have not let pass goes no further.

use wf_core::{
    gate::{GateRuling, ruling},
    machine::{Effect, EventKind, ExchangeGated, GatePoint, ModelCall, TaskId, WorkExit, gates_at},
};

use super::{
    super::{
        calls::{Agent, Call, Tool},
        look::{Look, Seen},
    },
    ensure,
};

pub fn exchanged(look: &Look<'_>) -> Result<(), String> {
    let agent = |task_id: &TaskId| look.decided().agents.at(task_id);
    let asks = |task_id: &TaskId, point| count(look, task_id, point) > 0;
    let right = match look.seen {
        Seen::Act(Effect::CallModel(ModelCall { attempt, call, .. })) => {
            let agent = look.durable().agents.at(&attempt.task_id);
            let may = !asks(&attempt.task_id, GatePoint::Request) || agent.admitted == *call;
            let before = agent.calls.iter().rev().nth(1);
            may && (!asks(&attempt.task_id, GatePoint::Result) || before.is_none_or(results_are_seen))
        }
        Seen::Event(event) => match &event.fact {
            EventKind::ModelCallStarted(start) => agent(&start.attempt.task_id).barred.is_none(),
            EventKind::ToolCallStarted(start) => {
                let place = &start.id.attempt.task_id;
                let agent = agent(place);
                agent.barred.is_none() && (!asks(place, GatePoint::Reply) || is_passed(&agent))
            }
            EventKind::AgentEnded(end) => {
                let place = &end.attempt.task_id;
                let agent = agent(place);
                match (&agent.barred, &end.exit) {
                    (Some(barred), WorkExit::Error { reason, .. }) => reason == barred,
                    (Some(_), _) => false,
                    (None, exit) if exit.is_success() && !agent.is_client => {
                        !asks(place, GatePoint::Reply) || is_passed(&agent)
                    }
                    (None, _) => true,
                }
            }
            EventKind::ExchangeGated(gated) => {
                let place = &gated.attempt.task_id;
                follows(gated, &agent(place), count(look, place, gated.point))
            }
            _ => true,
        },
        _ => true,
    };
    ensure(right, || format!("{:?}, and gates have not let it pass", look.seen))
}

/// Whether a decision is what all gates, and the people whom they ask, said.
fn follows(gated: &ExchangeGated, agent: &Agent, gates: usize) -> bool {
    let agreed = agent.passed.as_ref().is_some_and(|subject| subject.passed == *gated);
    let passes = match ruling(&agent.news) {
        GateRuling::Continue => true,
        GateRuling::Ask { .. } => agreed,
        GateRuling::Block { .. } => false,
    };
    let revises = gated.revised.is_some();
    let may_revise =
        gated.point == GatePoint::Result && passes && gated.blocked.is_none() && !agent.is_client;
    agent.news.len() == gates
        && agent.exit.is_none()
        && (passes || gated.blocked.is_some())
        && (!revises || may_revise)
}

fn is_passed(agent: &Agent) -> bool {
    agent.calls.last().is_some_and(|call| call.gated)
}

fn results_are_seen(call: &Call) -> bool {
    let tools = (0..).zip(&call.tools);
    tools.into_iter().all(|(position, tool)| !matches!(tool, Tool::Ended(_)) || call.seen.contains(&position))
}

fn count(look: &Look<'_>, task_id: &TaskId, point: GatePoint) -> usize {
    gates_at(look.plan(), look.plan().find(task_id.step.as_str()), point).count()
}

//! Laws of agents: their calls, what these cost, and how they end.

use std::{collections::BTreeMap, time::Duration};

use wf_base::time::Moment;
use wf_core::{
    agent::{ChildRequest, ContextCut},
    gate::{GateRuling, ruling},
    machine::{
        AgentEnding, BUDGET_SPENT_PREFIX, ClientTurn, Effect, Event, EventKind, GatePoint, MachineTurn,
        ModelCall, ModelCallStart, TaskId, ToolCallId, ToolCallRefusal, ToolCallSubject, ToolOrder, WorkExit,
        gates_at,
    },
};
use wf_model::{BudgetResource, StepWork, UntrustedRule};

use super::{
    super::{
        calls::{Agent, Tool},
        gates::arguments_of,
        ledger::{is_finally, step_of},
        look::{Look, Seen},
    },
    children::is_refused,
    ensure,
};

pub fn called(look: &Look<'_>) -> Result<(), String> {
    match look.seen {
        Seen::Act(effect) => asked(look, effect),
        Seen::Event(event) => answered(look, event),
        _ => Ok(()),
    }
}

/// Whether the log says that exactly this call is under way.
fn asked(look: &Look<'_>, effect: &Effect) -> Result<(), String> {
    let agent = |task_id: &TaskId| look.durable().agents.at(task_id);
    let told = match effect {
        Effect::CallModel(ModelCall { attempt, call, repairs, refusals, context, supplement }) => {
            let agent = agent(&attempt.task_id);
            let open = agent.calls.last().filter(|last| {
                let same = last.repairs == *repairs && last.context == *context;
                same && last.outcome.is_none() && last.supplement == **supplement
            });
            let client = agent.calls.last().is_some_and(|last| last.client.is_some());
            let before = Agent {
                calls: agent.calls.split_last().map_or(Vec::new(), |(_, before)| before.to_vec()),
                ..agent.clone()
            };
            let before = if client { BTreeMap::new() } else { before.refused() };
            let same = (agent.attempt, agent.call()) == (attempt.attempt, *call);
            open.is_some() && same && agent.exit.is_none() && before == *refusals
        }
        Effect::CallTool(ToolOrder { id, .. }) => {
            let agent = agent(&id.attempt.task_id);
            is_open(&agent, id) && agent.exit.is_none()
        }
        // A reply reaches a program only once it is recorded what the program may do.
        Effect::ServeClient(ClientTurn { attempt, call, refusals, repairs }) => {
            let agent = agent(&attempt.task_id);
            let same = (agent.attempt, agent.call()) == (attempt.attempt, *call);
            let none_is_left = !agent.requested().is_empty() && refusals.len() == agent.requested().len();
            let may = agent.is_client && agent.is_idle() && agent.exit.is_none() && !none_is_left;
            same && may && agent.refused() == *refusals && agent.repairs == *repairs
        }
        Effect::EndAgent(AgentEnding { attempt, exit, .. }) => {
            let agent = agent(&attempt.task_id);
            agent.attempt == attempt.attempt && agent.exit.as_ref() == Some(exit)
        }
        _ => return Ok(()),
    };
    ensure(told, || format!("{effect:?} is done, and the log does not say that it begins, or says its end"))
}

fn is_open(agent: &Agent, id: &ToolCallId) -> bool {
    let last = agent.calls.last().and_then(|call| call.tools.get(id.position as usize));
    (agent.attempt, agent.call()) == (id.attempt.attempt, id.call) && matches!(last, Some(Tool::Begun))
}

/// What ends was durable before.
fn answered(look: &Look<'_>, event: &Event) -> Result<(), String> {
    let agent = |task_id: &TaskId| look.durable().agents.at(task_id);
    let told = match &event.fact {
        EventKind::ModelCallEnded(end) => {
            let agent = agent(&end.attempt.task_id);
            (agent.attempt, agent.call()) == (end.attempt.attempt, end.call)
        }
        EventKind::ToolCallEnded(end) => is_open(&agent(&end.id.attempt.task_id), &end.id),
        _ => return Ok(()),
    };
    ensure(told, || format!("{:?}, and that it began was never durable", event.fact))
}

pub fn paid_once(look: &Look<'_>) -> Result<(), String> {
    let known = &look.decided().agents;
    match (look.seen, look.engine()) {
        (Seen::Event(event), _) => match &event.fact {
            EventKind::ModelCallStarted(start) => {
                let agent = known.at(&start.attempt.task_id);
                let next = (agent.attempt, agent.call() + 1) == (start.attempt.attempt, start.call);
                ensure(next && agent.is_idle() && agent.limits.is_some(), || {
                    format!("{start:?} comes after {:?}", agent.calls)
                })
            }
            EventKind::ModelCallEnded(end) => {
                let agent = known.at(&end.attempt.task_id);
                let open = agent.calls.last().is_some_and(|call| call.outcome.is_none());
                let same = (agent.attempt, agent.call()) == (end.attempt.attempt, end.call);
                ensure(open && same, || format!("{end:?} ends what has ended: {:?}", agent.calls))
            }
            EventKind::ToolCallEnded(end) => {
                let open = is_open(&known.at(&end.id.attempt.task_id), &end.id);
                ensure(open, || format!("{end:?} ends what has ended, or never began"))
            }
            _ => Ok(()),
        },
        (Seen::Turn(_) | Seen::Over, Some(engine)) => {
            let told = engine.machine.ledger().usage();
            let same = (told.tokens, told.cost) == (known.used.tokens, known.used.cost);
            ensure(same, || format!("{told:?} is paid, and the calls say {:?}", known.used))
        }
        _ => Ok(()),
    }
}

pub fn refused_calls(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let (id, begins) = match &event.fact {
        EventKind::ToolCallStarted(start) => (&start.id, true),
        EventKind::ToolCallRefused(refusal) => (&refusal.id, false),
        _ => return Ok(()),
    };
    let place = &id.attempt.task_id;
    let agent = look.decided().agents.at(place);
    let Some((position, next)) = agent.next_tool() else {
        return Err(format!("{id:?} was not asked for, or comes again"));
    };
    let same = (agent.attempt, agent.call(), position) == (id.attempt.attempt, id.call, id.position);
    let gates = gates_at(look.plan(), look.plan().find(place.step.as_str()), GatePoint::Call).count();
    let asked = agent.heard.len() == gates;
    let rule = closed(look, place, &next.tool);
    let agreed = agent.agreed.as_ref().is_some_and(|subject| is_about(subject, id));
    let questions = questions_left(look, place, &next.tool);
    let let_pass = asked
        && match ruling(&agent.heard) {
            GateRuling::Continue => rule.is_none() && questions.is_none() || agreed,
            GateRuling::Ask { .. } => agreed,
            GateRuling::Block { .. } => false,
        };
    let request = next.children.as_deref();
    let vain = request.is_some_and(|request| is_refused(look, place, &agent, request));
    let short = |refusal: &ToolCallRefusal| refusal.reason.starts_with(BUDGET_SPENT_PREFIX);
    let short = matches!(&event.fact, EventKind::ToolCallRefused(refusal) if short(refusal));
    let right = match (begins, &next.mistake) {
        (true, mistake) => mistake.is_none() && let_pass && rule != Some(UntrustedRule::Deny) && !vain,
        (false, Some(_)) => agent.heard.is_empty(),
        (false, None) if vain => agent.heard.is_empty(),
        (false, None) if short => {
            matches!(request, Some(ChildRequest::Dispatch(_))) && look.decided().budget.budget.is_some()
        }
        (false, None) if rule == Some(UntrustedRule::Deny) => agent.heard.is_empty(),
        // It was asked, and not answered, or it may not be asked any more.
        (false, None) if questions.is_some() => asked || questions == Some(0) && agent.heard.is_empty(),
        // A rewrite is in no event.
        (false, None) => asked && (gates > 0 || rule.is_some()),
    };
    ensure(same && right && agent.exit.is_none(), || {
        format!("{:?}, where {next:?} is next, and gates said {:?}", event.fact, agent.heard)
    })
}

/// How many questions an agent may still ask, if the tool asks one. The one that was just asked is counted.
fn questions_left(look: &Look<'_>, task_id: &TaskId, tool: &str) -> Option<u32> {
    let StepWork::Agent(work) = &step_of(look.plan(), task_id).work else {
        return None;
    };
    let agent = look.decided().agents.at(task_id);
    let asked = u32::try_from(agent.questions.len()).expect("questions are few");
    (tool == "ask" && !agent.is_client).then(|| work.max_questions.saturating_sub(asked))
}

/// The rule for a tool that untrusted text has closed.
fn closed(look: &Look<'_>, task_id: &TaskId, tool: &str) -> Option<UntrustedRule> {
    let StepWork::Agent(work) = &step_of(look.plan(), task_id).work else {
        return None;
    };
    let is_closed = look.decided().agents.untrusted.contains(task_id);
    let mut rules = work.when_untrusted.iter().filter(|_| is_closed);
    rules.find_map(|(closed, rule)| (closed == tool).then_some(*rule))
}

/// Whether people were asked about exactly this call, with the arguments that it has.
fn is_about(subject: &ToolCallSubject, id: &ToolCallId) -> bool {
    (subject.attempt, subject.call, subject.position) == (id.attempt.attempt, id.call, id.position)
        && subject.arguments == arguments_of(id).digest
}

pub fn approved_calls(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let known = &look.decided().agents;
    match &event.fact {
        EventKind::ToolCallStarted(start) => {
            let agent = known.at(&start.id.attempt.task_id);
            let asks = matches!(ruling(&agent.heard), GateRuling::Ask { .. });
            let needs = asks || closed(look, &start.id.attempt.task_id, &start.tool).is_some();
            let agreed = agent.agreed.as_ref().is_some_and(|subject| is_about(subject, &start.id));
            let needs = needs || questions_left(look, &start.id.attempt.task_id, &start.tool).is_some();
            ensure(!needs || agreed, || format!("{start:?} begins, and people agreed to {:?}", agent.agreed))
        }
        EventKind::ApprovalRequested(ask) => match (&ask.tool_call, &ask.task_id) {
            (None, Some(place)) if let Some(about) = &ask.exchange => {
                let agent = known.at(place);
                let request = u32::from(about.passed.point == GatePoint::Request);
                let same = (agent.attempt, agent.call() + request)
                    == (about.passed.attempt.attempt, about.passed.call);
                let free = agent.asked.is_none() && agent.exit.is_none() && about.passed.blocked.is_none();
                ensure(same && free, || format!("{ask:?} is asked, and {} is the last call", agent.call()))
            }
            (Some(subject), Some(place)) => {
                let agent = known.at(place);
                let next = agent.next_tool().map(|(position, _)| position);
                let same = (agent.attempt, agent.call(), next)
                    == (subject.attempt, subject.call, Some(subject.position));
                let free = agent.asked.is_none() && agent.agreed.is_none() && agent.exit.is_none();
                let again = agent.questions.contains(&(subject.call, subject.position));
                let left = questions_left(look, place, &subject.tool);
                ensure(again || left != Some(0), || format!("{ask:?} is one question too many"))?;
                ensure(same && free, || format!("{ask:?} is asked, and {next:?} is the next call"))
            }
            _ => Ok(()),
        },
        // Nothing of an attempt goes on while people are asked.
        EventKind::ModelCallStarted(start) => {
            let agent = known.at(&start.attempt.task_id);
            ensure(agent.asked.is_none(), || format!("{start:?} begins while {:?} is open", agent.asked))
        }
        _ => Ok(()),
    }
}

pub fn afforded(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let (known, budget) = (&look.decided().agents, &look.decided().budget);
    match &event.fact {
        EventKind::ModelCallStarted(start) => {
            let place = &start.attempt.task_id;
            let need = known.at(place).next_reserve(start).plus(known.open());
            let over = budget.limits().into_iter().find(|(what, limit)| {
                let need = match what {
                    BudgetResource::Tokens => need.tokens,
                    BudgetResource::Cost => need.cost.micros(),
                    _ => return false,
                };
                let kept = if is_finally(look.plan(), place) { 0 } else { budget.kept(*what, *limit, 0) };
                budget.used(*what, event.at) + need + kept > *limit
            });
            ensure(over.is_none(), || format!("{start:?} may need {need:?}, and {over:?} is all there is"))
        }
        EventKind::ModelCallEnded(end) => {
            let agent = known.at(&end.attempt.task_id);
            let most = agent.last_reserve();
            let fits = most
                .is_some_and(|most| end.effort.usage.total() <= most.tokens && end.effort.cost <= most.cost);
            ensure(fits, || format!("{end:?} used more than {most:?}"))
        }
        _ => Ok(()),
    }
}

/// No request exceeds the window. What is cut stays cut, never the last turn, and nothing before there is a need.
pub fn fits(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(Event { fact: EventKind::ModelCallStarted(start), .. }) = look.seen else {
        return Ok(());
    };
    let agent = look.decided().agents.at(&start.attempt.task_id);
    let (limits, cut) = (agent.limits.clone().unwrap_or_default(), start.context.clone());
    let before = agent.calls.last().map(|call| call.context.clone()).unwrap_or_default();
    let input = |context: &ContextCut| {
        let call = ModelCallStart { context: context.clone(), ..start.clone() };
        agent.next_input(&call) + agent.supplement.tokens()
    };
    let output = start.client.map_or(limits.max_output, |client| client.max_output);
    let fits = input(&cut) + output <= limits.context_window;
    let mut gone = (1..=before.omitted_turns).filter(|turn| before.omits(*turn));
    let grows = before.masked_turns <= cut.masked_turns && gone.all(|turn| cut.omits(turn));
    let last = cut.is_none() || cut.omitted_turns <= cut.masked_turns && cut.masked_turns < agent.call();
    let reserve = limits.max_output.max(limits.context_window.div_ceil(5));
    let needed = cut == before || input(&before) + reserve > limits.context_window;
    ensure(fits && grows && last && needed, || {
        format!("{start:?} sends {} tokens, after {before:?}, with {limits:?}", input(&cut))
    })
}

/// Whether the time of an agent is over at an instant.
fn is_late(look: &Look<'_>, task_id: &TaskId, at: Moment) -> bool {
    let limit = step_of(look.plan(), task_id).timeout;
    let agent = look.decided().agents.at(task_id);
    // The time that it waits for child runs does not count.
    if agent.collecting.is_some() {
        return false;
    }
    let since = agent.since.map(|since| since.after(Duration::from_millis(agent.waited_ms)));
    since.zip(limit).is_some_and(|(since, limit)| since.after(limit) <= at)
}

/// What is under way when its engine dies is not begun again either, once its time is over.
fn begins_late(look: &Look<'_>, turn: &MachineTurn) -> Result<(), String> {
    let clock = look.engine().map_or(i64::MIN, |engine| engine.clock);
    let late = |task_id: &TaskId| is_late(look, task_id, Moment::from_millis(clock));
    let late = turn.effects.iter().find(|effect| match effect {
        Effect::CallModel(ModelCall { attempt, .. }) | Effect::ServeClient(ClientTurn { attempt, .. }) => {
            late(&attempt.task_id)
        }
        Effect::CallTool(ToolOrder { id, .. }) => late(&id.attempt.task_id),
        _ => false,
    });
    ensure(late.is_none(), || format!("{late:?} begins once its time is over"))
}

pub fn turns(look: &Look<'_>) -> Result<(), String> {
    let event = match look.seen {
        Seen::Event(event) => event,
        Seen::Turn(turn) => return begins_late(look, turn),
        _ => return Ok(()),
    };
    let known = &look.decided().agents;
    let late = |task_id: &TaskId| is_late(look, task_id, event.at);
    let right = match &event.fact {
        EventKind::ModelCallStarted(start) => {
            let place = &start.attempt.task_id;
            let agent = known.at(place);
            let repairs = agent.calls.iter().filter(|call| call.repairs.is_some()).count();
            let StepWork::Agent(work) = &step_of(look.plan(), place).work else {
                return Err(format!("{place} is no agent"));
            };
            let may = agent.call() < work.max_turns || start.repairs.is_some();
            may && (repairs == 0 || start.repairs.is_none()) && agent.exit.is_none() && !late(place)
        }
        EventKind::ToolCallStarted(start) => !late(&start.id.attempt.task_id),
        EventKind::ClientRepairStarted(repair) => {
            let agent = known.at(&repair.attempt.task_id);
            let may = agent.is_client && agent.exit.is_none() && !late(&repair.attempt.task_id);
            may && agent.attempt == repair.attempt.attempt && agent.repairs.is_none()
        }
        EventKind::AgentEnded(end) => {
            let agent = known.at(&end.attempt.task_id);
            let timed = end.exit != WorkExit::TimedOut || late(&end.attempt.task_id);
            agent.exit.is_none() && agent.attempt == end.attempt.attempt && timed
        }
        EventKind::AttemptEnded { attempt, how, .. } => {
            let agent = known.at(&attempt.task_id);
            let left = agent.exit.as_ref().is_some_and(|exit| exit == how || exit.is_success());
            // What an agent left is not collected if an engine that goes on with it is told to end.
            let told = *how == WorkExit::Cancelled && (look.decided().ending() || look.decided().stopping);
            let early =
                agent.exit.is_none() && (told || *how == WorkExit::TimedOut && late(&attempt.task_id));
            agent.limits.is_none() || left || told || early
        }
        _ => return Ok(()),
    };
    ensure(right, || format!("{:?} is not the next of an agent", event.fact))
}

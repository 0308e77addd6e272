use std::time::Duration;

use wf_core::machine::{CompactionOutcome, CompactionStart, Effect, EventKind};
use wf_model::BudgetResource;

use super::{
    super::{
        ledger::is_finally,
        look::{Look, Seen},
    },
    ensure,
};

pub fn compacted(look: &Look<'_>) -> Result<(), String> {
    match look.seen {
        Seen::Act(Effect::Compact { request }) => {
            let agent = look.durable().agents.at(&request.start.attempt.task_id);
            let open = agent.compaction.is_open(request.start.call);
            let same = agent.compaction.asked.as_ref().is_some_and(|(_, groups)| *groups == request.groups);
            ensure(open && same && agent.exit.is_none(), || format!("{request:?} is not what the log says"))
        }
        Seen::Event(event) => match &event.fact {
            EventKind::CompactionStarted(start) => {
                chooses(look, start)?;
                affords(look, start)?;
                let failures = &look.decided().agents.failures;
                let rested = |last: wf_base::time::Moment| event.at >= last.after(Duration::from_mins(5));
                let rests = failures.in_a_row >= 3 && !failures.last.is_some_and(rested);
                ensure(!rests, || format!("{start:?} after {failures:?}"))
            }
            EventKind::CompactionEnded(end) => {
                let place = &end.attempt.task_id;
                let durable = look.durable().agents.at(place);
                let agent = look.decided().agents.at(place);
                let open = durable.compaction.is_open(end.call) && agent.compaction.is_open(end.call);
                let reserve = agent.compaction.reserve();
                let fits = end.usage.tokens <= reserve.tokens && end.usage.cost <= reserve.cost;
                ensure(open && fits && agent.attempt == end.attempt.attempt, || format!("{end:?}"))?;
                match &end.outcome {
                    CompactionOutcome::Failed { reason } => ensure(!reason.is_empty(), || format!("{end:?}")),
                    CompactionOutcome::Chosen { context, .. } => {
                        let before = agent.calls.last().map(|call| call.context.clone()).unwrap_or_default();
                        let groups = agent.compaction.asked.map(|(_, groups)| groups.concat());
                        let may = groups.unwrap_or_default();
                        let mut new = (1..=context.omitted_turns).filter(|turn| context.omits(*turn));
                        let wrong = new.find(|turn| !before.omits(*turn) && !may.contains(turn));
                        ensure(wrong.is_none(), || format!("{end:?} omits turn {wrong:?} of {may:?}"))
                    }
                }
            }
            EventKind::ModelCallStarted(start) => {
                let compaction = look.decided().agents.at(&start.attempt.task_id).compaction;
                let heeds = compaction.chosen(start.call).is_none_or(|chosen| *chosen == start.context);
                ensure(heeds && !compaction.is_open(start.call), || format!("{start:?} after {compaction:?}"))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// What is asked about: old turns that are still sent, once for each call.
fn chooses(look: &Look<'_>, start: &CompactionStart) -> Result<(), String> {
    let agent = look.decided().agents.at(&start.attempt.task_id);
    let before = agent.calls.last().map(|call| call.context.clone()).unwrap_or_default();
    let turns = start.groups.concat();
    let own = !agent.is_client && agent.exit.is_none() && agent.is_idle() && agent.asked.is_none();
    let next = (agent.attempt, agent.call() + 1) == (start.attempt.attempt, start.call);
    let first = agent.compaction.asked.as_ref().is_none_or(|(asked, _)| *asked != start.call);
    let ordered = turns.windows(2).all(|pair| pair[0] < pair[1]) && turns.len() > 1;
    let old = turns.iter().all(|turn| *turn >= 1 && *turn < agent.call() && !before.omits(*turn));
    let has = agent.compaction.limits.is_some();
    ensure(own && next && first && ordered && old && has, || format!("{start:?} after {before:?}"))
}

/// The budget has enough left for it, and keeps what others may use.
fn affords(look: &Look<'_>, start: &CompactionStart) -> Result<(), String> {
    let (known, budget) = (&look.decided().agents, &look.decided().budget);
    let place = &start.attempt.task_id;
    let need = known.at(place).compaction.reserve().plus(known.open());
    let over = budget.limits().into_iter().find(|(what, limit)| {
        let (need, used) = match what {
            BudgetResource::Tokens => (need.tokens, budget.used.tokens),
            BudgetResource::Cost => (need.cost.micros(), budget.used.cost.micros()),
            _ => return false,
        };
        let kept = if is_finally(look.plan(), place) { 0 } else { budget.kept(*what, *limit, 0) };
        used + need + kept > *limit
    });
    ensure(over.is_none(), || format!("{start:?} may need {need:?}, and {over:?} is all there is"))
}

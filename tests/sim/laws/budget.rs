//! Laws of budgets.

use wf_base::time::Moment;
use wf_core::machine::{EventKind, RunOutcome, TaskId};
use wf_model::BudgetResource;

use super::{
    super::{
        ledger::is_finally,
        look::{Look, Seen},
    },
    ensure,
};

pub fn budget(look: &Look<'_>) -> Result<(), String> {
    let known = &look.decided().budget;
    let event = match (look.seen, look.engine()) {
        (Seen::Event(event), _) => event,
        (Seen::Over, Some(engine)) => {
            let told = engine.machine.ledger().usage();
            return ensure(told == known.used, || {
                format!("it says {told:?}, and its events {:?}", known.used)
            });
        }
        _ => return Ok(()),
    };
    match &event.fact {
        EventKind::AttemptStarted(attempt) => begins(look, &attempt.task_id, attempt.attempt == 1, event.at),
        EventKind::BudgetThresholdReached { spent, percent } => {
            let used = known.used(spent.resource, event.at);
            let before = known.noticed.get(&spent.resource).copied().unwrap_or(0);
            let reached = used * 100 >= spent.limit * u64::from(*percent);
            ensure(used == spent.used && reached && before < *percent, || {
                format!("{spent:?} is {percent} % and {used}, after {before} %")
            })
        }
        EventKind::BudgetExtended { limit_ms: limit } => {
            let own = known.budget.as_ref().and_then(|b| b.max_wall_time_ms);
            let most = own.map_or(0, |own| 2 * own);
            let more = known.time.is_some_and(|time| time < *limit) && *limit <= most;
            ensure(more && !known.spent, || format!("it is extended from {:?} to {limit}", known.time))
        }
        EventKind::BudgetExhausted { spent, .. } => {
            let used = known.used(spent.resource, event.at);
            let kept = known.kept(spent.resource, spent.limit, last(look));
            ensure(used == spent.used && used + kept >= spent.limit, || {
                format!("{spent:?} is not spent: {used}, and {kept} kept")
            })
        }
        EventKind::RunEnded { outcome, .. } => {
            let good = *outcome == RunOutcome::Succeeded;
            ensure(!(good && known.spent), || "a spent budget succeeds".into())
        }
        _ => Ok(()),
    }
}

/// How many `finally` steps there are.
fn last(look: &Look<'_>) -> usize {
    look.plan().steps().len() - look.plan().parts().main
}

/// Whether an attempt may begin.
fn begins(look: &Look<'_>, task_id: &TaskId, first: bool, at: Moment) -> Result<(), String> {
    let known = &look.decided().budget;
    let finally = is_finally(look.plan(), task_id);
    let over = |(what, limit): &(BudgetResource, u64)| {
        let kept = known.kept(*what, *limit, last(look));
        let kept = if finally { 0 } else { kept };
        known.used(*what, at) + kept >= *limit
    };
    let over = known.limits().into_iter().find(over);
    let may = finally && first || over.is_none() && (finally || !known.spent);
    ensure(may, || format!("{task_id} begins, and {over:?} is used up: {:?}", known.used))
}

//! The limits of a run's budget, as far as they allow an attempt or a model call (DESIGN section 3; Silas 5.2.1).

use crate::machine::{
    state::Run,
    words::{AttemptUsage, BudgetUsage},
};
use wf_model::BudgetResource;

/// The prefix of every reason that comes from the budget.
pub const BUDGET_SPENT_PREFIX: &str = "budget exhausted";

/// The prefix of the reason why a budget, of the run or of one around it, does not suffice for a model call.
pub const CALL_UNPAID_PREFIX: &str = "the budget does not allow a model call";

/// True if a reason comes from a budget: no other way of doing a step has more of it.
pub(in crate::machine) fn is_of_budget(reason: &str) -> bool {
    [BUDGET_SPENT_PREFIX, CALL_UNPAID_PREFIX].iter().any(|prefix| reason.starts_with(prefix))
}

/// True if another attempt of a main step may begin.
pub(in crate::machine) fn allows_attempt(run: &Run) -> bool {
    run.state().ledger.spent.is_none() && exhausted(run, true).is_none()
}

/// True if another round of replanning may begin: it needs an attempt, too.
pub(in crate::machine) fn allows_round(run: &Run) -> bool {
    let limit = run.state().ledger.limit(BudgetResource::Rounds);
    let left = limit.is_none_or(|limit| run.state().ledger.rounds < limit);
    left && allows_attempt(run)
}

/// Returns the exhausted resource; with `keeping`, the one exhausted less the reserve. Rounds
/// keep no attempt from beginning.
pub(in crate::machine) fn exhausted(run: &Run, keeping: bool) -> Option<BudgetUsage> {
    let budget = run.state().ledger.budget.as_ref()?;
    let mut resource = BudgetResource::ALL.into_iter().filter(|resource| *resource != BudgetResource::Rounds);
    resource.find_map(|resource| {
        let limit = run.state().ledger.limit(resource)?;
        let kept = match resource {
            _ if !keeping => 0,
            BudgetResource::Attempts => kept_attempts(run, budget.reserved(limit), limit),
            _ => budget.reserved(limit),
        };
        let used = run.state().ledger.used(resource, run.now());
        let spent = BudgetUsage { resource, used, limit };
        (used >= limit - kept.min(limit)).then_some(spent)
    })
}

/// Returns the reason why the budget cannot afford a model call that may use `need`, while others may use `open`.
/// Those of `finally` steps may use its reserve.
pub(in crate::machine) fn shortage(
    run: &Run,
    usage: AttemptUsage,
    open: AttemptUsage,
    finally: bool,
) -> Option<String> {
    let budget = run.state().ledger.budget.as_ref()?;
    let resources = [
        (BudgetResource::Tokens, usage.tokens, open.tokens),
        (BudgetResource::Cost, usage.cost.micros(), open.cost.micros()),
    ];
    resources.into_iter().find_map(|(resource, need, open)| {
        let limit = run.state().ledger.limit(resource)?;
        let kept = if finally { 0 } else { budget.reserved(limit) };
        let used = run.state().ledger.used(resource, run.now());
        let rest = limit.saturating_sub(kept).saturating_sub(used).saturating_sub(open);
        let spent = BudgetUsage { resource, used, limit };
        let need_text = BudgetUsage { resource, used: need, limit: rest };
        (need > rest || rest == 0).then(|| {
            format!("the run used {spent}, and the next model call may need {need_text} left for it")
        })
    })
}

/// Returns the number of attempts in reserve: at least one for each `finally` step, and none
/// without such steps, since nothing else takes any.
fn kept_attempts(run: &Run, share: u64, limit: u64) -> u64 {
    let steps = run.plan().steps().len();
    let last = steps.saturating_sub(run.plan().parts().main) as u64;
    if last == 0 {
        return 0;
    }
    share.max(last).min(limit.saturating_sub(1))
}

/// Returns the reason why nothing new begins once the budget is spent.
pub(in crate::machine) fn exhausted_reason(run: &Run) -> Option<String> {
    let spent = run.state().ledger.spent?;
    Some(format!("{BUDGET_SPENT_PREFIX}: {spent}{}", reserve_text(spent)))
}

/// Returns the reason why the budget does not let a task begin.
pub(in crate::machine) fn unaffordable_reason(run: &Run) -> String {
    match exhausted_reason(run) {
        Some(reason) => format!("not started: {reason}"),
        None => run.stopping_reason(),
    }
}

/// Describes the reserve of a limit and its purpose.
fn reserve_text(usage: BudgetUsage) -> &'static str {
    match usage.resource {
        _ if usage.used >= usage.limit => "",
        BudgetResource::Attempts => "; the rest is reserved for `finally` steps",
        _ => "; the rest is reserved for checks and `finally` steps",
    }
}

use std::sync::Arc;

use super::{
    part_run::{resume, run_id, run_request, start},
    signals::SignalListener,
};
use crate::{
    Caller, CliExitCode, CommandError, Host,
    approve::{authorize_goal, check_programs_accepted, standing_approval},
    goals::{
        FileLock, check_not_deployed, check_result, open_reason, own_checks, reconciliation_params,
        repair_result,
    },
    runs::session::open_store,
    specs::load::{self, LoadedPlan},
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::{
    goal::{
        ApprovedReconciliation, FollowUps, GoalOutcome, NotifiedReconciliation, ReconciliationCause,
        ReconciliationHealth, ReconciliationPart, ReconciliationStep, RepairOutcome, follow_ups, next_step,
        notifications,
    },
    observe::RunObserver,
};
use wf_model::{Goal, GoalApproval, GoalEvent};
use wf_store::{
    ReconciliationClaim, ReconciliationEnd, ReconciliationRow, RunState, Store, StoreDurability, StoreError,
    StoreReader, allow_no_state,
};

/// The number of ended reconciliations examined to decide on notifications.
const EXAMINED_RECONCILIATIONS: usize = 1000;

/// Makes the observer of each run of a reconciliation.
pub type ObserverFactory<'a> = &'a dyn Fn(&LoadedPlan) -> Box<dyn RunObserver + Send>;

/// A reconciliation to start.
#[derive(Clone, Copy, Debug)]
pub struct ReconciliationRequest {
    /// The scheduled time, already due; `None`: the user started it now.
    pub slot: Option<Moment>,
    pub cause: ReconciliationCause,
    /// The token of the daemon that decided about the scheduled time.
    pub token: Option<u64>,
}

/// The end of a reconciliation.
#[derive(Clone, Debug)]
pub struct ReconciliationResult {
    pub goal: PlanId,
    pub outcome: GoalOutcome,
}

/// Starts a reconciliation of a goal and works on it to its end. `loaded` is the plan of its check run.
pub fn start_reconciliation(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    goal: &Arc<Goal>,
    request: ReconciliationRequest,
    observe: ObserverFactory<'_>,
) -> Result<ReconciliationResult, CommandError> {
    let slot = request.slot.map_or_else(|| caller.host().now().to_string(), |slot| slot.to_string());
    let run = run_id(caller.host(), &format!("look of {} at {slot}", goal.id))?;
    let state = &loaded.workspace.state;
    if let Some(reader) = allow_no_state(StoreReader::open(state))? {
        check_not_deployed(&reader, &goal.id)?;
    }
    let params = reconciliation_params(&loaded.plan, goal, request.slot, &[])?;
    let entered = authorize_goal(caller, loaded, ReconciliationPart::Look, &run, &params)?;
    if goal.is_signed_job() {
        // Its run is all that there is of it: without the approval nothing of it starts.
        authorize_goal(caller, loaded, ReconciliationPart::Repair, &run, &params)?;
    }
    let hold = FileLock::lock_blocking(state, &lock_name(&run))?;
    let claim = ReconciliationClaim::Look {
        goal: goal.id.clone(),
        slot: request.slot,
        cause: request.cause,
        token: request.token,
        by_backend: false,
    };
    let mut signals = SignalListener::listen()?;
    let started = start(
        caller,
        loaded,
        run_request(caller.host(), loaded, run.clone(), params, entered, claim),
        observe,
    );
    match started {
        Ok(()) => conclude(caller, &run, observe, &mut signals, hold),
        Err(error) => {
            // A reconciliation without a record has not started, and leaves nothing.
            let reader = StoreReader::open(state);
            let row = reader.and_then(|reader| reader.reconciliations().find(&run));
            if matches!(row, Ok(None) | Err(StoreError::NoState(_))) {
                hold.remove();
            }
            Err(error)
        }
    }
}

/// Resumes a reconciliation of a dead process. Waits for a process working on it.
pub fn adopt_reconciliation(
    caller: &dyn Caller,
    run: &RunId,
    observe: ObserverFactory<'_>,
) -> Result<ReconciliationResult, CommandError> {
    let state = caller.host().workspace().state;
    let hold = FileLock::lock_blocking(&state, &lock_name(run))?;
    let cycle = cycle(&StoreReader::open(&state)?, run)?;
    // Its pending approval may have been answered since.
    if let Some((_, health, reason)) = cycle.ended.clone()
        && health != ReconciliationHealth::Waiting
    {
        hold.remove();
        return Ok(ReconciliationResult { goal: cycle.goal, outcome: GoalOutcome { health, reason } });
    }
    check_not_deployed(&StoreReader::open(&state)?, &cycle.goal)?;
    let mut signals = SignalListener::listen()?;
    let runs = [Some(run), cycle.repair.as_ref()];
    for run in runs.into_iter().flatten() {
        match resume(caller, run, observe) {
            Ok(()) => {}
            Err(error) if is_permanent(&error) => {
                let short = run.short();
                let reason = failure_message(&error);
                return stop_reason(caller, &cycle, format!("run {short} cannot be resumed: {reason}"), hold);
            }
            Err(error) => return Err(error),
        }
    }
    conclude(caller, run, observe, &mut signals, hold)
}

/// True if trying again leads to the same, until the user changes something.
fn is_permanent(error: &CommandError) -> bool {
    matches!(error.exit, CliExitCode::Approval | CliExitCode::Usage | CliExitCode::Invalid)
}

/// The message of a failure; an already reported one has none left.
fn failure_message(error: &CommandError) -> &str {
    match error.message.as_str() {
        "" => "its files, or those of the workspace, are invalid",
        message => message,
    }
}

/// Suspends a reconciliation without a way to continue; it does not block any other.
fn stop_reason(
    caller: &dyn Caller,
    row: &ReconciliationRow,
    reason: String,
    lock: FileLock,
) -> Result<ReconciliationResult, CommandError> {
    let state = caller.host().workspace().state;
    let reader = StoreReader::open(&state)?;
    let health = ReconciliationHealth::Waiting;
    let outcome = GoalOutcome { health, reason };
    let loaded = load::load_recorded_as(caller, &reader, &row.run, Some(ReconciliationPart::Repair));
    let goal = loaded.ok().and_then(|loaded| Some((Arc::clone(&loaded.goal.as_ref()?.goal), loaded)));
    if let Some((goal, loaded)) = goal {
        return record_end(caller.host(), &loaded, &goal, &row.run, outcome, lock);
    }
    // Notifications need the text that names the recipients.
    let store = Store::open(&state, StoreDurability::Full, caller.host().clock())?;
    let end = ReconciliationEnd {
        run: row.run.clone(),
        outcome: outcome.clone(),
        at: caller.host().now(),
        pause: None,
        notices: Vec::new(),
    };
    store.reconciliations().end(end).wait()?;
    lock.remove();
    let goal = row.goal.clone();
    Ok(ReconciliationResult { goal, outcome })
}

/// The path of the lock of a reconciliation.
fn lock_name(run: &RunId) -> String {
    format!("{run}.lock")
}

fn cycle(reader: &StoreReader, run: &RunId) -> Result<ReconciliationRow, CommandError> {
    reader.reconciliations().find(run)?.ok_or_else(|| {
        let message = format!("run {} is not a check run of a goal", run.short());
        CommandError::new(CliExitCode::Usage, message)
    })
}

/// Brings a reconciliation to its end, from its record.
fn conclude(
    caller: &dyn Caller,
    run: &RunId,
    observe: ObserverFactory<'_>,
    signals: &mut SignalListener,
    lock: FileLock,
) -> Result<ReconciliationResult, CommandError> {
    let reader = StoreReader::from_log(&caller.host().workspace().state)?;
    let loaded = load::load_recorded_as(caller, &reader, run, Some(ReconciliationPart::Repair))?;
    let Some(goal) = loaded.goal.as_ref().map(|goal_plan| Arc::clone(&goal_plan.goal)) else {
        return Err(CommandError::new(CliExitCode::State, "the check run was recorded without its goal"));
    };
    let verdict = match check_result(&reader, run)? {
        None => GoalOutcome {
            health: ReconciliationHealth::Waiting,
            reason: open_reason(&reader, run, "the checks wait ")?,
        },
        Some(findings) => match next_step(&goal, &findings, None) {
            ReconciliationStep::End(verdict) => verdict,
            ReconciliationStep::Repair => {
                // A request to exit before the last check of the check run includes the repair, too.
                let repaired = if signals.exit_requested() {
                    RepairOutcome::Cancelled
                } else {
                    repair(caller, &loaded, run, &reader, observe)?
                };
                match next_step(&goal, &findings, Some(&repaired)) {
                    ReconciliationStep::End(verdict) => verdict,
                    ReconciliationStep::Repair => {
                        return Err(CommandError::new(CliExitCode::Bug, "a repair of a repair"));
                    }
                }
            }
        },
    };
    record_end(caller.host(), &loaded, &goal, run, verdict, lock)
}

/// Repairs, unless that was done or waits already; returns the result.
fn repair(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    look: &RunId,
    reader: &StoreReader,
    observe: ObserverFactory<'_>,
) -> Result<RepairOutcome, CommandError> {
    let cycle = cycle(reader, look)?;
    if let Some(run) = &cycle.repair {
        return repair_result(reader, run);
    }
    let Some(goal_plan) = &loaded.goal else {
        return Err(CommandError::new(CliExitCode::Bug, "not a goal"));
    };
    if let Some(waits) = other_repair(reader, &goal_plan.goal)? {
        return Ok(waits);
    }
    let checks = own_checks(reader, look)?.into_iter().map(|row| row.verdict).collect::<Vec<_>>();
    let params = reconciliation_params(&loaded.plan, &goal_plan.goal, cycle.slot, &checks)?;
    // Running it by hand accepts the programs; a standing approval pins all files anyway.
    if cycle.slot.is_some()
        && goal_plan.goal.approval == GoalApproval::None
        && let Err(refusal) = check_programs_accepted(caller, loaded)?
    {
        let reason = format!("{refusal}; wf goal accept {}", cycle.goal);
        return Ok(RepairOutcome::Waits(reason));
    }
    let run = run_id(caller.host(), &format!("repair of {look}"))?;
    let entered = match authorize_goal(caller, loaded, ReconciliationPart::Repair, &run, &params) {
        Ok(entered) => entered,
        Err(error) if error.exit == CliExitCode::Approval => {
            let path = &loaded.path;
            let reason = format!("{}; wf approve {path}", error.message);
            return Ok(RepairOutcome::Waits(reason));
        }
        // A failure that needs the user is not fixed by trying again.
        Err(error) if is_permanent(&error) => {
            let reason = failure_message(&error);
            return Ok(RepairOutcome::Failed(format!("it could not start: {reason}")));
        }
        Err(error) => return Err(error),
    };
    let claim = ReconciliationClaim::Repair { cycle: look.clone(), by_backend: false };
    if let Err(error) = start(
        caller,
        loaded,
        run_request(caller.host(), loaded, run.clone(), params, entered, claim),
        observe,
    ) {
        // Another reconciliation of the goal was faster.
        return other_repair(reader, &goal_plan.goal)?.ok_or(error);
    }
    repair_result(reader, &run)
}

/// Returns the reason to wait while another repair of the goal has not ended: two at once would
/// undo each other.
fn other_repair(reader: &StoreReader, goal: &Goal) -> Result<Option<RepairOutcome>, CommandError> {
    let before = reader.reconciliations().latest(&goal.id, EXAMINED_RECONCILIATIONS)?;
    for old in before.iter().filter_map(|cycle| cycle.repair.as_ref()) {
        if let Ok(row) = reader.runs().get(old)
            && row.state == RunState::Running
        {
            return if reader.leases().owner(old)?.is_some_and(|owner| owner.alive) {
                let reason = format!("another {} is running: {}", goal.noun(), old.short());
                Ok(Some(RepairOutcome::Waits(reason)))
            } else {
                let waits = match repair_result(reader, old)? {
                    waits @ RepairOutcome::Waits(_) => waits,
                    // It ended since the look, and counts for its own reconciliation.
                    _ => RepairOutcome::Waits(format!(
                        "another {} has just ended: {}",
                        goal.noun(),
                        old.short()
                    )),
                };
                Ok(Some(waits))
            };
        }
    }
    Ok(None)
}

/// Returns the warning that the standing approval of a goal ends, if it falls to its reconciliation.
fn expiry_warning(host: &Host, loaded: &LoadedPlan, goal: &Goal, row: &ReconciliationRow) -> Option<String> {
    let approval = standing_approval(&loaded.workspace, &goal.id, &loaded.path, host.now()).ok()?.ok()?;
    let slot = row.slot.unwrap_or(row.started_at);
    let this = ApprovedReconciliation {
        slot,
        next: goal.timing.next(slot.max(host.now())).map(|slot| slot.at),
        used_before: approval.used.saturating_sub(u32::from(row.repair.is_some())),
        used: approval.used,
    };
    this.warning(&approval.term()).filter(|_| approval.withdrawn.is_none())
}

/// Records the end of a reconciliation with all its consequences.
fn record_end(
    host: &Host,
    loaded: &LoadedPlan,
    goal: &Goal,
    run: &RunId,
    outcome: GoalOutcome,
    lock: FileLock,
) -> Result<ReconciliationResult, CommandError> {
    let state = &loaded.workspace.state;
    let reader = StoreReader::open(state)?;
    let mut before = reader.reconciliations().latest(&goal.id, EXAMINED_RECONCILIATIONS)?;
    before.retain(|cycle| cycle.run != *run && cycle.ended.is_some());
    let at = host.now();
    let cycle = cycle(&reader, run)?;
    let notified = NotifiedReconciliation {
        look: run,
        repair: cycle.repair.as_ref(),
        slot: cycle.slot,
        was_blocked: cycle.slot.map_or(Ok(false), |slot| reader.slots().is_blocked_before(&goal.id, slot))?,
    };
    let waits = |(_, health, reason): &(Moment, ReconciliationHealth, String)| {
        *health == ReconciliationHealth::Waiting
            && outcome.health == ReconciliationHealth::Waiting
            && *reason == outcome.reason
    };
    // A reconciliation that still waits sends no notification.
    let follows = if cycle.ended.as_ref().is_some_and(waits) {
        FollowUps::default()
    } else {
        let resumed = reader.goals().resumed_at(&goal.id)?;
        let ends = before.iter().filter_map(|cycle| cycle.ended.as_ref());
        let ends: Vec<_> = ends.map(|(at, health, _)| (*at, *health)).collect();
        follow_ups(goal, &ends, resumed, notified, &outcome, at)
    };
    let store = open_store(host, loaded)?;
    let mut notices = follows.notices;
    if let Some(reason) = expiry_warning(host, loaded, goal, &cycle) {
        notices.extend(notifications(goal, GoalEvent::Expiring, &reason, Some(notified), at));
    }
    let end =
        ReconciliationEnd { run: run.clone(), outcome: outcome.clone(), at, pause: follows.pause, notices };
    store.reconciliations().end(end).wait()?;
    lock.remove();
    Ok(ReconciliationResult { goal: goal.id.clone(), outcome })
}

//! The state of a daemon for people and for its health endpoint: its goals, their counters, and what blocks them.

use std::collections::BTreeMap;

use super::{daemon::Daemon, look::GoalExamination};
use crate::{
    daemon_io::health::{GoalBlockage, GoalHealth},
    goals::job_block,
};
use wf_base::{name::PlanId, remedy::UserAction, time::Moment, units::plural};
use wf_core::goal::GoalLedgerState;

/// The counters of one goal: scheduled times by result, and reconciliations by outcome.
#[derive(Clone, Debug, Default)]
pub(super) struct GoalCounters {
    slots: BTreeMap<&'static str, u64>,
    cycles: BTreeMap<&'static str, u64>,
}

pub(super) fn status(daemon: &Daemon<'_>, wake: Option<Moment>) -> String {
    let goals = plural(daemon.goals.goals().len(), "goal");
    let next = wake.map_or("never".to_owned(), Moment::to_second);
    let running = match daemon.children.work_count() {
        0 => "idle".to_owned(),
        1 => "1 reconciliation running".to_owned(),
        more => format!("{more} reconciliations running"),
    };
    format!("{goals}, next {next}, {running}")
}

/// Updates the health endpoint. Only the examined goals are counted anew.
pub(super) fn update_health(daemon: &mut Daemon<'_>, examination: &GoalExamination) {
    if daemon.options.health.is_none() {
        return;
    }
    let problem = examination.error.as_ref().map(ToString::to_string);
    let running = daemon.children.work_count() as u64;
    let (mut healths, mut counted) = (Vec::new(), Vec::new());
    for (goal, _) in &examination.turns {
        let reader = &daemon.leadership.reader;
        let refused = reader.slots().goal_block(&goal.id).unwrap_or_default();
        let next = daemon.agenda.wake_of(&goal.id);
        let ledger_state = reader.goals().ledger(&goal.id).ok().flatten();
        let is_paused = ledger_state.as_ref().is_some_and(|state| state.paused.is_some());
        let blocked = daemon.goals.blockage(&goal.id, refused);
        let blocked = blocked.or_else(|| start_failure(daemon, &goal.id, ledger_state.as_ref()?));
        let lacking =
            || job_block(daemon.caller, goal, &goal.path).filter(|_| daemon.goals.commit().is_none());
        let blocked = blocked.or_else(|| lacking().map(|reason| GoalBlockage { since: None, reason }));
        // What is not to be run is not missed.
        let blocked = blocked.filter(|_| next.is_some() && !is_paused);
        let health = GoalHealth::of(daemon.caller, goal, Some(reader), next, blocked);
        let counters = count_goal(daemon, &goal.id);
        let old_counters = daemon.accounts.insert(goal.id.clone(), counters.clone());
        healths.push((goal.id.to_string(), health, old_counters.unwrap_or_default(), counters));
    }
    let broken: Vec<PlanId> = daemon.goals.broken().map(|goal| goal.id).collect();
    for goal in broken {
        let counters = count_goal(daemon, &goal);
        let old_counters = daemon.accounts.insert(goal, counters.clone()).unwrap_or_default();
        counted.push((old_counters, counters));
    }
    let broken = daemon.goals.errors();
    let is_there = |key: &String| {
        daemon.goals.goals().keys().any(|goal| goal.as_str() == key) || broken.contains_key(key)
    };
    daemon.health.send_modify(|health| {
        (health.problem, health.running) = (problem, running);
        health.goals.retain(|key, _| is_there(key));
        for (key, reason) in &broken {
            let goal_health = health.goals.entry(key.clone()).or_default();
            (goal_health.next, goal_health.holds) = (None, None);
            goal_health.blocked = Some(GoalBlockage { since: None, reason: format!("broken: {reason}") });
        }
        for (old_counters, counters) in counted {
            replace_counts(&mut health.slots, &old_counters.slots, &counters.slots);
            replace_counts(&mut health.cycles, &old_counters.cycles, &counters.cycles);
        }
        for (goal, goal_health, old_counters, counters) in healths {
            health.goals.insert(goal, goal_health);
            replace_counts(&mut health.slots, &old_counters.slots, &counters.slots);
            replace_counts(&mut health.cycles, &old_counters.cycles, &counters.cycles);
        }
    });
}

/// Returns the block of a goal whose due reconciliations exit before they start.
fn start_failure(daemon: &Daemon<'_>, goal: &PlanId, state: &GoalLedgerState) -> Option<GoalBlockage> {
    let has_failed = |slot| daemon.failed_starts.contains_key(&(goal.to_string(), slot));
    let slot = state.open_slots.iter().map(|open| open.slot).find(|slot| has_failed(*slot))?;
    let run = daemon.caller.action_words(&UserAction::RunGoal(goal.to_string()));
    let reason = format!("its reconciliations cannot start; this shows why: {run}");
    Some(GoalBlockage { since: Some(slot), reason })
}

fn count_goal(daemon: &Daemon<'_>, goal: &PlanId) -> GoalCounters {
    let reader = &daemon.leadership.reader;
    let slots = reader.slots().counts(goal).unwrap_or_default().into_iter();
    let cycles = reader.reconciliations().counts(goal).unwrap_or_default().into_iter();
    GoalCounters {
        slots: slots.map(|(state, count)| (state.as_str(), count)).collect(),
        cycles: cycles.map(|(health, count)| (health.as_str(), count)).collect(),
    }
}

/// Drops the counters of past goals.
pub(super) fn forget_removed_goals(daemon: &mut Daemon<'_>) {
    let goals = daemon.goals.goals();
    let broken: Vec<PlanId> = daemon.goals.broken().map(|goal| goal.id).collect();
    let is_gone = |goal: &PlanId| !goals.contains_key(goal) && !broken.contains(goal);
    let extracted = daemon.accounts.extract_if(.., |goal, _| is_gone(goal));
    let removed: Vec<(PlanId, GoalCounters)> = extracted.collect();
    daemon.health.send_modify(|health| {
        for (goal, old_counters) in &removed {
            health.goals.remove(goal.as_str());
            replace_counts(&mut health.slots, &old_counters.slots, &BTreeMap::new());
            replace_counts(&mut health.cycles, &old_counters.cycles, &BTreeMap::new());
        }
    });
}

/// Replaces the counters of a goal in the totals.
fn replace_counts(
    totals: &mut BTreeMap<String, u64>,
    before: &BTreeMap<&'static str, u64>,
    now: &BTreeMap<&'static str, u64>,
) {
    for (word, count) in before {
        if let Some(sum) = totals.get_mut(*word) {
            *sum = sum.saturating_sub(*count);
        }
    }
    for (word, count) in now {
        *totals.entry((*word).to_owned()).or_default() += count;
    }
    totals.retain(|_, count| *count > 0);
}

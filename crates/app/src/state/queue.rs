//! The queue of a workspace: what the engine owes or waits for. It has no record of its own: every entry is read from
//! the place where the engine finds it, too, and named by what it is about, so that its id stays the same.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    Caller, CommandError, Host,
    approve::{RunApprovalRequest, approval_requests},
    keys::author,
    names::task_name_from_text,
    watch,
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
    units::first_line,
};
use wf_core::{goal::SlotState, machine::LockKey, ticket_queue::LockObstacle};
use wf_store::{
    LockWait, PermitTask, ReconciliationRow, RunFilter, RunState, SlotRow, Store, StoreDurability,
    StoreError, StoreReader, UndeliveredNotification, allow_no_state, feed::WorkspaceAction,
};

/// The state of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueState {
    /// It will be done, or answered.
    Waiting,
    /// It failed, and is not tried again unless a user requests it.
    Dead,
}

/// The subject of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QueueSubject {
    /// A notification about a goal.
    Notification {
        notification: u64,
        goal: PlanId,
        /// The number of rounds in which it was tried.
        tries: u32,
    },
    /// The latest slot of a goal.
    Slot { goal: PlanId },
    /// A question to the people of a named queue.
    Request {
        /// The run that is waiting.
        run: RunId,
        /// The number of the request in the run.
        request: u32,
        queue: String,
    },
    /// A task waiting for a lock, for a file, or until it may execute.
    Task {
        run: RunId,
        /// The task, as shown.
        task: String,
    },
}

/// Something that the engine owes or waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueEntry {
    pub id: String,
    pub state: QueueState,
    #[serde(flatten)]
    pub subject: QueueSubject,
    /// The time since which it is owed.
    pub since: Moment,
    /// The reason why it is not done.
    pub reason: String,
}

/// Returns the entries of the workspace; none without a state.
pub fn read_queue(host: &Host) -> Result<Vec<QueueEntry>, CommandError> {
    let reader = allow_no_state(StoreReader::open(&host.workspace().state))?;
    Ok(reader.map_or_else(|| Ok(Vec::new()), |reader| queue_entries(&reader))?)
}

/// Records that a person requeued an entry, and makes a notification due again. The goal of a slot is then reconciled.
pub fn requeue(caller: &dyn Caller, entry: &QueueEntry) -> Result<(), CommandError> {
    let host = caller.host();
    if let QueueSubject::Notification { notification, .. } = &entry.subject {
        let store = Store::open(&host.workspace().state, StoreDurability::Full, host.clock())?;
        if !store.notifications().requeue(*notification, host.now()).wait()? {
            return Ok(());
        }
    }
    let key = author(host).map(|key| key.public.id());
    watch::record_quietly(caller, WorkspaceAction::Requeued { entry: entry.id.clone(), key });
    Ok(())
}

/// Returns everything that the engine owes or waits for: dead entries first, each kind by time.
pub(crate) fn queue_entries(reader: &StoreReader) -> Result<Vec<QueueEntry>, StoreError> {
    let mut entries: Vec<QueueEntry> =
        reader.notifications().undelivered()?.into_iter().map(notification_entry).collect();
    let cycles =
        reader.reconciliations().latest_of_goals()?.into_iter().map(|cycle| (cycle.goal.clone(), cycle));
    let mut cycles: BTreeMap<PlanId, ReconciliationRow> = cycles.collect();
    for goal in reader.goals().all()? {
        let slot = reader.slots().latest(&goal.id, 1)?.pop();
        let cycle = cycles.remove(&goal.id);
        // What a pause leaves out is not owed.
        entries.extend(slot_entry(&goal.id, slot.filter(|_| goal.paused.is_none()), cycle));
    }
    // Goals that no daemon has considered.
    entries.extend(cycles.into_iter().filter_map(|(goal, cycle)| slot_entry(&goal, None, Some(cycle))));
    for row in reader
        .runs()
        .list(usize::MAX, &RunFilter { state: Some(RunState::Running), ..RunFilter::default() })?
    {
        if row.pending_approvals > 0 {
            entries.extend(approval_requests(reader, &row.id)?.into_iter().filter_map(request_entry));
        }
    }
    entries.extend(reader.leases().lock_waits()?.into_iter().map(|wait| lock_entry(reader, wait)));
    entries.extend(permit_entries(reader)?);
    entries.sort_by_key(|entry| entry.state == QueueState::Waiting);
    Ok(entries)
}

pub fn count_dead(entries: &[QueueEntry]) -> usize {
    entries.iter().filter(|entry| entry.state == QueueState::Dead).count()
}

fn notification_entry(row: UndeliveredNotification) -> QueueEntry {
    let UndeliveredNotification { notification, given_up, error } = row;
    QueueEntry {
        id: format!("notification-{}", notification.id),
        state: if given_up.is_some() { QueueState::Dead } else { QueueState::Waiting },
        since: notification.at,
        reason: error.unwrap_or_else(|| "not tried yet".into()),
        subject: QueueSubject::Notification {
            notification: notification.id,
            goal: notification.goal,
            tries: notification.tries,
        },
    }
}

/// Returns the entry of a goal's latest slot or reconciliation, whichever is later.
fn slot_entry(goal: &PlanId, slot: Option<SlotRow>, row: Option<ReconciliationRow>) -> Option<QueueEntry> {
    let entry = |state, since, reason: String| QueueEntry {
        id: format!("slot-{goal}"),
        state,
        subject: QueueSubject::Slot { goal: goal.clone() },
        since,
        reason,
    };
    if let Some(open) = slot.as_ref().filter(|slot| !slot.state.is_final()) {
        let reason =
            if open.reason.is_empty() { open.state.as_str().to_owned() } else { open.reason.clone() };
        return Some(entry(QueueState::Waiting, open.slot, reason));
    }
    let left_out = slot.filter(|slot| {
        let is_later = row.as_ref().is_none_or(|cycle| slot.at > cycle.started_at);
        matches!(slot.state, SlotState::Skipped | SlotState::Blocked | SlotState::Missed) && is_later
    });
    if let Some(slot) = left_out {
        return Some(entry(QueueState::Dead, slot.last, format!("{}: {}", slot.state.as_str(), slot.reason)));
    }
    let cycle = row?;
    let since = cycle.slot.unwrap_or(cycle.started_at);
    let (_, health, reason) = cycle.ended.filter(|(_, health, _)| health.is_failure())?;
    Some(entry(QueueState::Dead, since, format!("{}: {reason}", health.as_str())))
}

fn request_entry(request: RunApprovalRequest) -> Option<QueueEntry> {
    let queue = request.request.queue.clone().filter(|_| request.outcome.is_none())?;
    Some(QueueEntry {
        id: format!("request-{}-{}", request.run.short(), request.request.request),
        state: QueueState::Waiting,
        since: request.request.since,
        reason: first_line(&request.request.message).to_owned(),
        subject: QueueSubject::Request { run: request.run, request: request.request.request, queue },
    })
}

/// The number of tasks with a permit named in a reason.
const NAMED: usize = 3;

/// Returns the entries of tasks waiting until they may execute.
fn permit_entries(reader: &StoreReader) -> Result<Vec<QueueEntry>, StoreError> {
    let (holders, waits) = reader.leases().permit_tasks()?;
    let shown = |task: &PermitTask| task_name_from_text(Some(reader), &task.run, &task.place);
    let named =
        holders.iter().take(NAMED).map(|task| format!("step {} of run {}", shown(task), task.run.short()));
    let mut named: Vec<String> = named.collect();
    if holders.len() > NAMED {
        named.push(format!("{} more", holders.len() - NAMED));
    }
    let reason = if named.is_empty() {
        "waits for its turn to execute; nothing executes now".to_owned()
    } else {
        format!("waits for its turn to execute, after {}", named.join(", "))
    };
    let entries = waits.into_iter().map(|wait| QueueEntry {
        id: format!("task-{}-{}", wait.run.short(), wait.place),
        state: QueueState::Waiting,
        since: wait.since,
        reason: reason.clone(),
        subject: QueueSubject::Task { task: shown(&wait), run: wait.run },
    });
    Ok(entries.collect())
}

fn lock_entry(reader: &StoreReader, wait: LockWait) -> QueueEntry {
    let shown = |run, place| task_name_from_text(Some(reader), run, place);
    let reason = match &wait.obstacle {
        Some(LockObstacle { key, holder, ahead, .. }) => {
            let lock = match key {
                LockKey::Name(name) => format!("lock `{name}`"),
                LockKey::File(path) => path.clone(),
            };
            let verb = if holder.waits { "gets first" } else { "has" };
            let task = shown(&holder.run, &holder.place);
            let others = ahead.saturating_sub(usize::from(holder.waits));
            let behind = if others == 0 { String::new() } else { format!(", behind {others} more") };
            format!("waits for {lock}, which step {task} of run {} {verb}{behind}", holder.run.short())
        }
        None => "waits for what has just become free".to_owned(),
    };
    QueueEntry {
        id: format!("task-{}-{}", wait.run.short(), wait.place),
        state: QueueState::Waiting,
        since: wait.since,
        reason,
        subject: QueueSubject::Task { task: shown(&wait.run, &wait.place), run: wait.run },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_core::goal::{ReconciliationCause, ReconciliationHealth};

    fn at(second: i64) -> Moment {
        Moment::from_millis(second * 1000)
    }

    fn slot(state: SlotState, second: i64) -> SlotRow {
        SlotRow {
            slot: at(second),
            last: at(second),
            count: 1,
            state,
            cause: ReconciliationCause::Schedule,
            reason: "the daemon was not running".into(),
            at: at(second),
            run: None,
        }
    }

    fn cycle(health: ReconciliationHealth) -> ReconciliationRow {
        ReconciliationRow {
            run: RunId::from_bytes([1; 16]),
            goal: PlanId::parse("mirror").unwrap(),
            slot: Some(at(5)),
            cause: ReconciliationCause::Schedule,
            started_at: at(5),
            repair: None,
            ended: Some((at(6), health, "a check fails".into())),
        }
    }

    /// The state and the reason of the entry of a goal.
    fn owed(slot: Option<SlotRow>, health: ReconciliationHealth) -> Option<(QueueState, String)> {
        let goal = PlanId::parse("mirror").unwrap();
        slot_entry(&goal, slot, Some(cycle(health))).map(|entry| (entry.state, entry.reason))
    }

    #[test]
    fn only_the_latest_of_a_goal_is_owed() {
        let failed = ReconciliationHealth::Failed;
        let dead = |reason: &str| Some((QueueState::Dead, reason.to_owned()));
        assert_eq!(owed(None, failed), dead("failed: a check fails"));
        assert_eq!(owed(None, ReconciliationHealth::Healthy), None);
        let missed = Some(slot(SlotState::Missed, 7));
        assert_eq!(owed(missed, ReconciliationHealth::Healthy), dead("missed: the daemon was not running"));
        let before = Some(slot(SlotState::Missed, 4));
        assert_eq!(owed(before, ReconciliationHealth::Healthy), None, "it was made good");
        let due = owed(Some(slot(SlotState::Due, 7)), failed);
        assert_eq!(due, Some((QueueState::Waiting, "the daemon was not running".to_owned())));
    }

    #[test]
    fn a_notification_is_dead_once_it_was_given_up() {
        let body = serde_json::Value::Null;
        let goal = PlanId::parse("mirror").unwrap();
        let notification = wf_store::NotificationRow { id: 7, goal, body, at: at(1), tries: 5 };
        let row = |given_up| UndeliveredNotification {
            notification: notification.clone(),
            given_up,
            error: Some("refused".into()),
        };
        let [open, dead] = [None, Some(at(2))].map(|given_up| notification_entry(row(given_up)));
        assert_eq!((open.state, dead.state), (QueueState::Waiting, QueueState::Dead));
        assert_eq!((dead.id.as_str(), dead.reason.as_str()), ("notification-7", "refused"));
        assert_eq!(count_dead(&[open, dead]), 1);
    }
}

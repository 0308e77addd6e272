//! Goals with unreadable files: they stay due by the schedule they had, and miss each scheduled time.

use super::{daemon::Daemon, look::backoff_pause};
use wf_base::{
    name::PlanId,
    time::Moment,
    untrusted::{BAD, paint},
};
use wf_core::goal::missed_while_broken;
use wf_store::{LedgerGoal, StoreError};

/// A goal with an unreadable file.
#[derive(Clone, Debug)]
pub(super) struct BrokenGoal {
    pub(super) id: PlanId,
    /// Its file.
    pub(super) path: String,
    /// The reason, with the place.
    pub(super) reason: String,
}

/// Records the times of broken goals that came as missed; returns when the next of them can come.
pub(super) async fn miss_broken(daemon: &Daemon<'_>, now: Moment) -> Option<Moment> {
    let mut wakes = Vec::new();
    for goal in daemon.goals.broken().filter(|goal| !daemon.deployed.contains_key(&goal.id)) {
        match record_missed(daemon, &goal, now).await {
            Ok(wake) => wakes.extend(wake),
            Err(error) => {
                let remedy = daemon.caller.remedy_text(&error.remedy());
                let line = format!("{} {error}; {remedy}", paint(BAD, "error:"));
                daemon.caller.message_line(&line);
                wakes.push(now.after(backoff_pause(1)));
            }
        }
    }
    wakes.into_iter().min()
}

async fn record_missed(
    daemon: &Daemon<'_>,
    goal: &BrokenGoal,
    now: Moment,
) -> Result<Option<Moment>, StoreError> {
    let Some(state) = daemon.leadership.reader.goals().ledger(&goal.id)? else {
        return Ok(None);
    };
    let decision = missed_while_broken(&goal.id, &state, &goal.reason, now);
    let wake = decision.wake;
    let Some(timing) = state.timing.filter(|_| !decision.rows.is_empty()) else {
        return Ok(wake);
    };
    let noted = LedgerGoal { id: goal.id.clone(), path: goal.path.clone(), schedule: timing };
    let (store, token) = (&daemon.leadership.store, daemon.leadership.token);
    store.goals().record_decision(noted, Some(state.decided_until), decision, Some(token), now).await?;
    Ok(wake)
}

use serde_json::{Value, json};

use super::state_reader;
use crate::approve::SigningRules;
use crate::daemon_io::health::GoalBlockage;
use crate::goals::{DeployedGoal, GoalFile, list_goals_with_acceptance, read_deployment};
use crate::{Caller, CommandError};
use wf_base::time::Moment;
use wf_model::Goal;
use wf_sign::approval::ReviewPolicy;
use wf_store::{GoalRow, ReconciliationRow, StoreReader};

/// The most reconciliations among which the last one that ended is looked for.
const RECENT: usize = 20;

/// A goal in a list.
pub struct GoalListing {
    /// Its file.
    pub found: GoalFile,
    /// Its account; `None`: no daemon has decided about it yet.
    pub row: Option<GoalRow>,
    /// The last reconciliation that ended.
    pub last: Option<ReconciliationRow>,
    /// The next time at which one starts.
    pub next: Option<Moment>,
    /// The reason why it is not run any more, if it is not.
    pub blocked: Option<GoalBlockage>,
}

/// Lists the goals of a workspace, by path.
pub fn goal_listings(caller: &dyn Caller) -> Result<Vec<GoalListing>, CommandError> {
    goal_listings_of(caller, state_reader(caller)?.as_deref())
}

/// Does the same with a state that is open; `None`: there is none yet.
pub(super) fn goal_listings_of(
    caller: &dyn Caller,
    reader: Option<&StoreReader>,
) -> Result<Vec<GoalListing>, CommandError> {
    let now = caller.host().now();
    let files = list_goals_with_acceptance(caller, &caller.host().workspace());
    let is_reviewed =
        SigningRules::of(caller, &caller.host().workspace())?.approvers.policy == ReviewPolicy::Reviewed;
    files.into_iter().map(|found| GoalListing::of(found, reader, is_reviewed, now)).collect()
}

impl GoalListing {
    fn of(
        found: GoalFile,
        reader: Option<&StoreReader>,
        is_reviewed: bool,
        now: Moment,
    ) -> Result<Self, CommandError> {
        let mut listing = Self { found, row: None, last: None, next: None, blocked: None };
        let Ok(goal) = listing.found.goal.clone() else {
            return Ok(listing);
        };
        listing.next = goal.timing.next(now).map(|slot| start_time(&goal, slot.at));
        if let Some(reader) = reader {
            listing.row = reader.goals()?.into_iter().find(|row| row.id == goal.id);
            let cycles = reader.cycles(&goal.id, RECENT)?;
            listing.last = cycles.into_iter().find(|cycle| cycle.ended.is_some());
        }
        let refused = reader.map_or(Ok(None), |reader| reader.blocked(&goal.id))?;
        let since = refused.as_ref().map(|refused| refused.since);
        // Where people other than the owner approve, only a reconciliation finds out.
        let refused = refused.filter(|_| is_reviewed).map(|refused| refused.reason);
        let reason = listing.found.awaited_acceptance.clone().or(refused);
        listing.blocked = reason.map(|reason| GoalBlockage { since, reason });
        Ok(listing)
    }

    /// Returns its deployment, if it has one.
    pub fn deployment(&self) -> Option<DeployedGoal> {
        read_deployment(self.row.as_ref()?.deployment.as_ref()?).ok()
    }

    /// Returns the goal as a document.
    pub fn json(&self) -> Value {
        let path = &self.found.path;
        let goal = match &self.found.goal {
            Ok(goal) => goal,
            Err(reason) => return json!({"id": self.found.id, "path": path, "broken": reason}),
        };
        let paused = self.row.as_ref().and_then(|row| row.paused.as_ref());
        let ended = self.last.as_ref().and_then(|cycle| cycle.ended.as_ref());
        let (health, reason, since) = match &self.blocked {
            Some(blocked) => (Some("blocked"), Some(&blocked.reason), blocked.since),
            None => (
                ended.map(|(_, health, _)| health.as_str()),
                ended.map(|(_, _, reason)| reason),
                ended.map(|(at, _, _)| *at),
            ),
        };
        json!({
            "id": goal.id,
            "path": path,
            "title": goal.title,
            "health": health,
            "reason": reason,
            "since": since,
            "paused": paused.map(|(since, reason)| json!({"since": since, "reason": reason})),
            "next": self.next,
            "deployed": self.deployment().map(|deployed| json!({"on": deployed.backend, "since": deployed.since})),
            "waits": self.found.awaited_acceptance,
        })
    }
}

/// Returns the time at which the reconciliation of a scheduled time starts.
fn start_time(goal: &Goal, slot: Moment) -> Moment {
    slot.after(goal.timing.offset(goal.id.as_str()))
}

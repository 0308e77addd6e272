use serde_json::{Value, json};

use super::{StateReader, state_reader};
use crate::{
    CONFIG, Caller, CommandError,
    approve::{SigningRules, standing_approval},
    daemon_io::health::GoalBlockage,
    goals::{DeployedGoal, GoalFile, job_block, list_goals_with_acceptance, read_deployment},
    specs::load,
};
use wf_base::{diag::Severity, remedy::UserAction, time::Moment};
use wf_lang::DiskFiles;
use wf_model::Goal;
use wf_sign::approval::ReviewPolicy;
use wf_store::{GoalRow, ReconciliationRow, StoreReader};

/// The most reconciliations among which the last one that ended is looked for.
const RECENT: usize = 20;

/// A goal in a list.
pub struct GoalListing {
    pub file: GoalFile,
    /// Its account; `None`: no daemon has decided about it yet.
    pub row: Option<GoalRow>,
    /// The last reconciliation that ended.
    pub last_row: Option<ReconciliationRow>,
    /// The next time at which one starts.
    pub next: Option<Moment>,
    /// The reason why it is not run any more, if it is not.
    pub blocked: Option<GoalBlockage>,
}

/// Lists the goals of a workspace, by path.
pub fn goal_listings(caller: &dyn Caller) -> Result<Vec<GoalListing>, CommandError> {
    goal_listings_of(caller, state_reader(caller)?.as_ref().map(StateReader::store))
}

/// Does the same with a state that is open; `None`: there is none yet.
pub(super) fn goal_listings_of(
    caller: &dyn Caller,
    reader: Option<&StoreReader>,
) -> Result<Vec<GoalListing>, CommandError> {
    let files = list_goals_with_acceptance(caller, &caller.host().workspace());
    let is_reviewed =
        SigningRules::of(caller, &caller.host().workspace())?.approvers.policy == ReviewPolicy::Reviewed;
    let config = load::read_config(&DiskFiles::new(caller.host().workspace().root), CONFIG);
    let is_invalid = config.is_some_and(|(_, checked)| checked.count(Severity::Error) > 0);
    let list = |file| {
        let mut listing = GoalListing::of(caller, file, reader, is_reviewed)?;
        if is_invalid && listing.file.goal.is_ok() {
            let check = caller.action_words(&UserAction::CheckFile(CONFIG.to_owned()));
            let reason = format!("its reconciliations cannot start: {CONFIG} is invalid: {check}");
            listing.blocked = Some(GoalBlockage { since: None, reason });
        }
        Ok(listing)
    };
    files.into_iter().map(list).collect()
}

impl GoalListing {
    fn of(
        caller: &dyn Caller,
        file: GoalFile,
        reader: Option<&StoreReader>,
        is_reviewed: bool,
    ) -> Result<Self, CommandError> {
        let now = caller.host().now();
        let mut listing = Self { file, row: None, last_row: None, next: None, blocked: None };
        let Ok(goal) = listing.file.goal.clone() else {
            return Ok(listing);
        };
        listing.next = goal.timing.next(now).map(|slot| start_time(&goal, slot.at));
        if let Some(reader) = reader {
            listing.row = reader.goals().all()?.into_iter().find(|row| row.id == goal.id);
            let cycles = reader.reconciliations().latest(&goal.id, RECENT)?;
            listing.last_row = cycles.into_iter().find(|cycle| cycle.ended.is_some());
        }
        let refused = reader.map_or(Ok(None), |reader| reader.slots().goal_block(&goal.id))?;
        let since = refused.as_ref().map(|refused| refused.since);
        let (workspace, path) = (caller.host().workspace(), &listing.file.path);
        let is_signed = is_reviewed || goal.is_signed_job();
        let approval = is_signed.then(|| standing_approval(&workspace, &goal.id, path, now)).transpose()?;
        let issued = approval.as_ref().and_then(|checked| Some(checked.as_ref().ok()?.statement.issued));
        // Whether an approval covers the workspace as it is, only a reconciliation finds out.
        let refused = refused.filter(|refused| is_signed && issued.is_none_or(|issued| issued <= refused.at));
        let lacking = job_block(caller, &goal, path);
        let awaited = listing.file.awaited_acceptance.clone();
        let reason = awaited.or(lacking).or(refused.map(|refused| refused.reason));
        listing.blocked = reason.map(|reason| GoalBlockage { since, reason });
        Ok(listing)
    }

    pub fn deployment(&self) -> Option<DeployedGoal> {
        read_deployment(self.row.as_ref()?.deployment.as_ref()?).ok()
    }

    /// Returns the goal as a document.
    pub fn json(&self) -> Value {
        let path = &self.file.path;
        let goal = match &self.file.goal {
            Ok(goal) => goal,
            Err(error) => return json!({"id": self.file.id, "path": path, "broken": error.to_string()}),
        };
        let paused = self.row.as_ref().and_then(|row| row.paused.as_ref());
        let ended = self.last_row.as_ref().and_then(|cycle| cycle.ended.as_ref());
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
            "waits": self.file.awaited_acceptance,
        })
    }
}

/// Returns the time at which the reconciliation of a scheduled time starts.
fn start_time(goal: &Goal, slot: Moment) -> Moment {
    slot.after(goal.timing.offset(goal.id.as_str()))
}

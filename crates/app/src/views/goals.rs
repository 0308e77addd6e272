use serde::Serialize;
use serde_json::{Value, json};

use super::{StateReader, state_reader};
use crate::{
    CONFIG, Caller, CommandError,
    approve::{SigningRules, standing_approval},
    daemon_io::health::GoalBlockage,
    goals::{DeployedGoal, GoalFile, job_block, list_goals_with_acceptance, read_deployment},
    specs::load,
};
use wf_base::{diag::Severity, name::RunId, remedy::UserAction, time::Moment};
use wf_core::goal::ReconciliationHealth;
use wf_lang::DiskFiles;
use wf_model::{Goal, GoalApproval};
use wf_sign::approval::ReviewPolicy;
use wf_store::{GoalRow, ReconciliationRow, StoreReader};

/// The most reconciliations that a list reads, and among which the last one that ended is looked for.
const RECENT: usize = 30;

/// A goal in a list.
pub struct GoalListing {
    pub file: GoalFile,
    /// Its account; `None`: no daemon has decided about it yet.
    pub row: Option<GoalRow>,
    /// The latest reconciliations, newest first.
    pub recent: Vec<ReconciliationRow>,
    /// The last reconciliation that ended.
    pub last_row: Option<ReconciliationRow>,
    /// Since when it is as it is: the scheduled time of the first failure, if it fails.
    pub since: Option<Moment>,
    /// The next time at which one starts.
    pub next: Option<Moment>,
    /// The reason why it is not run any more, if it is not.
    pub blocked: Option<GoalBlockage>,
    /// The use of its standing approval; `None`: it has none.
    pub autonomy: Option<AutonomyUse>,
}

/// The use of a standing approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AutonomyUse {
    pub used: u32,
    pub limit: u32,
    /// The word for its state.
    pub state: &'static str,
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
        let mut listing = Self {
            file,
            row: None,
            recent: Vec::new(),
            last_row: None,
            since: None,
            next: None,
            blocked: None,
            autonomy: None,
        };
        let Ok(goal) = listing.file.goal.clone() else {
            return Ok(listing);
        };
        listing.next = goal.timing.next(now).map(|slot| start_time(&goal, slot.at));
        if let Some(reader) = reader {
            listing.row = reader.goals().all()?.into_iter().find(|row| row.id == goal.id);
            listing.recent = reader.reconciliations().latest(&goal.id, RECENT)?;
            listing.last_row = listing.recent.iter().find(|cycle| cycle.ended.is_some()).cloned();
            listing.since = listing.last_row.as_ref().and_then(|cycle| Some(cycle.ended.as_ref()?.0));
            if listing.last_health() == Some(ReconciliationHealth::Failed) {
                listing.since = reader.reconciliations().failing_since(&goal.id)?.or(listing.since);
            }
        }
        let refused = reader.map_or(Ok(None), |reader| reader.slots().goal_block(&goal.id))?;
        let since = refused.as_ref().map(|refused| refused.since);
        let (workspace, path) = (caller.host().workspace(), &listing.file.path);
        let is_signed = is_reviewed || goal.is_signed_job();
        let is_standing = is_signed || goal.approval == GoalApproval::Standing;
        let approval = is_standing.then(|| standing_approval(&workspace, &goal.id, path, now)).transpose()?;
        listing.autonomy = approval.as_ref().and_then(|checked| {
            let standing = checked.as_ref().ok()?;
            let (used, limit) = (standing.used, standing.statement.executions);
            Some(AutonomyUse { used, limit, state: standing.state(now) })
        });
        let issued = approval.as_ref().and_then(|checked| Some(checked.as_ref().ok()?.statement.issued));
        // Whether an approval covers the workspace as it is, only a reconciliation finds out.
        let refused = refused.filter(|refused| is_signed && issued.is_none_or(|issued| issued <= refused.at));
        let lacking = job_block(caller, &goal, path);
        let awaited = listing.file.awaited_acceptance.clone();
        let reason = awaited.or(lacking).or(refused.map(|refused| refused.reason));
        listing.blocked = reason.map(|reason| GoalBlockage { since, reason });
        Ok(listing)
    }

    pub fn is_paused(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.paused.is_some())
    }

    fn last_health(&self) -> Option<ReconciliationHealth> {
        Some(self.last_row.as_ref()?.ended.as_ref()?.1)
    }

    /// Returns the last run that found that the goal is not kept; `None`: it is, or it is not known.
    pub fn failed_run(&self) -> Option<RunId> {
        let is_failing = matches!(
            self.last_health(),
            Some(
                ReconciliationHealth::Failed | ReconciliationHealth::Unknown | ReconciliationHealth::Waiting
            )
        );
        self.last_row.as_ref().filter(|_| is_failing).map(|cycle| decisive_run(cycle).clone())
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
            None => {
                (ended.map(|(_, health, _)| health.as_str()), ended.map(|(_, _, reason)| reason), self.since)
            }
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

/// Returns the run that decided a reconciliation: the repair, or else the check.
pub(super) fn decisive_run(cycle: &ReconciliationRow) -> &RunId {
    cycle.repair.as_ref().unwrap_or(&cycle.run)
}

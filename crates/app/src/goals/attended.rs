use crate::{
    Caller, CliExitCode,
    approve::{authorize_goal, standing_approval, token_path},
    goals::{
        FileLock, GoalFile, GoalSource, LEADER_LOCK, list_goals_on_disk, list_goals_with_acceptance,
        reconciliation_params,
    },
    specs::load,
    state::doctor::{DoctorFinding, DoctorStatus},
};
use wf_base::{
    name::{PlanId, RunId},
    remedy::UserAction,
    units::plural,
};
use wf_core::goal::ReconciliationPart;
use wf_model::{Goal, GoalApproval};
use wf_store::StoreReader;

/// A finding about a goal or the daemon, with the act for it.
pub struct GoalFinding {
    pub finding: DoctorFinding,
    pub action: UserAction,
}

impl GoalFinding {
    fn of_goal(text: String, action: UserAction) -> Self {
        Self { finding: DoctorFinding::new("goal", DoctorStatus::Weak, text), action }
    }
}

/// Checks that the goals of a workspace are readable, and that a daemon schedules them; no findings
/// where there are none.
pub fn check_goals_scheduled(caller: &dyn Caller) -> Vec<GoalFinding> {
    let workspace = caller.host().workspace();
    let files = list_goals_with_acceptance(caller, &workspace);
    let broken = files.iter().filter_map(|file| {
        let reason = file.goal.as_ref().err()?;
        let text = format!("{} is skipped: {reason}", file.path);
        Some(GoalFinding::of_goal(text, UserAction::ListGoals))
    });
    let mut findings: Vec<GoalFinding> = broken.collect();
    let count = files.len() - findings.len();
    findings.extend(files.iter().filter_map(|file| {
        let text = format!("{} {}", file.path, file.awaited_acceptance.as_ref()?);
        let goal = file.goal.as_ref().ok()?;
        Some(GoalFinding::of_goal(text, UserAction::AcceptGoal(goal.id.clone())))
    }));
    let is_led = FileLock::is_locked(&workspace.state, LEADER_LOCK);
    if files.is_empty() && !is_led {
        return findings;
    }
    let goals = plural(count, "goal");
    let leader = StoreReader::open(&workspace.state).and_then(|reader| reader.goals().leader());
    let finding = match leader {
        Ok(Some((_, pid, since))) if is_led => {
            let since = since.to_second();
            let text = format!("leader: process {pid}, since {since} · {goals} in these files");
            DoctorFinding::new("daemon", DoctorStatus::Good, text)
        }
        _ => {
            let start = caller.action_words(&UserAction::StartDaemon);
            let text = format!("not running: goals are scheduled only by `{start}`");
            DoctorFinding::new("daemon", DoctorStatus::Weak, text)
        }
    };
    findings.push(GoalFinding { finding, action: UserAction::StartDaemon });
    findings
}

/// A goal with a standing approval at its end, or near it.
pub struct EndingApproval {
    pub goal: PlanId,
    /// Its file.
    pub path: String,
    /// The reason to give another approval.
    pub reason: String,
}

/// Returns the goals on disk with standing approvals at their end, or near it.
pub fn ending_approvals(caller: &dyn Caller) -> Vec<EndingApproval> {
    let (workspace, now) = (caller.host().workspace(), caller.host().now());
    let ending = |file: GoalFile| {
        let goal = file.goal.ok().filter(|goal| goal.approval == GoalApproval::Standing)?;
        let approval = standing_approval(&workspace, &goal.id, &file.path, now).ok()?.ok()?;
        let reason = approval.shortcoming(now)?;
        Some(EndingApproval { goal: goal.id.clone(), path: file.path, reason })
    };
    list_goals_on_disk(&workspace).into_iter().filter_map(ending).collect()
}

/// Returns a finding for each of them, and for each standing approval of another state of the workspace.
pub fn check_standing_approvals(caller: &dyn Caller) -> Vec<DoctorFinding> {
    let workspace = caller.host().workspace();
    let mut lacking = ending_approvals(caller);
    for file in list_goals_on_disk(&workspace) {
        let is_known = lacking.iter().any(|approval| approval.path == file.path);
        if let Ok(goal) = file.goal
            && goal.approval == GoalApproval::Standing
            && token_path(&workspace.root.join(&file.path)).exists()
            && !is_known
            && let Some(reason) = approval_gap(caller, &file.path)
        {
            lacking.push(EndingApproval { goal: goal.id.clone(), path: file.path, reason });
        }
    }
    let finding = |EndingApproval { goal, path, reason }| {
        let approve = caller.action_words(&UserAction::ApprovePlan(path));
        DoctorFinding::new("approval", DoctorStatus::Weak, format!("{goal}: {reason}; {approve}"))
    };
    lacking.into_iter().map(finding).collect()
}

/// Returns the reason why no run of a job may start, if its standing approval is missing, or has ended.
pub fn job_block(caller: &dyn Caller, goal: &Goal, path: &str) -> Option<String> {
    let (workspace, now) = (caller.host().workspace(), caller.host().now());
    if !goal.is_signed_job() {
        return None;
    }
    let reason = match standing_approval(&workspace, &goal.id, path, now).ok()? {
        Ok(approval) if approval.state(now) == "holds" => return None,
        Ok(approval) => approval.shortcoming(now)?,
        Err(refusal) => format!("{path} is not approved: {refusal}"),
    };
    Some(format!("{reason}; {}", caller.action_words(&UserAction::ApprovePlan(path.to_owned()))))
}

/// Returns the reason why no repair of a goal, or run of a job, may start now, if its standing approval does not permit it.
/// Reads the whole workspace.
pub fn approval_gap(caller: &dyn Caller, path: &str) -> Option<String> {
    let workspace = caller.host().workspace();
    let files = GoalSource::Disk.files(&workspace);
    let part = ReconciliationPart::Repair;
    let (loaded, goal) = load::load_goal(caller, &*files, workspace.clone(), path, part).ok()?;
    let params = reconciliation_params(&loaded.plan, &goal, None, &[]).ok()?;
    let refused = authorize_goal(caller, &loaded, part, &RunId::from_bytes([0; 16]), &params).err()?;
    (refused.exit == CliExitCode::Approval).then_some(refused.message)
}

use crate::Caller;
use crate::approve::standing_approval;
use crate::doctor::{DoctorFinding, DoctorStatus};
use crate::goals::list_goals_with_acceptance;
use crate::goals::{FileLock, LEADER_LOCK};
use wf_base::units::plural;
use wf_model::GoalApproval;
use wf_store::StoreReader;

/// Checks that the goals of a workspace are readable, and that a daemon schedules them; no findings
/// where there are none.
pub fn check_goals_scheduled(caller: &dyn Caller) -> Vec<DoctorFinding> {
    let workspace = caller.host().workspace();
    let found = list_goals_with_acceptance(caller, &workspace);
    let broken = found.iter().filter_map(|one| {
        let reason = one.goal.as_ref().err()?;
        let told = format!("{} is skipped: {reason}", one.path);
        Some(DoctorFinding::new("goal", DoctorStatus::Weak, told))
    });
    let mut findings: Vec<DoctorFinding> = broken.collect();
    let count = found.len() - findings.len();
    findings.extend(found.iter().filter_map(|one| {
        let told = format!("{} {}", one.path, one.awaited_acceptance.as_ref()?);
        Some(DoctorFinding::new("goal", DoctorStatus::Weak, told))
    }));
    findings.extend(found.iter().filter_map(|one| {
        let goal = one.goal.as_ref().ok().filter(|goal| goal.approval == GoalApproval::Standing)?;
        let now = caller.host().now();
        let approval = standing_approval(&workspace, &goal.id, &one.path, now).ok()?.ok()?;
        let warning = match approval.state(now) {
            "holds" => approval.warning(now)?,
            ended => format!("its standing approval is {ended}: nothing is repaired under it"),
        };
        let told = format!("{}: {warning}; wf approve {}", goal.id, one.path);
        Some(DoctorFinding::new("goal", DoctorStatus::Weak, told))
    }));
    let held = FileLock::is_locked(&workspace.state, LEADER_LOCK);
    if found.is_empty() && !held {
        return findings;
    }
    let goals = plural(count, "goal");
    let leader = StoreReader::open(&workspace.state).and_then(|reader| reader.leader());
    findings.push(match leader {
        Ok(Some((_, pid, since))) if held => {
            let since = since.to_second();
            let told = format!("leader: process {pid}, since {since} · {goals} in these files");
            DoctorFinding::new("daemon", DoctorStatus::Good, told)
        }
        _ => {
            let told = "not running: goals are scheduled only by `wf daemon`".to_owned();
            DoctorFinding::new("daemon", DoctorStatus::Weak, told)
        }
    });
    findings
}

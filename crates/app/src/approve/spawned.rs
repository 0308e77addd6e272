//! The plan a standing approval of a goal lets start, and the policy binding it.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::json;

use crate::specs::load::{GoalPlan, LoadedPlan};
use wf_base::digest::Sha256Digest;
use wf_core::machine::PinnedFile;
use wf_exec::pinned;
use wf_model::Plan;
use wf_sign::approval::{SpawnPolicy, SpawnedPlan, plan_digest};

/// Returns what a goal is about to start, if it is one.
pub fn spawned_goal(loaded: &LoadedPlan, files: &[PinnedFile]) -> Option<SpawnedPlan> {
    let policy = spawn_policy(loaded, loaded.goal.as_ref()?).digest();
    let plan = plan_digest(files);
    Some(SpawnedPlan { policy, plan })
}

/// Returns the spawn policy of a standing approval of a goal: its own plan with its own text,
/// gates, checks and escalations.
fn spawn_policy(loaded: &LoadedPlan, goal_plan: &GoalPlan) -> SpawnPolicy {
    let text = loaded.sources.first().map(|(_, text)| text.clone());
    let parts = goal_plan.whole_plan.parts();
    let gates = loaded
        .sources
        .iter()
        .filter(|(path, _)| path.starts_with("gates/"))
        .map(|(path, text)| json!({"path": path, "digest": Sha256Digest::of_bytes(text.as_bytes())}));
    let checks = parts.verify.iter().map(|check| json!(check.name));
    let escalations = parts.escalations.iter();
    SpawnPolicy {
        failure_template: text.unwrap_or_default(),
        skills: usable_skills(&goal_plan.whole_plan),
        gates: gates.collect(),
        verify: checks.collect(),
        escalations: escalations
            .map(|escalation| (escalation.name.clone(), json!(escalation.plan)))
            .collect(),
    }
}

/// The skills open to a goal and all its plans.
fn usable_skills(plan: &Arc<Plan>) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = pinned::skills(plan);
    let skill_names = plan.parts().skills.iter().flatten();
    names.extend(skill_names.map(ToString::to_string));
    names
}

use super::bounds::ParamBoundArgs;
use super::view::{changes_text, plan_summary};
use crate::{Ui, params};
use wf_app::CommandError;
use wf_app::approve::{PlanReview, SigningOptions};
use wf_app::goals::approval_gap;
use wf_app::load::LoadedPlan;
use wf_model::{GoalApproval, OnUnmet, PlanParam};

/// Shows a goal and what changed since it was accepted, asks, and signs. `ready` is the goal as it
/// is reviewed.
pub fn accept_goal(ui: &Ui, ready: LoadedPlan, signing: &SigningOptions) -> Result<(), CommandError> {
    let bounds = ParamBoundArgs::default();
    let values = |params: &[PlanParam]| params::resolve_some(ui, params, &bounds.params);
    let review = PlanReview::of_goal(ui, ready, &bounds.request(&values))?;
    let show = || {
        ui.print(&plan_summary(&review))?;
        ui.print(&changes_text(ui, &review))
    };
    let goal = &review.token.statement.plan.id;
    review.token.sign(ui, &format!("Accept {goal}?"), signing, &show)?;
    ui.print_info_line(&match &review.ready.goal {
        Some(of) if of.goal.is_signed_job() => {
            format!(
                "accepted {goal}: its runs need a standing approval, too: wf approve {}",
                review.ready.path
            )
        }
        Some(of)
            if of.goal.on_failure == OnUnmet::SpawnPlan
                && of.goal.approval == GoalApproval::Standing
                && approval_gap(ui, &review.ready.path).is_some() =>
        {
            let path = &review.ready.path;
            format!("accepted {goal}: `wf daemon` now runs its checks; to let it repair: wf approve {path}")
        }
        _ => format!("accepted {goal}: `wf daemon` now runs it"),
    });
    Ok(())
}

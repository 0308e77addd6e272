use super::{
    bounds::ParamBoundArgs,
    view::{changes_text, plan_summary, shared_changes_text},
};
use crate::{Ui, params};
use wf_app::{
    CommandError,
    approve::{PlanReview, SigningOptions},
    goals::approval_gap,
    load::LoadedPlan,
};
use wf_base::units::plural;
use wf_model::{GoalApproval, OnUnmet, PlanParam};

/// Shows a goal and its changes since the acceptance, asks, and signs. `loaded` is the goal as it
/// is reviewed.
pub fn accept_goal(ui: &Ui, loaded: LoadedPlan, signing: &SigningOptions) -> Result<(), CommandError> {
    let review = review_goal(ui, loaded)?;
    let show = || {
        ui.print(&plan_summary(&review))?;
        ui.print(&changes_text(ui, &review))
    };
    let question = format!("Accept {}?", review.token.statement.plan.id);
    review.token.sign(ui, &question, signing, &show)?;
    print_accepted(ui, &review);
    Ok(())
}

/// Shows several goals, with the differences of their common files once, asks once, and signs each.
pub fn accept_goals(ui: &Ui, plans: Vec<LoadedPlan>, signing: &SigningOptions) -> Result<(), CommandError> {
    let reviews: Vec<PlanReview> =
        plans.into_iter().map(|loaded| review_goal(ui, loaded)).collect::<Result<_, _>>()?;
    let question = format!("Accept {}?", plural(reviews.len(), "goal"));
    let confirmed = SigningOptions { is_confirmed: true, ..signing.clone() };
    for (at, review) in reviews.iter().enumerate() {
        // All were shown before the first was signed.
        let show = || if at == 0 { ui.print(&shared_changes_text(ui, &reviews)) } else { Ok(()) };
        review.token.sign(ui, &question, if at == 0 { signing } else { &confirmed }, &show)?;
        print_accepted(ui, review);
    }
    Ok(())
}

fn review_goal(ui: &Ui, loaded: LoadedPlan) -> Result<PlanReview, CommandError> {
    let bounds = ParamBoundArgs::default();
    let values = |params: &[PlanParam]| params::resolve_some(ui, params, &bounds.params);
    PlanReview::of_goal(ui, loaded, &bounds.request(&values))
}

fn print_accepted(ui: &Ui, review: &PlanReview) {
    let goal = &review.token.statement.plan.id;
    ui.print_info_line(&match &review.loaded.goal {
        Some(goal_plan) if goal_plan.goal.is_signed_job() => {
            format!(
                "accepted {goal}: its runs need a standing approval, too: wf approve {}",
                review.loaded.path
            )
        }
        Some(of)
            if of.goal.on_failure == OnUnmet::SpawnPlan
                && of.goal.approval == GoalApproval::Standing
                && approval_gap(ui, &review.loaded.path).is_some() =>
        {
            let path = &review.loaded.path;
            format!("accepted {goal}: `wf daemon` now runs its checks; to let it repair: wf approve {path}")
        }
        _ => format!("accepted {goal}: `wf daemon` now runs it"),
    });
}

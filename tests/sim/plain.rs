//! Plans of plain steps.

use std::time::Duration;

use wf_base::name::{Name, PlanId};
use wf_model::{OnStepFailure, Plan, PlanParts, PlanPolicy, Step, StepWork, expr::Template};

use super::{dice::Dice, plans::Drawn};

/// Some steps that need nothing, or one before, and promise nothing.
pub fn draw(dice: &mut Dice, most: usize) -> Drawn {
    let main = 3 + dice.below(most);
    let mut steps: Vec<Step> = Vec::new();
    for at in 0..main {
        let id = Name::parse(&format!("s{at}")).expect("a name");
        let mut step = Step::new(id, StepWork::Exec(vec![Template::literal("true")]));
        if at > 0 && dice.one_in(4) {
            let before = u32::try_from(dice.below(at)).expect("plans are small");
            step.depends_on = vec![wf_model::StepIx(before)];
        }
        step.idempotent = dice.one_in(2);
        steps.push(step);
    }
    let on_failure = *dice.pick(&[OnStepFailure::Stop, OnStepFailure::Cancel, OnStepFailure::Continue]);
    let policy = PlanPolicy { max_parallel: 2 + dice.up_to(1), on_failure, grace: Duration::ZERO };
    let id = PlanId::parse("p").expect("a name");
    Drawn {
        plan: Plan::new(PlanParts::new(id, steps, main, policy)).expect("it is drawn to be a plan"),
        steady: on_failure == OnStepFailure::Continue,
    }
}

use super::limits::permissions;
use super::plan::child_plans;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_model::expr::Template;
use wf_model::{GeneratedPlan, PlanEnvelope, SandboxPermissions};

// The text of a plan that the run makes, and everything that it may be. Its path follows from the path of the
// plan and the id of the step.
view! { made: GeneratedPlan in Work {
    plain text as "uses.text" =
        text.as_ref().map_or("what the planner may write; until then it does nothing", Template::source),
    plain with in Data,
    below envelope as "uses.within",
} aside path }

view! { envelope: PlanEnvelope in Reach {
    most max_steps = (size(*max_steps), f64::from(*max_steps)),
    grant executors,
    own plans = child_plans,
    grant roles,
    grant tools,
    grant mcp,
    grant fetch,
    own allow = permitted,
    below budget,
    most untrusted = if *untrusted { ("true: its text may be from outside", 1.0) } else { ("false", 0.0) };
        !untrusted,
} }

fn size(max_steps: u32) -> String {
    format!(
        "it runs a plan that nobody has reviewed, of at most {max_steps} steps, each in a sandbox; what is not \
         listed here, the plan may not have"
    )
}

/// The permissions that its steps may have.
fn permitted(allow: &SandboxPermissions, sheet: &mut SummaryBuilder) {
    sheet.below("allow", |sheet| permissions(allow, "every program that it can read", sheet));
}

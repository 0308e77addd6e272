//! A plan to draw: a step, a plan that is used, a step after it, and a `finally` step.

use std::{sync::Arc, time::Duration};

use wf_base::name::{Name, PlanId};
use wf_model::{
    NestedPlan, OnStepFailure, Plan, PlanParts, PlanPolicy, ShellScript, Step, StepIx, StepRepetition,
    StepWork,
};

pub(crate) fn plan() -> Arc<Plan> {
    let parts = made("parts", vec![step("one", &[]), step("two", &[])], 2);
    let all = Step {
        work: StepWork::Uses(Box::new(NestedPlan { plan: parts, path: "parts.md".into(), with: Vec::new() })),
        ..step("all", &[0])
    };
    let publish =
        Step { fan: StepRepetition::List(vec!["<eu>".into(), "us".into()]), ..step("publish", &[1]) };
    let steps = vec![step("fetch", &[]), all, publish, step("cleanup", &[])];
    made("nightly-report", steps, 3)
}

fn made(id: &str, steps: Vec<Step>, main: usize) -> Arc<Plan> {
    Plan::new(PlanParts::new(
        PlanId::parse(id).unwrap(),
        steps,
        main,
        PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::ZERO },
    ))
    .unwrap()
}

fn step(id: &str, needs: &[u32]) -> Step {
    Step {
        title: (id == "fetch").then(|| "Fetch \"it\"".to_owned()),
        depends_on: needs.iter().map(|ix| StepIx(*ix)).collect(),
        ..Step::new(
            Name::parse(id).unwrap(),
            StepWork::Run(ShellScript { shell: vec!["sh".into(), "-c".into()], text: "true".into() }),
        )
    }
}

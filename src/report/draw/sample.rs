//! A plan to draw: a step, a plan that is used, a step after it, and a `finally` step.

use std::sync::Arc;
use std::time::Duration;

use crate::model::{
    Fan, OnError, OnFailure, Parts, Plan, Policy, Retry, Script, Step, StepIx, Uses, Work,
};
use crate::name::{Name, PlanId};

/// The plan.
pub(super) fn plan() -> Arc<Plan> {
    let parts = made("parts", vec![step("one", &[]), step("two", &[])], 2);
    let all = Step {
        work: Work::Uses(Box::new(Uses {
            plan: parts,
            path: "parts.md".into(),
            with: Vec::new(),
        })),
        ..step("all", &[0])
    };
    let publish = Step {
        fan: Fan::List(vec!["<eu>".into(), "us".into()]),
        ..step("publish", &[1])
    };
    let steps = vec![step("fetch", &[]), all, publish, step("cleanup", &[])];
    made("nightly-report", steps, 3)
}

fn made(id: &str, steps: Vec<Step>, main: usize) -> Arc<Plan> {
    Plan::new(Parts {
        id: PlanId::parse(id).unwrap(),
        title: None,
        params: Vec::new(),
        env: Vec::new(),
        secrets: Vec::new(),
        policy: Policy {
            max_parallel: 1,
            on_failure: OnFailure::Stop,
            grace: Duration::ZERO,
        },
        timeout: None,
        steps,
        main,
        verify: Vec::new(),
        outputs: Vec::new(),
        briefing: String::new(),
    })
    .unwrap()
}

fn step(id: &str, needs: &[u32]) -> Step {
    Step {
        id: Name::parse(id).unwrap(),
        title: (id == "fetch").then(|| "Fetch \"it\"".to_owned()),
        depends_on: needs.iter().map(|ix| StepIx(*ix)).collect(),
        when: None,
        fan: Fan::Once,
        max_parallel: None,
        work: Work::Run(Script {
            shell: vec!["sh".into(), "-c".into()],
            text: "true".into(),
        }),
        env: Vec::new(),
        cwd: None,
        timeout: None,
        queue_timeout: None,
        retry: Retry::default(),
        idempotent: false,
        verify: Vec::new(),
        outputs: Vec::new(),
        artifacts: Vec::new(),
        cache: None,
        concurrency: None,
        on_error: OnError::Fail,
        briefing: None,
    }
}

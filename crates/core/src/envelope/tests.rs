use std::{sync::Arc, time::Duration};

use super::{bounded, breaches};
use wf_base::{
    keyword::Keyword as _,
    name::{EnvName, Name, PlanId},
};
use wf_model::{
    Alternative, Check, EnvelopeChecks, EnvelopeExecutor, NestedPlan, OnStepFailure, OnStuck, Plan,
    PlanEnvelope, PlanParts, PlanPolicy, ResourceLimits, RunBudget, SandboxPermissions, SecretDeclaration,
    SecretSource, ShellScript, Step, StepRepetition, StepWork, expr::Template,
};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn run() -> StepWork {
    StepWork::Run(ShellScript { shell: vec!["sh".into()], text: "true".into() })
}

fn confined(id: &str) -> Step {
    Step { allow: Some(Box::default()), ..Step::new(name(id), run()) }
}

fn writing(path: &str) -> SandboxPermissions {
    SandboxPermissions { write: vec![path.into()], ..SandboxPermissions::default() }
}

fn parts(steps: Vec<Step>) -> PlanParts {
    let policy =
        PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::from_secs(1) };
    let count = steps.len();
    PlanParts::new(PlanId::parse("made").unwrap(), steps, count, policy)
}

fn plan(steps: Vec<Step>) -> Arc<Plan> {
    Plan::new(parts(steps)).unwrap()
}

/// The reasons of the breaches of a plan.
fn within(envelope: &PlanEnvelope, plan: &Plan) -> Vec<String> {
    breaches(envelope, plan, plan).iter().map(ToString::to_string).collect()
}

/// The same, in the envelope that allows least.
fn of(plan: &Plan) -> Vec<String> {
    within(&PlanEnvelope::default(), plan)
}

#[test]
fn a_plan_inside_its_envelope_has_no_breach() {
    assert_eq!(of(&plan(vec![confined("a"), confined("b")])), Vec::<String>::new());
}

#[test]
fn items_are_counted_as_steps() {
    let items = |count: u64| Step {
        fan: StepRepetition::List((0..count).map(serde_json::Value::from).collect()),
        ..confined("many")
    };
    let small = PlanEnvelope { max_steps: 3, ..PlanEnvelope::default() };
    assert_eq!(within(&small, &plan(vec![confined("a"), items(2)])), Vec::<String>::new());
    assert_eq!(
        within(&small, &plan(vec![confined("a"), items(300)])),
        ["it has 301 steps, counting each item, and `max_steps` is 3"]
    );
}

#[test]
fn limits_beyond_the_default_are_breaches_of_steps_and_checks() {
    let limits = |gigabytes: u64| ResourceLimits { memory: Some(gigabytes << 30), ..Default::default() };
    let limited = |gigabytes| {
        let check = Check { limits: limits(gigabytes), ..Check::new(name("looks")) };
        plan(vec![Step { limits: limits(gigabytes), verify: vec![check], ..confined("big") }])
    };
    assert_eq!(of(&limited(4)), Vec::<String>::new());
    let reason = "has `memory` of 900 GiB, and 4 GiB is the most in a generated plan";
    let expected = [format!("step `big` {reason}"), format!("check `looks` of step `big` {reason}")];
    assert_eq!(of(&limited(900)), expected);
}

#[test]
fn all_breaches_are_named() {
    let check = Check { network: true, read: vec!["/etc".into()], ..Check::new(name("looks")) };
    let nested = NestedPlan { plan: plan(vec![confined("x")]), path: "other.md".into(), with: Vec::new() };
    let steps = vec![
        Step::new(name("free"), run()),
        Step { allow: Some(Box::new(writing("src"))), verify: vec![check], ..confined("wide") },
        Step::new(name("used"), StepWork::Uses(Box::new(nested))),
        Step { on_stuck: OnStuck::ConsultPlanner, ..confined("asks") },
        Step { concurrency: Some("a lock".into()), container: Some("image".into()), ..confined("odd") },
    ];
    let source = SecretSource::Env("KEY".into());
    let secret = SecretDeclaration { name: EnvName::parse("KEY").unwrap(), source, masked: true };
    let plan = Plan::new(PlanParts { secrets: vec![secret], ..parts(steps) }).unwrap();
    let small = PlanEnvelope { max_steps: 3, ..PlanEnvelope::default() };
    let expected = [
        "it declares the secret `KEY`; a generated plan has none",
        "it has 5 steps, and `max_steps` is 3",
        "step `free` runs without a sandbox; add `allow`",
        "step `wide` may write `src`",
        "check `looks` of step `wide` may use the network",
        "check `looks` of step `wide` may read `/etc`",
        "step `used` has the executor `uses`, which is not in `executors`",
        "step `used` runs the plan `other.md`, which is not in `plans`",
        "the planner of step `asks` has a model of the role `planner`, which is not in `roles`",
        "step `odd` has `container`, which a generated plan may not have",
        "step `odd` has `concurrency`, which a generated plan may not have",
    ];
    assert_eq!(within(&small, &plan), expected);
    let places: Vec<_> = breaches(&small, &plan, &plan);
    let place = |at: usize| (places[at].step.as_ref(), places[at].check.as_ref());
    let (wide, looks) = (name("wide"), name("looks"));
    assert_eq!(
        (place(1), place(3), place(4)),
        ((None, None), (Some(&wide), None), (Some(&wide), Some(&looks)))
    );
}

#[test]
fn an_alternative_is_compared_like_a_step() {
    let other = Step { allow: Some(Box::new(writing("src"))), ..confined("a") };
    let alternative = Alternative { id: name("wide"), replaces: false, step: Arc::new(other) };
    let step = Step { alternatives: vec![alternative], ..confined("a") };
    assert_eq!(of(&plan(vec![step])), ["step `a` may write `src`"]);
}

#[test]
fn a_step_that_changes_something_needs_a_check_where_the_plan_asks() {
    let allow = SandboxPermissions { net: true, ..writing("src") };
    let asks = PlanEnvelope { allow, checks: EnvelopeChecks::Required, ..PlanEnvelope::default() };
    let writes = |id: &str| Step { allow: Some(Box::new(writing("src"))), ..confined(id) };
    let net = SandboxPermissions { net: true, ..SandboxPermissions::default() };
    let steps = vec![
        confined("reads"),
        Step { verify: vec![Check::new(name("seen"))], ..writes("checked") },
        writes("unchecked"),
        Step { allow: Some(Box::new(net)), ..confined("sends") },
    ];
    let plan = plan(steps);
    let reason = |id: &str| {
        format!(
            "step `{id}` may change something, and no check of its own shows that it did; add `verify` to it \
             (`checks` is `required`)"
        )
    };
    assert_eq!(within(&asks, &plan), [reason("unchecked"), reason("sends")]);
    let free = PlanEnvelope { checks: EnvelopeChecks::Optional, ..asks };
    assert_eq!(within(&free, &plan), Vec::<String>::new());
}

#[test]
fn no_generated_plan_runs_one() {
    let text = Template::read("{{ params.text }}").unwrap();
    let envelope = PlanEnvelope::default();
    let made = wf_model::GeneratedPlan {
        text: Some(text),
        path: "a.generated.md".into(),
        with: Vec::new(),
        envelope,
    };
    let all = PlanEnvelope { executors: EnvelopeExecutor::ALL.to_vec(), ..PlanEnvelope::default() };
    let plan = plan(vec![Step::new(name("again"), StepWork::Generated(Box::new(made)))]);
    let expected = ["step `again` runs a generated plan; a generated plan runs none"];
    assert_eq!(within(&all, &plan), expected);
}

#[test]
fn what_a_step_sets_and_reads_must_be_there() {
    let text = Template::read("{{ params.text }}").unwrap();
    let with = vec![(name("day"), Template::literal("today"))];
    let made = wf_model::GeneratedPlan {
        text: Some(text),
        path: "a.generated.md".into(),
        with,
        envelope: PlanEnvelope::default(),
    };
    let schema = wf_model::ValueSchema::new(serde_json::json!({ "type": "string" })).unwrap();
    let param = |id: &str, default| wf_model::PlanParam {
        name: name(id),
        schema: schema.clone(),
        default,
        taint: wf_model::TaintLevel::Owner,
        description: None,
    };
    let params = vec![param("month", None), param("region", Some("eu".into()))];
    let plan = Plan::new(PlanParts { params, ..parts(vec![confined("a")]) }).unwrap();
    let reasons: Vec<String> = super::misfit_params(&made, &plan).iter().map(ToString::to_string).collect();
    let expected = [
        "it requires the parameter `month`, which the step does not set",
        "it has no parameter `day`, which the step sets in `with`",
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn it_uses_at_most_what_the_envelope_and_the_run_allow() {
    let budget = |attempts, tokens| {
        Some(RunBudget { max_attempts: attempts, max_tokens: tokens, ..RunBudget::default() })
    };
    let with = |budget| Plan::new(PlanParts { budget, ..parts(vec![confined("a")]) }).unwrap();
    let envelope = PlanEnvelope { budget: budget(Some(5), None), ..PlanEnvelope::default() };
    let outer = with(budget(Some(9), Some(100)));
    let own = with(budget(Some(7), Some(1000)));
    let both = bounded(&envelope, &outer, &own).unwrap();
    assert_eq!(both.parts().budget, budget(Some(5), Some(100)));
    let wide = PlanPolicy { max_parallel: 9, ..own.parts().policy.clone() };
    let wide = Plan::new(PlanParts { policy: wide, ..own.parts().clone() }).unwrap();
    assert_eq!(bounded(&envelope, &outer, &wide).unwrap().parts().policy.max_parallel, 1);
    let unlimited = bounded(&PlanEnvelope::default(), &with(None), &with(None)).unwrap();
    assert_eq!(unlimited.parts().budget, None);
}

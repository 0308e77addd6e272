use std::{sync::Arc, time::Duration};

use super::{ActionRisk, RiskLevel, RiskRule, risk_from_step, risk_of_plan};
use wf_base::{
    keyword::Keyword as _,
    name::{EnvName, Name, PlanId},
};
use wf_model::{
    Alternative, Check, EnvVar, GeneratedPlan, HttpCall, NestedPlan, OnStepFailure, Plan, PlanEnvelope,
    PlanParts, PlanPolicy, SandboxPermissions, ShellScript, Step, StepIx, StepWork, WaitCondition,
    expr::Template,
};

fn script() -> StepWork {
    StepWork::Run(ShellScript { shell: vec!["sh".into()], text: "true".into() })
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn step(id: &str, work: StepWork) -> Step {
    Step::new(name(id), work)
}

fn confined(permissions: SandboxPermissions) -> Step {
    Step { allow: Some(Box::new(permissions)), ..step("a", script()) }
}

fn with_secret(step: Step) -> Step {
    let value = Template::read("{{ secrets.token }}").unwrap();
    Step { env: vec![EnvVar { name: EnvName::parse("TOKEN").unwrap(), value }], ..step }
}

fn plan(steps: Vec<Step>) -> Arc<Plan> {
    let policy =
        PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::from_secs(1) };
    let count = steps.len();
    Plan::new(PlanParts::new(PlanId::parse("p").unwrap(), steps, count, policy)).unwrap()
}

fn net() -> SandboxPermissions {
    SandboxPermissions { net: true, ..SandboxPermissions::default() }
}

fn writing() -> SandboxPermissions {
    SandboxPermissions { write: vec!["out".into()], ..SandboxPermissions::default() }
}

fn http(method: &str) -> Step {
    let call = HttpCall {
        method: method.into(),
        url: Template::literal("https://example.org"),
        headers: Vec::new(),
        body: None,
        expect: Vec::new(),
        outputs: Vec::new(),
    };
    step("a", StepWork::Http(Box::new(call)))
}

fn generated(permissions: SandboxPermissions) -> Step {
    let made = GeneratedPlan {
        text: Some(Template::literal("text")),
        path: "made.md".into(),
        with: Vec::new(),
        envelope: PlanEnvelope { allow: permissions, ..PlanEnvelope::default() },
    };
    step("a", StepWork::Generated(Box::new(made)))
}

#[test]
fn a_risk_follows_from_what_a_step_may_do() {
    let checked = |check| Step { verify: vec![check], ..confined(SandboxPermissions::default()) };
    let sees = SandboxPermissions { env: vec!["GH_TOKEN".into()], ..net() };
    let container = Step { container: Some("image".into()), ..step("a", script()) };
    let table = [
        ("it reads", confined(SandboxPermissions::default()), RiskRule::ReadsOnly),
        ("it waits", step("a", StepWork::Wait(WaitCondition::For(Duration::ZERO))), RiskRule::ReadsOnly),
        ("it reads with a secret", with_secret(confined(SandboxPermissions::default())), RiskRule::ReadsOnly),
        ("it gets a page", http("get"), RiskRule::ReadsOutside),
        ("it gets a page with a secret", with_secret(http("GET")), RiskRule::ReadsOutside),
        ("it writes", confined(writing()), RiskRule::Writes),
        ("it writes with a secret", with_secret(confined(writing())), RiskRule::Writes),
        ("it posts", http("POST"), RiskRule::Network),
        ("it has the network", confined(net()), RiskRule::Network),
        ("its check has", checked(Check { network: true, ..Check::new(name("c")) }), RiskRule::Network),
        ("its check has not", checked(Check::new(name("c"))), RiskRule::ReadsOnly),
        ("its container has", container.clone(), RiskRule::Network),
        ("it has no sandbox", step("a", script()), RiskRule::Unconfined),
        ("it posts with a secret", with_secret(http("DELETE")), RiskRule::ActsWithSecret),
        ("network and secret", with_secret(confined(net())), RiskRule::ActsWithSecret),
        ("network and a variable", confined(sees), RiskRule::ActsWithSecret),
        ("container and secret", with_secret(container), RiskRule::ActsWithSecret),
        ("no sandbox, and a secret", with_secret(step("a", script())), RiskRule::ActsWithSecret),
        ("its plan may write", generated(writing()), RiskRule::Writes),
        ("its plan may do nothing", generated(SandboxPermissions::default()), RiskRule::ReadsOnly),
        ("its plan may use the network", generated(net()), RiskRule::Network),
    ];
    for (case, step, rule) in table {
        let risk = risk_of_plan(&plan(vec![step]));
        assert_eq!(risk, ActionRisk { level: rule.level(), rule, step: "a".into() }, "{case}");
    }
}

#[test]
fn a_later_rule_is_never_a_lower_level() {
    let levels: Vec<RiskLevel> = RiskRule::ALL.iter().map(|rule| rule.level()).collect();
    assert!(levels.is_sorted());
    assert_eq!(levels.first(), Some(&RiskLevel::Low));
    assert_eq!(levels.last(), Some(&RiskLevel::Irreversible));
}

#[test]
fn a_harmless_step_cannot_hide_the_risk_of_the_plans_own_checks() {
    let harmless = plan(vec![confined(SandboxPermissions::default())]);
    let mut parts = harmless.parts().clone();
    parts.verify = vec![Check { network: true, ..Check::new(name("c")) }];
    let checked = Plan::new(parts).unwrap();
    assert_eq!(risk_of_plan(&checked).to_string(), "high: it may use the network");
    let nested = NestedPlan { plan: checked, path: "inner.md".into(), with: Vec::new() };
    let outer = plan(vec![step("call", StepWork::Uses(Box::new(nested)))]);
    assert_eq!(risk_of_plan(&outer).to_string(), "high: `call` may use the network");
}

#[test]
fn an_alternative_cannot_hide_a_risk() {
    let other = confined(net());
    let other = Alternative { id: name("other"), step: Arc::new(other), replaces: true };
    let step = Step { alternatives: vec![other], ..confined(SandboxPermissions::default()) };
    assert_eq!(risk_of_plan(&plan(vec![step])).rule, RiskRule::Network);
}

#[test]
fn the_risk_of_a_plan_inside_names_its_step() {
    let inner = plan(vec![
        confined(SandboxPermissions::default()),
        Step { id: name("send"), ..with_secret(confined(net())) },
    ]);
    let nested = NestedPlan { plan: inner, path: "inner.md".into(), with: Vec::new() };
    let outer = plan(vec![step("call", StepWork::Uses(Box::new(nested)))]);
    let risk = risk_of_plan(&outer);
    assert_eq!(risk.step, "call/send");
    assert_eq!(
        risk.to_string(),
        "irreversible: `call/send` may use the network with a secret, and nobody here can take back what it does there"
    );
}

#[test]
fn a_request_is_about_the_step_and_all_that_depend_on_it() {
    let after = |id: &str, needs: u32, allow| Step {
        id: name(id),
        depends_on: vec![StepIx(needs)],
        ..confined(allow)
    };
    let plan = plan(vec![
        Step { id: name("before"), ..step("before", script()) },
        after("ok", 0, SandboxPermissions::default()),
        after("write", 1, writing()),
        after("send", 2, net()),
        after("beside", 0, writing()),
    ]);
    let of = |ix| risk_from_step(&plan, StepIx(ix));
    assert_eq!(of(1).to_string(), "high: `send` may use the network");
    assert_eq!(of(4).to_string(), "medium: `beside` may change files of the workspace");
    assert_eq!(of(0).rule, RiskRule::Unconfined);
    assert_eq!(risk_of_plan(&plan).step, "before");
}

#[test]
fn a_plan_that_changes_nothing_has_a_low_risk() {
    let plan = plan(vec![confined(SandboxPermissions::default())]);
    assert_eq!(risk_of_plan(&plan).to_string(), "low: it changes nothing");
}

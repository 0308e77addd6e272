use std::{sync::Arc, time::Duration};

use super::{
    super::{PlanSummary, SummaryLine},
    sample,
};
use wf_base::name::{GateId, Name};
use wf_model::{
    AnswerChoices, AnswerKind, ApprovalRequirement, ApprovalStep, CheckProbe, Expectation, Gate, GateLane,
    GatePredicate, GateProvider, GateScript, GateTrigger, Guardrail, LlmJudge, OnFinding, Plan,
    PredicateRange, ShellScript, Step, StepWork, expr::Template,
};

fn asked(provider: GateProvider) -> Arc<Gate> {
    Arc::new(Gate {
        id: GateId::parse("large-sums").unwrap(),
        title: Some("Sums".into()),
        path: Some("gates/sums.md".into()),
        on: GateTrigger::OnToolCall,
        lane: GateLane::Policy,
        provider,
        extract: None,
        on_block: Some("tell".into()),
        escalations: Vec::new(),
        approval: ApprovalRequirement {
            required: Some(2),
            approvers: vec!["ann".into()],
            timeout: Some(Duration::from_hours(3)),
            escalate_to: vec!["bob".into()],
        },
    })
}

/// The text shown of a plan with one step that has this gate.
fn shown(provider: GateProvider) -> Vec<String> {
    let decision = StepWork::Approve(Box::new(ApprovalStep {
        message: Template::literal("Shall it?"),
        show: vec![(Name::parse("sum").unwrap(), Template::literal("7"))],
        answer: Some(AnswerKind::Choose(AnswerChoices::List(vec!["keep".into(), "pay".into()]))),
        needs: ApprovalRequirement::default(),
    }));
    let step = Step { gates: vec![asked(provider)], ..Step::new(Name::parse("pay").unwrap(), decision) };
    let parts = sample::parts(vec![step]);
    let view = PlanSummary::of_plan(&Plan::new(parts).unwrap(), "plan.md");
    let line = |line: &SummaryLine| format!("{} = {}", line.path(), line.text);
    view.lines.iter().map(line).collect()
}

fn has(lines: &[String], wanted: &[&str]) {
    for line in wanted {
        assert!(lines.iter().any(|own| own == line), "{line}: {lines:#?}");
    }
}

#[test]
fn a_decision_shows_what_is_asked_and_who() {
    let lines = shown(GateProvider::Predicate(GatePredicate::ApprovalAlways));
    let common = [
        "steps.pay.gates[large-sums] = large-sums",
        "steps.pay.approve.message = \"Shall it?\"",
        "steps.pay.approve.show.sum = 7",
        "steps.pay.approve.answer.choose = keep, pay",
        "gates.large-sums.file = gates/sums.md",
        "gates.large-sums.on = on_tool_call",
        "gates.large-sums.lane = policy: it decides",
        "gates.large-sums.provider = predicate",
        "gates.large-sums.on_block = tell",
        "gates.large-sums.approval.required = 2",
        "gates.large-sums.approval.approvers[ann] = ann",
        "gates.large-sums.approval.timeout = 3h",
        "gates.large-sums.approval.escalate_to[bob] = bob",
        "gates.large-sums.check = approval_always",
    ];
    has(&lines, &common);
}

#[test]
fn every_provider_shows_what_it_decides_by() {
    let range = |min, max| Some(PredicateRange { min, max });
    let numbers = GatePredicate::NumericRange {
        block_outside: range(Some(0.0), Some(100.0)),
        auto_approve: range(None, Some(10.0)),
        require_approval: range(Some(10.0), None),
        clamp: None,
    };
    let words = [
        "gates.large-sums.config.block_outside = 0 to 100",
        "gates.large-sums.config.auto_approve = … to 10",
        "gates.large-sums.config.require_approval = 10 to …",
    ];
    has(&shown(GateProvider::Predicate(numbers)), &words);
    let program = GateScript {
        probe: CheckProbe::Run(ShellScript { shell: vec!["sh".into()], text: "decide".into() }),
        expect: Expectation::default(),
        then: Some(GatePredicate::Regex(regex::Regex::new("^a").unwrap())),
        env: Vec::new(),
        cwd: Some("gates".into()),
        timeout: Duration::from_secs(30),
    };
    let words = [
        "gates.large-sums.run = decide",
        "gates.large-sums.cwd = gates",
        "gates.large-sums.expect.exit_code = 0",
        "gates.large-sums.config.pattern = ^a",
        "gates.large-sums.timeout = 30s",
    ];
    has(&shown(GateProvider::Script(Box::new(program))), &words);
    let detector = Guardrail { detect: vec!["secrets".into()], on_find: OnFinding::Redact };
    let words = [
        "gates.large-sums.config.detect[secrets] = secrets",
        "gates.large-sums.config.on_find = redact: the findings are removed and it continues",
    ];
    has(&shown(GateProvider::Guardrail(detector)), &words);
    let model = LlmJudge { prompt: "Is it kind?".into(), promote_to_policy: true };
    let words = ["gates.large-sums.config.prompt = Is it kind?", "gates.large-sums.promote_to_policy = true"];
    has(&shown(GateProvider::Llm(model)), &words);
}

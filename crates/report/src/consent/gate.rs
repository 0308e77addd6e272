use std::sync::Arc;

use super::exact::{exact_bytes, exact_duration, json, weight};
use super::{RiskDirection, SummaryBuilder, SummaryLineKind, check, work};
use wf_model::{
    AnswerChoices, AnswerKind, ApprovalRequirement, ApprovalStep, CheckProbe, Escalation, Gate, GateLane,
    GatePredicate, GateProvider, GateScript, Guardrail, LlmJudge, OnFinding, PredicateRange,
};

/// Names the gates that apply; each is shown once, in a part of its own.
pub(super) fn names(gates: &[Arc<Gate>], sheet: &mut SummaryBuilder) {
    let ids: Vec<String> = gates.iter().map(|gate| gate.id.to_string()).collect();
    sheet.add_each(SummaryLineKind::Decision, RiskDirection::Guard, "gates", &ids);
}

/// A gate in full.
pub(super) fn gate(gate: &Gate, sheet: &mut SummaryBuilder) {
    let Gate {
        id: _, // The part that all its lines stand in.
        title,
        path,
        on,
        lane,
        provider,
        extract,
        on_block,
        escalations: own,
        approval,
    } = gate;
    super::plan::about(sheet, title.as_deref(), None);
    let file = path.as_deref().unwrap_or("in the plan");
    decides(sheet, RiskDirection::Plain, "file", file);
    decides(sheet, RiskDirection::Plain, "on", on.as_str());
    let (text, level) = match lane {
        GateLane::Policy => ("policy: it decides", 1.0),
        GateLane::Quality => ("quality: it advises only", 0.0),
    };
    decides(sheet, RiskDirection::AtLeast(level), "lane", text);
    decides(sheet, RiskDirection::Plain, "provider", provider.as_str());
    if let Some(path) = extract {
        decides(sheet, RiskDirection::Plain, "extract", &path.to_string());
    }
    match provider {
        GateProvider::Predicate(rule) => predicate(rule, sheet),
        GateProvider::Script(program) => script(program, sheet),
        GateProvider::Guardrail(detector) => guardrail(detector, sheet),
        GateProvider::Llm(model) => llm(model, sheet),
    }
    if let Some(name) = on_block {
        decides(sheet, RiskDirection::Plain, "on_block", name);
    }
    escalations(own, sheet);
    needs(approval, sheet, "approval.");
}

fn decides(sheet: &mut SummaryBuilder, sense: RiskDirection, key: &str, text: &str) {
    sheet.add_line(SummaryLineKind::Decision, sense, key, text);
}

/// A rule, named by `check` and completed by `config`.
fn predicate(rule: &GatePredicate, sheet: &mut SummaryBuilder) {
    let mut named = |word: &str| decides(sheet, RiskDirection::Plain, "check", word);
    match rule {
        GatePredicate::NumericRange { block_outside, auto_approve, require_approval, clamp } => {
            named("numeric_range");
            let ranges = [
                ("config.block_outside", RiskDirection::Guard, block_outside),
                ("config.auto_approve", RiskDirection::Grant, auto_approve),
                ("config.require_approval", RiskDirection::Guard, require_approval),
                ("config.clamp", RiskDirection::Plain, clamp),
            ];
            for (key, sense, range) in ranges {
                if let Some(range) = range {
                    decides(sheet, sense, key, &span(range));
                }
            }
        }
        GatePredicate::StringMatch { allowed, approval } => {
            named("string_match");
            let kind = SummaryLineKind::Decision;
            sheet.add_each(kind, RiskDirection::Grant, "config.allowed_values", allowed);
            sheet.add_each(kind, RiskDirection::Grant, "config.approval_values", approval);
        }
        GatePredicate::Regex(pattern) => {
            named("regex");
            decides(sheet, RiskDirection::Plain, "config.pattern", pattern.as_str());
        }
        GatePredicate::FileValid { permitted, max_size_bytes } => {
            named("file_valid");
            sheet.add_each(SummaryLineKind::Decision, RiskDirection::Plain, "config.permitted", permitted);
            if let Some(size) = max_size_bytes {
                let most = RiskDirection::AtMost(weight(*size));
                decides(sheet, most, "config.max_size", &exact_bytes(*size));
            }
        }
        GatePredicate::ApprovalAlways => named("approval_always"),
        GatePredicate::JsonPath(comparisons) => {
            named("json_path");
            for comparison in comparisons {
                check::json_expect(comparison, sheet, "config.");
            }
        }
    }
}

fn span(range: &PredicateRange) -> String {
    let PredicateRange { min, max } = range;
    let end = |end: &Option<f64>| end.map_or("…".into(), |number| number.to_string());
    format!("{} to {}", end(min), end(max))
}

fn script(program: &GateScript, sheet: &mut SummaryBuilder) {
    let GateScript { probe, expect, then, env, cwd, timeout } = program;
    match probe {
        CheckProbe::Run(own) => work::script(own, sheet, ""),
        CheckProbe::Exec(own) => work::argv(own, sheet, ""),
    }
    check::expect(expect, true, sheet, "expect.");
    if let Some(rule) = then {
        predicate(rule, sheet);
    }
    if let Some(cwd) = cwd {
        sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, "cwd", cwd);
    }
    for variable in env {
        let key = format!("env.{}", variable.name);
        sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, &key, variable.value.source());
    }
    super::plan::bound(sheet, "timeout", Some(*timeout));
}

fn guardrail(detector: &Guardrail, sheet: &mut SummaryBuilder) {
    let Guardrail { detect, on_find } = detector;
    sheet.add_each(SummaryLineKind::Decision, RiskDirection::Guard, "config.detect", detect);
    let (text, level) = match on_find {
        OnFinding::Block => ("block", 3.0),
        OnFinding::Ask => ("ask: an approver must agree", 2.0),
        OnFinding::Redact => ("redact: the findings are removed and it continues", 1.0),
        OnFinding::Flag => ("flag: it continues, and the finding is recorded", 0.0),
    };
    decides(sheet, RiskDirection::AtLeast(level), "config.on_find", text);
}

fn llm(model: &LlmJudge, sheet: &mut SummaryBuilder) {
    let LlmJudge { prompt, promote_to_policy } = model;
    decides(sheet, RiskDirection::Plain, "config.prompt", prompt);
    let level = f64::from(u8::from(*promote_to_policy));
    let text = promote_to_policy.to_string();
    decides(sheet, RiskDirection::AtLeast(level), "promote_to_policy", &text);
}

/// The escalations that blocks lead to.
pub(super) fn escalations(own: &[Escalation], sheet: &mut SummaryBuilder) {
    for escalation in own {
        let Escalation { name, action, message, max_retries, fallback, queue, rephrase, plan } = escalation;
        let key = format!("escalation.{name}");
        decides(sheet, RiskDirection::Plain, &key, action.as_str());
        let texts = [
            ("message", message),
            ("fallback", fallback),
            ("queue", queue),
            ("rephrase", rephrase),
            ("plan", plan),
        ];
        for (word, text) in texts {
            if let Some(text) = text {
                decides(sheet, RiskDirection::Plain, &format!("{key}.{word}"), text);
            }
        }
        let most = RiskDirection::AtMost(f64::from(*max_retries));
        let key = format!("{key}.max_retries");
        decides(sheet, most, &key, &max_retries.to_string());
    }
}

/// The approvers who must agree.
fn needs(needs: &ApprovalRequirement, sheet: &mut SummaryBuilder, before: &str) {
    let ApprovalRequirement { required, approvers, timeout, escalate_to } = needs;
    if let Some(count) = required {
        let least = RiskDirection::AtLeast(f64::from(*count));
        decides(sheet, least, &format!("{before}required"), &count.to_string());
    }
    sheet.add_each(SummaryLineKind::Decision, RiskDirection::Plain, &format!("{before}approvers"), approvers);
    if let Some(time) = timeout {
        let key = format!("{before}timeout");
        decides(sheet, RiskDirection::AtMost(time.as_secs_f64()), &key, &exact_duration(*time));
    }
    sheet.add_each(
        SummaryLineKind::Decision,
        RiskDirection::Grant,
        &format!("{before}escalate_to"),
        escalate_to,
    );
}

/// A decision made by approvers.
pub(super) fn approve(decision: &ApprovalStep, sheet: &mut SummaryBuilder) {
    let ApprovalStep { message, show, answer, needs: who } = decision;
    decides(sheet, RiskDirection::Guard, "approve", "it waits for an approval");
    decides(sheet, RiskDirection::Plain, "approve.message", &json(&message.source().into()));
    for (name, value) in show {
        decides(sheet, RiskDirection::Guard, &format!("approve.show.{name}"), value.source());
    }
    if let Some(kind) = answer {
        answered(kind, sheet);
    }
    needs(who, sheet, "approve.");
}

/// The answer that is asked for.
fn answered(kind: &AnswerKind, sheet: &mut SummaryBuilder) {
    let source = match kind {
        AnswerKind::Choose(AnswerChoices::List(words)) => words.join(", "),
        _ => kind.template().map(|text| text.source().to_owned()).unwrap_or_default(),
    };
    decides(sheet, RiskDirection::Plain, &format!("approve.answer.{}", kind.as_str()), &source);
    if let AnswerKind::Edit { max_length, .. } = kind {
        let most = RiskDirection::AtMost(f64::from(*max_length));
        decides(sheet, most, "approve.answer.max_length", &max_length.to_string());
    }
}

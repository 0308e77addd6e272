use std::sync::Arc;

use super::exact::{bytes, json, period, weight};
use super::{Kind, Sense, Sheet, check, work};
use crate::model::{
    Approve, Escalation, Gate, GateScript, Guardrail, Lane, Llm, Needs, OnFind, Predicate, Probe,
    Provider, Range,
};

/// Names the gates that are asked; each is shown once, in a part of its own.
pub(super) fn names(gates: &[Arc<Gate>], sheet: &mut Sheet) {
    let ids: Vec<String> = gates.iter().map(|gate| gate.id.to_string()).collect();
    sheet.each(Kind::Decision, Sense::Guard, "gates", &ids);
}

/// A gate in full.
pub(super) fn gate(gate: &Gate, sheet: &mut Sheet) {
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
    decides(sheet, Sense::Plain, "file", file);
    decides(sheet, Sense::Plain, "on", on.as_str());
    let (text, level) = match lane {
        Lane::Policy => ("policy: it decides", 1.0),
        Lane::Quality => ("quality: it advises only", 0.0),
    };
    decides(sheet, Sense::AtLeast(level), "lane", text);
    decides(sheet, Sense::Plain, "provider", provider.as_str());
    if let Some(path) = extract {
        decides(sheet, Sense::Plain, "extract", &path.to_string());
    }
    match provider {
        Provider::Predicate(rule) => predicate(rule, sheet),
        Provider::Script(program) => script(program, sheet),
        Provider::Guardrail(detector) => guardrail(detector, sheet),
        Provider::Llm(model) => llm(model, sheet),
    }
    if let Some(name) = on_block {
        decides(sheet, Sense::Plain, "on_block", name);
    }
    escalations(own, sheet);
    needs(approval, sheet, "approval.");
}

fn decides(sheet: &mut Sheet, sense: Sense, key: &str, text: &str) {
    sheet.put(Kind::Decision, sense, key, text);
}

/// A rule, as `check` names it and `config` completes it.
fn predicate(rule: &Predicate, sheet: &mut Sheet) {
    let mut named = |word: &str| decides(sheet, Sense::Plain, "check", word);
    match rule {
        Predicate::NumericRange {
            block_outside,
            auto_approve,
            require_approval,
            clamp,
        } => {
            named("numeric_range");
            let ranges = [
                ("config.block_outside", Sense::Guard, block_outside),
                ("config.auto_approve", Sense::Grant, auto_approve),
                ("config.require_approval", Sense::Guard, require_approval),
                ("config.clamp", Sense::Plain, clamp),
            ];
            for (key, sense, range) in ranges {
                if let Some(range) = range {
                    decides(sheet, sense, key, &span(range));
                }
            }
        }
        Predicate::StringMatch { allowed, approval } => {
            named("string_match");
            let kind = Kind::Decision;
            sheet.each(kind, Sense::Grant, "config.allowed_values", allowed);
            sheet.each(kind, Sense::Grant, "config.approval_values", approval);
        }
        Predicate::Regex(pattern) => {
            named("regex");
            decides(sheet, Sense::Plain, "config.pattern", pattern.as_str());
        }
        Predicate::FileValid {
            permitted,
            max_size_bytes,
        } => {
            named("file_valid");
            sheet.each(Kind::Decision, Sense::Plain, "config.permitted", permitted);
            if let Some(size) = max_size_bytes {
                let most = Sense::AtMost(weight(*size));
                decides(sheet, most, "config.max_size", &bytes(*size));
            }
        }
        Predicate::ApprovalAlways => named("approval_always"),
        Predicate::JsonPath(comparisons) => {
            named("json_path");
            for comparison in comparisons {
                check::json_expect(comparison, sheet, "config.");
            }
        }
    }
}

fn span(range: &Range) -> String {
    let Range { min, max } = range;
    let end = |end: &Option<f64>| end.map_or("…".into(), |number| number.to_string());
    format!("{} to {}", end(min), end(max))
}

fn script(program: &GateScript, sheet: &mut Sheet) {
    let GateScript {
        probe,
        expect,
        then,
        env,
        cwd,
        timeout,
    } = program;
    match probe {
        Probe::Run(own) => work::script(own, sheet, ""),
        Probe::Exec(own) => work::argv(own, sheet, ""),
    }
    check::expect(expect, true, sheet, "expect.");
    if let Some(rule) = then {
        predicate(rule, sheet);
    }
    if let Some(cwd) = cwd {
        sheet.put(Kind::Work, Sense::Plain, "cwd", cwd);
    }
    for variable in env {
        let key = format!("env.{}", variable.name);
        sheet.put(Kind::Work, Sense::Plain, &key, variable.value.source());
    }
    super::plan::bound(sheet, "timeout", Some(*timeout));
}

fn guardrail(detector: &Guardrail, sheet: &mut Sheet) {
    let Guardrail { detect, on_find } = detector;
    sheet.each(Kind::Decision, Sense::Guard, "config.detect", detect);
    let (text, level) = match on_find {
        OnFind::Block => ("block", 3.0),
        OnFind::Ask => ("ask: somebody must agree", 2.0),
        OnFind::Redact => ("redact: it goes on without what was found", 1.0),
        OnFind::Flag => ("flag: it goes on, and the finding is recorded", 0.0),
    };
    decides(sheet, Sense::AtLeast(level), "config.on_find", text);
}

fn llm(model: &Llm, sheet: &mut Sheet) {
    let Llm {
        prompt,
        promote_to_policy,
    } = model;
    decides(sheet, Sense::Plain, "config.prompt", prompt);
    let level = f64::from(u8::from(*promote_to_policy));
    let text = promote_to_policy.to_string();
    decides(sheet, Sense::AtLeast(level), "promote_to_policy", &text);
}

/// What blocks lead to.
pub(super) fn escalations(own: &[Escalation], sheet: &mut Sheet) {
    for escalation in own {
        let Escalation {
            name,
            action,
            message,
            max_retries,
            fallback,
            queue,
            rephrase,
            plan,
        } = escalation;
        let key = format!("escalation.{name}");
        decides(sheet, Sense::Plain, &key, action.as_str());
        let texts = [
            ("message", message),
            ("fallback", fallback),
            ("queue", queue),
            ("rephrase", rephrase),
            ("plan", plan),
        ];
        for (word, text) in texts {
            if let Some(text) = text {
                decides(sheet, Sense::Plain, &format!("{key}.{word}"), text);
            }
        }
        let most = Sense::AtMost(f64::from(*max_retries));
        let key = format!("{key}.max_retries");
        decides(sheet, most, &key, &max_retries.to_string());
    }
}

/// Who must agree.
fn needs(needs: &Needs, sheet: &mut Sheet, before: &str) {
    let Needs {
        required,
        approvers,
        timeout,
        escalate_to,
    } = needs;
    if let Some(count) = required {
        let least = Sense::AtLeast(f64::from(*count));
        decides(
            sheet,
            least,
            &format!("{before}required"),
            &count.to_string(),
        );
    }
    sheet.each(
        Kind::Decision,
        Sense::Plain,
        &format!("{before}approvers"),
        approvers,
    );
    if let Some(time) = timeout {
        let key = format!("{before}timeout");
        decides(
            sheet,
            Sense::AtMost(time.as_secs_f64()),
            &key,
            &period(*time),
        );
    }
    sheet.each(
        Kind::Decision,
        Sense::Grant,
        &format!("{before}escalate_to"),
        escalate_to,
    );
}

/// A decision that people make.
pub(super) fn approve(decision: &Approve, sheet: &mut Sheet) {
    let Approve {
        message,
        show,
        needs: who,
    } = decision;
    decides(
        sheet,
        Sense::Guard,
        "approve",
        "it waits until people agree",
    );
    decides(
        sheet,
        Sense::Plain,
        "approve.message",
        &json(&message.source().into()),
    );
    for (name, value) in show {
        decides(
            sheet,
            Sense::Guard,
            &format!("approve.show.{name}"),
            value.source(),
        );
    }
    needs(who, sheet, "approve.");
}

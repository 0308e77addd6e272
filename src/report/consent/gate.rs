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
        Provider::Predicate(rule) => predicate(rule, sheet, "check"),
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

fn predicate(rule: &Predicate, sheet: &mut Sheet, key: &str) {
    match rule {
        Predicate::NumericRange {
            block_outside,
            auto_approve,
            require_approval,
            clamp,
        } => {
            let ranges = [
                ("block_outside", Sense::Guard, block_outside),
                ("auto_approve", Sense::Grant, auto_approve),
                ("require_approval", Sense::Guard, require_approval),
                ("clamp", Sense::Plain, clamp),
            ];
            for (name, sense, range) in ranges {
                if let Some(range) = range {
                    decides(sheet, sense, &format!("{key}.{name}"), &span(range));
                }
            }
        }
        Predicate::StringMatch { allowed, approval } => {
            let kind = Kind::Decision;
            sheet.each(kind, Sense::Grant, &format!("{key}.allowed"), allowed);
            sheet.each(kind, Sense::Grant, &format!("{key}.approval"), approval);
        }
        Predicate::Regex(pattern) => {
            decides(
                sheet,
                Sense::Plain,
                &format!("{key}.regex"),
                pattern.as_str(),
            );
        }
        Predicate::FileValid {
            permitted,
            max_size_bytes,
        } => {
            let key = format!("{key}.file_valid");
            decides(sheet, Sense::Guard, &key, "a file that is there");
            sheet.each(
                Kind::Decision,
                Sense::Grant,
                &format!("{key}.permitted"),
                permitted,
            );
            if let Some(size) = max_size_bytes {
                let most = Sense::AtMost(weight(*size));
                decides(sheet, most, &format!("{key}.max_size_bytes"), &bytes(*size));
            }
        }
        Predicate::ApprovalAlways => {
            let key = format!("{key}.approval_always");
            decides(sheet, Sense::Guard, &key, "somebody must agree, always");
        }
        Predicate::JsonPath(comparisons) => {
            for comparison in comparisons {
                check::json_expect(comparison, sheet, &format!("{key}."));
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
        Probe::Run(own) => work::script(own, sheet, "check."),
        Probe::Exec(own) => work::argv(own, sheet, "check."),
    }
    check::expect(expect, true, sheet, "check.expect.");
    if let Some(cwd) = cwd {
        sheet.put(Kind::Work, Sense::Plain, "cwd", cwd);
    }
    if let Some(rule) = then {
        predicate(rule, sheet, "then");
    }
    for variable in env {
        let key = format!("env.{}", variable.name);
        sheet.put(Kind::Work, Sense::Plain, &key, variable.value.source());
    }
    super::plan::bound(sheet, "timeout", Some(*timeout));
}

fn guardrail(detector: &Guardrail, sheet: &mut Sheet) {
    let Guardrail { detect, on_find } = detector;
    sheet.each(Kind::Decision, Sense::Guard, "detect", detect);
    let (text, level) = match on_find {
        OnFind::Block => ("block", 3.0),
        OnFind::Ask => ("ask: somebody must agree", 2.0),
        OnFind::Redact => ("redact: it goes on without what was found", 1.0),
        OnFind::Flag => ("flag: it goes on, and the finding is recorded", 0.0),
    };
    decides(sheet, Sense::AtLeast(level), "on_find", text);
}

fn llm(model: &Llm, sheet: &mut Sheet) {
    let Llm {
        prompt,
        promote_to_policy,
    } = model;
    decides(sheet, Sense::Plain, "prompt", prompt);
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
        let key = format!("escalations.{name}");
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::expr::Template;
    use crate::model::{Plan, Script, Step, Trigger, Work};
    use crate::name::{GateId, Name};
    use crate::report::consent::{Consent, sample};

    fn asked(provider: Provider) -> Arc<Gate> {
        Arc::new(Gate {
            id: GateId::parse("large-sums").unwrap(),
            title: Some("Sums".into()),
            path: Some("gates/sums.md".into()),
            on: Trigger::OnToolCall,
            lane: Lane::Policy,
            provider,
            extract: None,
            on_block: Some("tell".into()),
            escalations: Vec::new(),
            approval: Needs {
                required: Some(2),
                approvers: vec!["ann".into()],
                timeout: Some(Duration::from_hours(3)),
                escalate_to: vec!["bob".into()],
            },
        })
    }

    /// What is shown of a plan with one step that asks this gate.
    fn shown(provider: Provider) -> Vec<String> {
        let decision = Work::Approve(Box::new(Approve {
            message: Template::literal("Shall it?"),
            show: vec![(Name::parse("sum").unwrap(), Template::literal("7"))],
            needs: Needs::default(),
        }));
        let step = Step {
            gates: vec![asked(provider)],
            ..Step::new(Name::parse("pay").unwrap(), decision)
        };
        let parts = sample::parts(vec![step]);
        let view = Consent::of(&Plan::new(parts).unwrap(), "plan.md");
        let line = |line: &crate::report::consent::Line| format!("{} = {}", line.path(), line.text);
        view.lines.iter().map(line).collect()
    }

    fn has(lines: &[String], wanted: &[&str]) {
        for line in wanted {
            assert!(lines.iter().any(|own| own == line), "{line}: {lines:#?}");
        }
    }

    #[test]
    fn a_decision_shows_what_is_asked_and_who() {
        let lines = shown(Provider::Predicate(Predicate::ApprovalAlways));
        let common = [
            "steps.pay.gates[large-sums] = large-sums",
            "steps.pay.approve.message = \"Shall it?\"",
            "steps.pay.approve.show.sum = 7",
            "gates.large-sums.file = gates/sums.md",
            "gates.large-sums.on = on_tool_call",
            "gates.large-sums.lane = policy: it decides",
            "gates.large-sums.provider = predicate",
            "gates.large-sums.on_block = tell",
            "gates.large-sums.approval.required = 2",
            "gates.large-sums.approval.approvers[ann] = ann",
            "gates.large-sums.approval.timeout = 3h",
            "gates.large-sums.approval.escalate_to[bob] = bob",
            "gates.large-sums.check.approval_always = somebody must agree, always",
        ];
        has(&lines, &common);
    }

    #[test]
    fn every_provider_shows_what_it_decides_by() {
        let range = |min, max| Some(Range { min, max });
        let numbers = Predicate::NumericRange {
            block_outside: range(Some(0.0), Some(100.0)),
            auto_approve: range(None, Some(10.0)),
            require_approval: range(Some(10.0), None),
            clamp: None,
        };
        let words = [
            "gates.large-sums.check.block_outside = 0 to 100",
            "gates.large-sums.check.auto_approve = … to 10",
            "gates.large-sums.check.require_approval = 10 to …",
        ];
        has(&shown(Provider::Predicate(numbers)), &words);
        let program = GateScript {
            probe: Probe::Run(Script {
                shell: vec!["sh".into()],
                text: "decide".into(),
            }),
            expect: None,
            then: Some((
                "sum".into(),
                Predicate::Regex(regex::Regex::new("^a").unwrap()),
            )),
            env: Vec::new(),
            timeout: Duration::from_secs(30),
        };
        let words = [
            "gates.large-sums.check.run = decide",
            "gates.large-sums.then = it printed sum",
            "gates.large-sums.then.regex = ^a",
            "gates.large-sums.timeout = 30s",
        ];
        has(&shown(Provider::Script(Box::new(program))), &words);
        let detector = Guardrail {
            detect: vec!["secrets".into()],
            on_find: OnFind::Redact,
        };
        let words = [
            "gates.large-sums.detect[secrets] = secrets",
            "gates.large-sums.on_find = redact: it goes on without what was found",
        ];
        has(&shown(Provider::Guardrail(detector)), &words);
        let model = Llm {
            prompt: "Is it kind?".into(),
            promote_to_policy: true,
        };
        let words = [
            "gates.large-sums.prompt = Is it kind?",
            "gates.large-sums.promote_to_policy = true",
        ];
        has(&shown(Provider::Llm(model)), &words);
    }
}

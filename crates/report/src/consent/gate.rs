use std::sync::Arc;

use super::check::{expectations, json_expectations};
use super::exact::{exact_bytes, json, weight};
use super::view::RecordView;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_model::{
    AnswerChoices, AnswerKind, ApprovalRequirement, ApprovalStep, Escalation, Gate, GateLane, GatePredicate,
    GateProvider, GateScript, Guardrail, LlmJudge, OnFinding, PredicateRange,
};

/// Names the gates that apply; each is shown once, in a part of its own.
pub(super) fn names(gates: &[Arc<Gate>], sheet: &mut SummaryBuilder) {
    let ids: Vec<String> = gates.iter().map(|gate| gate.id.to_string()).collect();
    lines!(sheet in Decision { guard "gates" = &ids });
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
    lines!(sheet in Decision {
        plain "title" in About = title,
        plain "file" = path.as_deref().unwrap_or("in the plan"),
        plain "on" = on.as_str(),
        least "lane" = match lane {
            GateLane::Policy => ("policy: it decides", 1.0),
            GateLane::Quality => ("quality: it advises only", 0.0),
        },
        plain "provider" = provider.as_str(),
        plain "extract" = extract,
    });
    match provider {
        GateProvider::Predicate(rule) => rule.view(sheet),
        GateProvider::Script(program) => program.view(sheet),
        GateProvider::Guardrail(detector) => sheet.below("config", |sheet| detector.view(sheet)),
        GateProvider::Llm(model) => model.view(sheet),
    }
    lines!(sheet in Decision { plain "on_block" = on_block });
    escalations(own, sheet);
    sheet.below("approval", |sheet| approval.view(sheet));
}

/// A rule, named by `check` and completed by `config`.
impl RecordView for GatePredicate {
    fn view(&self, sheet: &mut SummaryBuilder) {
        let name = match self {
            Self::NumericRange { .. } => "numeric_range",
            Self::StringMatch { .. } => "string_match",
            Self::Regex(_) => "regex",
            Self::FileValid { .. } => "file_valid",
            Self::ApprovalAlways => "approval_always",
            Self::JsonPath(_) => "json_path",
        };
        lines!(sheet in Decision { plain "check" = name });
        sheet.below("config", |sheet| match self {
            Self::NumericRange { block_outside, auto_approve, require_approval, clamp } => {
                lines!(sheet in Decision {
                    guard "block_outside" = block_outside.as_ref().map(span),
                    grant "auto_approve" = auto_approve.as_ref().map(span),
                    guard "require_approval" = require_approval.as_ref().map(span),
                    plain "clamp" = clamp.as_ref().map(span),
                });
            }
            Self::StringMatch { allowed, approval } => {
                lines!(sheet in Decision {
                    grant "allowed_values" = allowed,
                    grant "approval_values" = approval,
                });
            }
            Self::Regex(pattern) => lines!(sheet in Decision { plain "pattern" = pattern.to_string() }),
            Self::FileValid { permitted, max_size_bytes } => {
                let size = max_size_bytes.map(|size| (exact_bytes(size), weight(size)));
                lines!(sheet in Decision { plain "permitted" = permitted, most "max_size" = size });
            }
            Self::ApprovalAlways => {}
            Self::JsonPath(comparisons) => json_expectations(comparisons, sheet),
        });
    }
}

fn span(range: &PredicateRange) -> String {
    let PredicateRange { min, max } = range;
    let end = |end: &Option<f64>| end.map_or("…".into(), |number| number.to_string());
    format!("{} to {}", end(min), end(max))
}

view! { program: GateScript in Work {
    own probe = RecordView::view,
    own expect = expectations,
    own then = RecordView::view,
    plain cwd,
    plain env,
    most timeout in Effort,
} }

view! { detector: Guardrail in Decision {
    guard detect,
    least on_find = match on_find {
        OnFinding::Block => ("block", 3.0),
        OnFinding::Ask => ("ask: an approver must agree", 2.0),
        OnFinding::Redact => ("redact: the findings are removed and it continues", 1.0),
        OnFinding::Flag => ("flag: it continues, and the finding is recorded", 0.0),
    },
} }

view! { model: LlmJudge in Decision {
    plain prompt as "config.prompt",
    least promote_to_policy,
} }

/// The escalations that blocks lead to.
pub(super) fn escalations(own: &[Escalation], sheet: &mut SummaryBuilder) {
    sheet.below("escalation", |sheet| {
        for escalation in own {
            let (name, action) = (&escalation.name, escalation.action.as_str());
            sheet.add(SummaryLineKind::Decision, |_| RiskDirection::Plain, name, action, false);
            sheet.below(name, |sheet| escalation.view(sheet));
        }
    });
}

view! { escalation: Escalation in Decision {
    plain message,
    plain fallback,
    plain queue,
    plain rephrase,
    plain plan,
    most max_retries,
} aside name, action }

// The approvers who must agree.
view! { needs: ApprovalRequirement in Decision {
    least required,
    plain approvers,
    most timeout,
    grant escalate_to,
} }

/// A decision made by approvers.
pub(super) fn approve(decision: &ApprovalStep, sheet: &mut SummaryBuilder) {
    lines!(sheet in Decision { guard "approve" = "it waits for an approval", below "approve" = decision });
}

view! { decision: ApprovalStep in Decision {
    plain message = json(&message.source().into()),
    guard show,
    below answer,
    own needs = RecordView::view,
} }

/// The answer that is asked for.
impl RecordView for AnswerKind {
    fn view(&self, sheet: &mut SummaryBuilder) {
        let source = match self {
            Self::Choose(AnswerChoices::List(words)) => words.join(", "),
            _ => self.template().map(|text| text.source().to_owned()).unwrap_or_default(),
        };
        sheet.add(SummaryLineKind::Decision, |_| RiskDirection::Plain, self.as_str(), source, false);
        if let Self::Edit { max_length, .. } = self {
            lines!(sheet in Decision { most "max_length" = max_length });
        }
    }
}

use std::collections::BTreeMap;

use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;

/// Checks that the order expected by the author of a dag is one that `depends_on` allows: every
/// node once, in a layer after those it needs.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let Some(layers) = &context.plan.layers else {
        return;
    };
    let mut placed: BTreeMap<usize, (usize, Span)> = BTreeMap::new();
    for (layer, names) in layers.value.iter().enumerate() {
        for name in names {
            let id = name.value.as_str();
            // The plan of an escalation is no node, and comes after all of them.
            let Some(at) = context.find(id).filter(|at| !context.step(*at).on_escalation) else {
                unknown(id, name.span, context, diagnostics);
                continue;
            };
            if let Some((_, first)) = placed.get(&at) {
                let message = format!("`{id}` is listed twice in the order");
                let mistake = Diagnostic::new(Code::OrderWrong, name.span, message);
                diagnostics.note(
                    mistake.with_related(*first, "the other one is here").with_help("remove one of them"),
                );
            } else {
                placed.insert(at, (layer, name.span));
            }
        }
    }
    for (at, step) in context.steps.iter().enumerate() {
        if !placed.contains_key(&at) && !step.on_escalation {
            let message = format!("`{}` is missing from the order", step.id.value);
            let mistake = Diagnostic::new(Code::OrderWrong, layers.span, message);
            diagnostics.note(mistake.with_related(step.id.span, "the node").with_help("add it to a layer"));
        }
    }
    check_order(context, &placed, diagnostics);
}

fn unknown(id: &str, span: Span, context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    if context.is_absent(id) {
        let message = format!("unknown node `{id}`");
        let mistake = Diagnostic::new(Code::UnknownStep, span, message);
        let ids = context.steps.iter().map(|step| step.id.value.as_str());
        diagnostics.misspelt(mistake, id, ids, "use the id of a node of this dag");
    }
}

fn check_order(
    context: &RuleContext<'_>,
    placed: &BTreeMap<usize, (usize, Span)>,
    diagnostics: &mut FileDiagnostics,
) {
    for (at, (layer, span)) in placed {
        for needed in context.graph.needs(*at) {
            let Some((below, other)) = placed.get(needed).filter(|_| needed != at) else {
                continue;
            };
            if below >= layer {
                let (id, needed) = (context.id(*at), context.id(*needed));
                let message = format!("`{id}` must come after `{needed}`, which it depends on");
                let mistake = Diagnostic::new(Code::OrderWrong, *span, message);
                let help = format!("move `{id}` to a layer after that of `{needed}`");
                diagnostics.note(mistake.with_related(*other, "the other one is here").with_help(help));
            }
        }
    }
}

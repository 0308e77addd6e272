use std::collections::BTreeSet;

use crate::ast::StepSpec;
use crate::check::{ExprSite, FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;
use wf_model::expr::ExprReference;

/// Checks that every parameter, secret, step and output that an expression reads is declared.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let params = context.plan.params.iter().map(|(name, _)| name.value.as_str());
    let secrets = context.plan.secrets.iter().map(|(name, _)| name.value.as_str());
    let params = DeclaredNames {
        code: Code::UnknownParam,
        noun: "parameter",
        help: "declare it under `params`",
        names: params.collect(),
    };
    let secrets = DeclaredNames {
        code: Code::UnknownSecret,
        noun: "secret",
        help: "declare it under `secrets`",
        names: secrets.collect(),
    };
    for read in &context.reads {
        let span = read.reference.span;
        match &read.reference.name {
            ExprReference::Param(name) => params.has(name, span, context, diagnostics),
            ExprReference::Secret(name) => secrets.has(name, span, context, diagnostics),
            ExprReference::Output { step, output } => {
                if let Some(at) = known(step, span, context, diagnostics) {
                    output_exists(context.step(at), output, span, context, diagnostics);
                }
            }
            ExprReference::Block(_) => {
                let step = read.step.map(|at| context.step(at));
                if read.site != ExprSite::With || step.is_none_or(|step| !step.on_escalation) {
                    let message =
                        format!("`{}` is not available in {}", read.reference.name, read.site.noun());
                    let help = "it is only available in `with` of an escalation with `action: spawn_task`";
                    diagnostics.note(Diagnostic::new(Code::UnknownName, span, message).with_help(help));
                }
            }
            name => {
                if let Some(step) = name.step() {
                    known(step, span, context, diagnostics);
                }
            }
        }
    }
}

/// The names of one kind.
struct DeclaredNames<'a> {
    code: Code,
    noun: &'static str,
    help: &'static str,
    names: BTreeSet<&'a str>,
}

impl DeclaredNames<'_> {
    fn has(&self, name: &str, span: Span, context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
        if !self.names.contains(name) && context.is_absent(name) {
            let message = format!("unknown {} `{name}`", self.noun);
            let mistake = Diagnostic::new(self.code, span, message);
            diagnostics.misspelt(mistake, name, self.names.iter().copied(), self.help);
        }
    }
}

fn known(
    id: &str,
    span: Span,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) -> Option<usize> {
    let found = context.find(id);
    if found.is_none() && context.is_absent(id) {
        let message = format!("unknown step `{id}`");
        let mistake = Diagnostic::new(Code::UnknownStep, span, message);
        let ids = context.steps.iter().map(|step| step.id.value.as_str());
        diagnostics.misspelt(mistake, id, ids, "use the id of a step of this plan");
    }
    found
}

/// Checks that a step has an output: one that it declares, or one of the plan that it uses.
fn output_exists(
    step: &StepSpec,
    name: &str,
    span: Span,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    let shown: Vec<String> = step.approve.iter().flat_map(|approve| approve.outputs()).collect();
    let declared = step.outputs.iter().map(|(name, _)| name.value.as_str());
    let declared: Vec<&str> = declared.chain(shown.iter().map(String::as_str)).collect();
    let own = || declared.iter().copied();
    if own().any(|output| output == name) || !context.is_absent(name) {
        return;
    }
    let id = &step.id.value;
    let Some(path) = step.used_file() else {
        let message = format!("step `{id}` does not declare an output `{name}`");
        let mistake = Diagnostic::new(Code::UnknownOutput, span, message);
        let mistake = mistake.with_related(step.id.span, "the step");
        diagnostics.misspelt(mistake, name, own(), "declare it under the step's `outputs`");
        return;
    };
    // A plan that could not be read completely may well have the output.
    let Some((file, plan)) = context.used(step) else {
        return;
    };
    let nested = || plan.outputs.iter().map(|(name, _)| name.value.as_str());
    if context.loaded.is_whole(file) && nested().all(|output| output != name) {
        let message = format!("`{}`, used by step `{id}`, has no output `{name}`", path.value);
        let mistake = Diagnostic::new(Code::UnknownOutput, span, message);
        let help = "declare it under `outputs` of that plan";
        diagnostics.misspelt(mistake.with_related(path.span, "the plan"), name, nested(), help);
    }
}

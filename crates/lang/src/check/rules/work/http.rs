use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};

/// Checks that a step declares the outputs that its request takes from the answer.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways() {
        let Some(http) = &step.http else { continue };
        for (name, _) in http.outputs.iter() {
            let declared = || step.outputs.iter().map(|(output, _)| output.value.as_str());
            let id = name.value.as_str();
            if declared().all(|output| output != id) && !context.may_hide_uses() {
                let message = format!("step `{}` declares no output `{id}`", step.id.value);
                let mistake = Diagnostic::new(Code::UnknownOutput, name.span, message);
                let help = "declare it under the step's own `outputs`, with its type";
                diagnostics.misspelt(mistake, id, declared(), help);
            }
        }
    }
}

use crate::check::{ExprSite, FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_model::expr::ExprReference;

/// Checks that a secret is read only in places seen by the work alone: in the `env` of a step, and
/// in the headers and the body of a request.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for read in &context.reads {
        let ExprReference::Secret(name) = &read.reference.name else {
            continue;
        };
        let reason = match read.site {
            ExprSite::Env | ExprSite::Request => continue,
            ExprSite::PlanEnv => "every step would see it",
            ExprSite::PlanEnd => "it would become part of the result",
            ExprSite::Argument => "every process on the machine can see arguments",
            ExprSite::Url => "URLs are logged",
            ExprSite::Check => "checks have no access to secrets",
            ExprSite::Intent
            | ExprSite::When
            | ExprSite::ForEach
            | ExprSite::With
            | ExprSite::Uses
            | ExprSite::File
            | ExprSite::Cache
            | ExprSite::Artifact
            | ExprSite::Cwd
            | ExprSite::Approve => "it would be recorded",
        };
        let message = format!("the secret `{name}` is not allowed in {}: {reason}", read.site.noun());
        let mistake = Diagnostic::new(Code::SecretExposed, read.reference.span, message);
        let help = match read.site {
            ExprSite::Url => "send it in a header or in the body".to_owned(),
            _ => format!("only the `env` of a step may contain it: `{name}: \"{{{{ secrets.{name} }}}}\"`"),
        };
        diagnostics.note(mistake.with_help(help));
    }
}

//! The files that checks read and no step declares, told before a run finds out.

use super::Workspace;
use crate::config::Config;
use crate::diag::{Code, Diagnostic};
use crate::exec::view::{Undeclared, undeclared};
use crate::source::Span;
use crate::spec::{self, Loaded, ast};

/// Notes which checks of a plan read what a step makes and does not declare.
pub fn note(workspace: &Workspace, loaded: &mut Loaded) {
    if loaded.has_errors() {
        return;
    }
    let Ok(plan) = spec::lower(loaded, &Config::default().defaults) else {
        return;
    };
    let found = undeclared(&plan, &workspace.root);
    let told = found.iter().filter_map(|one| {
        let span = span(loaded.root()?, one)?;
        Some((0, told(one, span)))
    });
    let told: Vec<_> = told.collect();
    loaded.diagnostics.extend(told);
}

fn told(one: &Undeclared, span: Span) -> Diagnostic {
    let Undeclared {
        check, path, maker, ..
    } = one;
    let path = path.display();
    let message =
        format!("the check `{check}` reads `{path}`, which step `{maker}` does not declare");
    let help = format!(
        "name it in `artifacts` of `{maker}`, or in `writes`: the next run finds it there, and \
         no check judges a workspace in which such a file changes undeclared"
    );
    Diagnostic::new(Code::ProductUndeclared, span, message).help(help)
}

/// The name of a check, where it is written.
fn span(plan: &ast::Plan, one: &Undeclared) -> Option<Span> {
    let own = |step: &&ast::Step| Some(&step.id.value) == one.step.as_ref();
    let checks: Vec<&ast::Check> = match plan.all_steps().find(own) {
        Some(step) => step.checks().collect(),
        None => plan.checks().collect(),
    };
    let named = checks
        .into_iter()
        .find(|check| check.name.value == one.check);
    named.map(|check| check.name.span)
}

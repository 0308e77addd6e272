//! What checks rely on that will not be what it was, told before a run finds out.

use super::{Ui, Workspace};
use crate::config::Config;
use crate::diag::{Code, Diagnostic};
use crate::exec::fixed::{Site, Undeclared, undeclared};
use crate::source::Span;
use crate::spec::{self, Loaded, ast};

/// Notes which checks of a plan rely on what a step makes and does not declare.
pub fn note(ui: &Ui, workspace: &Workspace, loaded: &mut Loaded) {
    if loaded.has_errors() {
        return;
    }
    let Ok(plan) = spec::lower(loaded, &Config::default().defaults) else {
        return;
    };
    let site = Site {
        root: &workspace.root,
        host: &ui.env.host(),
        params: None,
    };
    let found = undeclared(&plan, site);
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
    let message = match maker {
        Some(maker) => {
            format!("the check `{check}` relies on `{path}`, which step `{maker}` makes")
        }
        None => format!("the check `{check}` runs `{path}`, which is not there"),
    };
    let help = match maker {
        Some(maker) => {
            format!("name it in `artifacts` of `{maker}`: else the check counts as altered")
        }
        None => "if a step makes it, name it in `artifacts` of the step: else the check counts as \
                 altered"
            .to_owned(),
    };
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

//! The mistakes in a goal apart from its plan; the rules of plans cover that one.

use super::FileDiagnostics;
use crate::{
    LoadedSpec,
    ast::{GoalSpec, PlanSpec},
    timing,
};
use wf_base::diag::{Code, Diagnostic};
use wf_model::expr::Template;

/// Checks that a goal needs no input, has a desired state, and can be checked without its steps.
pub(super) fn check_goal_file(
    loaded: &LoadedSpec,
    file: usize,
    goal: &GoalSpec,
    diagnostics: &mut FileDiagnostics,
) {
    let plan = loaded.plans.get(file).and_then(Option::as_ref);
    let Some(plan) = plan else { return };
    check_no_approvals(goal, diagnostics);
    check_read_only(plan, diagnostics);
    secrets_exist(goal, loaded.is_whole(file), diagnostics);
    if let Some(source) = loaded.sources.get(file) {
        let (_, wrong) = timing(goal, source);
        for mistake in wrong {
            diagnostics.note(mistake);
        }
    }
    if loaded.is_whole(file) {
        check_notifications(goal, diagnostics);
    }
}

/// Refuses parameters to ask for: a reconciliation starts by itself, without a user.
fn check_no_approvals(goal: &GoalSpec, diagnostics: &mut FileDiagnostics) {
    let open = goal.params.iter().filter(|(_, own)| own.default.is_none());
    for (name, _) in open {
        let message = format!("the parameter `{}` needs a default: scheduled runs get no values", name.value);
        let mistake = Diagnostic::new(Code::KeyMissing, name.span, message);
        diagnostics.note(mistake.with_help("add `default`, or remove it"));
    }
}

/// Checks that the criteria need no steps: a check of the goal runs the checks alone.
fn check_read_only(plan: &PlanSpec, diagnostics: &mut FileDiagnostics) {
    for check in plan.checks() {
        let argv = check.exec.iter().flat_map(|argv| &argv.value);
        let read = argv.chain(check.env.iter().map(|(_, value)| value));
        for read in read.flat_map(Template::refs) {
            if let Some(step) = read.name.step() {
                let message = format!(
                    "check `{}` reads from step `{step}`, but goal checks run no steps",
                    check.name.value
                );
                let mistake = Diagnostic::new(Code::NotUpstream, read.span, message);
                diagnostics.note(mistake.with_help("check what the step produces instead"));
            }
        }
    }
}

/// Refuses undeclared secrets of notifications.
fn secrets_exist(goal: &GoalSpec, is_whole: bool, diagnostics: &mut FileDiagnostics) {
    let declared = || goal.secrets.iter().map(|(name, _)| name.value.as_str());
    for name in goal.notification_secrets() {
        let secret_name = name.value.as_str();
        if is_whole && declared().all(|own| own != secret_name) {
            let message = format!("unknown secret `{secret_name}`");
            let mistake = Diagnostic::new(Code::UnknownSecret, name.span, message);
            diagnostics.misspelt(mistake, secret_name, declared(), "declare it under `secrets`");
        }
    }
}

/// Notes lists written as empty, not those emptied by mistakes in them.
fn check_notifications(goal: &GoalSpec, diagnostics: &mut FileDiagnostics) {
    let empty = goal.verify.as_ref().filter(|checks| checks.value.is_empty());
    if let Some(checks) = empty {
        let message = "a goal needs at least one check";
        let mistake = Diagnostic::new(Code::ValueWrong, checks.span, message);
        diagnostics.note(mistake.with_help("add one under `verify`"));
    }
    let empty = goal.schedule.as_ref().filter(|rules| rules.value.0.is_empty());
    if let Some(rules) = empty {
        let message = "the list of times is empty";
        let mistake = Diagnostic::new(Code::ValueWrong, rules.span, message);
        diagnostics.note(mistake.with_help("write `schedule: \"0 6 * * *\"`"));
    }
}

use super::FileDiagnostics;
use crate::{
    LoadedSpec,
    ast::{GateRef, GateSpec, PlanSpec},
};
use wf_base::{
    diag::{Code, Diagnostic},
    source::Spanned,
};

/// Adds to the diagnostics the named approvers who may approve nothing, so nobody could
/// answer. `names` are all approvers, and `required` of them must agree.
pub fn people(loaded: &mut LoadedSpec, names: &[String], required: u32) {
    let mut mistakes: Vec<(usize, Diagnostic)> = Vec::new();
    for (file, plan) in loaded.plans.iter().enumerate() {
        let of_plans = plan.iter().flat_map(of_plan);
        let gate = loaded.gates.get(&file).into_iter().flat_map(of_gate);
        let mut diagnostics = FileDiagnostics::default();
        for some in of_plans.chain(gate) {
            for name in some.iter().filter(|name| !names.contains(&name.value)) {
                unknown(name, names, &mut diagnostics);
            }
            too_few(some, required, &mut diagnostics);
        }
        let wrong = diagnostics.into_diagnostics().into_iter();
        mistakes.extend(wrong.map(|mistake| (file, mistake)));
    }
    loaded.diagnostics.extend(mistakes);
    loaded.sort();
}

fn unknown(name: &Spanned<String>, names: &[String], diagnostics: &mut FileDiagnostics) {
    let message = format!("`{}` is not listed as an approver of this workspace", name.value);
    let mistake = Diagnostic::new(Code::UnknownApprover, name.span, message);
    let known_names = names.iter().map(String::as_str);
    diagnostics.misspelt(mistake, &name.value, known_names, "add them to approvers.yaml");
}

/// Notes lists with fewer approvers than must agree.
fn too_few(some: &[Spanned<String>], required: u32, diagnostics: &mut FileDiagnostics) {
    let Some(first) = some.first() else { return };
    if some.len() < required as usize {
        let may = some.len();
        let message = format!(
            "this workspace requires {required} approvals, but only {may} may \
                               approve here"
        );
        let mistake = Diagnostic::new(Code::ValueWrong, first.span, message);
        diagnostics.note(mistake.with_help("list more approvers, or none: then all approvers may approve"));
    }
}

/// Returns the lists of approvers in a plan.
fn of_plan(plan: &PlanSpec) -> Vec<&[Spanned<String>]> {
    let mut lists = Vec::new();
    for step in plan.all_steps() {
        if let Some(approve) = &step.approve {
            lists.extend([&*approve.approvers, &*approve.escalate_to]);
        }
        lists.extend(step.gates.iter().flat_map(inline));
    }
    lists.extend(plan.gates.iter().flat_map(inline));
    lists
}

fn inline(gate: &GateRef) -> Vec<&[Spanned<String>]> {
    match gate {
        GateRef::Inline(gate) => of_gate(gate),
        GateRef::Named(_) => Vec::new(),
    }
}

fn of_gate(gate: &GateSpec) -> Vec<&[Spanned<String>]> {
    let needs = gate.approval.iter();
    needs.flat_map(|needs| [&*needs.approvers, &*needs.escalate_to]).collect()
}

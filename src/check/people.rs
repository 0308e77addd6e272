use super::Notes;
use crate::diag::{Code, Diagnostic};
use crate::source::Spanned;
use crate::spec::Loaded;
use crate::spec::ast::{Gate, GateRef, Plan};

/// Adds to what is wrong the names of people who are to be asked and may approve nothing: nobody
/// could answer. `names` are all who may.
pub fn people(loaded: &mut Loaded, names: &[String]) {
    let mut found: Vec<(usize, Diagnostic)> = Vec::new();
    for (file, plan) in loaded.plans.iter().enumerate() {
        let asked = plan.iter().flat_map(of_plan);
        let gate = loaded.gates.get(&file).into_iter().flat_map(of_gate);
        let mut notes = Notes::default();
        for name in asked.chain(gate) {
            if !names.contains(&name.value) {
                unknown(name, names, &mut notes);
            }
        }
        let wrong = notes.into_diagnostics().into_iter();
        found.extend(wrong.map(|mistake| (file, mistake)));
    }
    loaded.diagnostics.extend(found);
    loaded.sort();
}

fn unknown(name: &Spanned<String>, names: &[String], notes: &mut Notes) {
    let message = format!("`{}` is no approver of this workspace", name.value);
    let mistake = Diagnostic::new(Code::UnknownApprover, name.span, message);
    let known = names.iter().map(String::as_str);
    notes.misspelt(mistake, &name.value, known, "list them in approvers.yaml");
}

/// Everybody whom a plan names.
fn of_plan(plan: &Plan) -> Vec<&Spanned<String>> {
    let mut all = Vec::new();
    for step in plan.all_steps() {
        if let Some(approve) = &step.approve {
            all.extend(approve.approvers.iter().chain(&approve.escalate_to));
        }
        all.extend(step.gates.iter().flat_map(inline));
    }
    all.extend(plan.gates.iter().flat_map(inline));
    all
}

fn inline(gate: &GateRef) -> Vec<&Spanned<String>> {
    match gate {
        GateRef::Inline(gate) => of_gate(gate),
        GateRef::Named(_) => Vec::new(),
    }
}

fn of_gate(gate: &Gate) -> Vec<&Spanned<String>> {
    let needs = gate.approval.iter();
    needs
        .flat_map(|needs| needs.approvers.iter().chain(&needs.escalate_to))
        .collect()
}

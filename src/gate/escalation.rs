use crate::model::{Escalation, EscalationAction, Gate};

/// What a name stands for: in the gate's own escalations, in those of the plan, then in those that
/// are built in. What nobody knows is reported (Silas 5.1.1).
pub fn escalation(name: &str, gate: &Gate, plan: &[Escalation]) -> Escalation {
    let known = gate.escalations.iter().chain(plan);
    let known = known.filter(|escalation| escalation.name == name);
    let found = known.into_iter().next().cloned();
    found.unwrap_or_else(|| built_in(name))
}

fn built_in(name: &str) -> Escalation {
    let redirect = name == "polite_redirect";
    Escalation {
        name: name.into(),
        action: if redirect {
            EscalationAction::Respond
        } else {
            EscalationAction::Report
        },
        message: redirect.then(|| "this cannot be done here".into()),
        max_retries: 0,
        fallback: None,
        queue: None,
        rephrase: None,
        plan: None,
    }
}

use wf_base::name::GateId;
use wf_model::{ApprovalRequirement, Gate, GateLane, GatePredicate, GateProvider, GateTrigger};

/// Returns a gate for tests: on the output, in the policy lane, and it always asks.
pub(crate) fn gate(id: &str) -> Gate {
    Gate {
        id: GateId::parse(id).expect("a test names gates well"),
        title: None,
        path: None,
        on: GateTrigger::OnOutput,
        lane: GateLane::Policy,
        provider: GateProvider::Predicate(GatePredicate::ApprovalAlways),
        extract: None,
        on_block: None,
        escalations: Vec::new(),
        approval: ApprovalRequirement::default(),
    }
}

use crate::model::{Gate, Lane, Needs, Predicate, Provider, Trigger};
use crate::name::GateId;

/// A gate for tests: on the output, in the policy lane, and it always asks.
pub(super) fn gate(id: &str) -> Gate {
    Gate {
        id: GateId::parse(id).expect("a test names gates well"),
        title: None,
        path: None,
        on: Trigger::OnOutput,
        lane: Lane::Policy,
        provider: Provider::Predicate(Predicate::ApprovalAlways),
        extract: None,
        on_block: None,
        escalations: Vec::new(),
        approval: Needs::default(),
    }
}

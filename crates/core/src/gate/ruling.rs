use super::{GateAction, GateResult};
use wf_base::name::GateId;
use wf_model::GateLane;

/// The ruling from all results of a trigger point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateRuling {
    Continue,
    /// Block. Further blocks have no effect.
    Block {
        /// The first blocking gate.
        gate: GateId,
        reason: String,
        /// True if the gate failed, and blocks only to be safe.
        failed: bool,
    },
    /// Ask the approver first.
    Ask {
        /// The gates asking for it, in order.
        gates: Vec<GateId>,
    },
}

/// Combines results: the first block decides; without one, the approver must agree if any gate asks
/// for it. Quality gates decide nothing (Silas INV-04).
pub fn ruling(results: &[GateResult]) -> GateRuling {
    let policy = || results.iter().filter(|result| result.lane == GateLane::Policy);
    if let Some(first) = policy().find(|result| result.action == GateAction::Block) {
        let (gate, reason) = (first.gate.clone(), first.reason.clone());
        return GateRuling::Block { gate, reason, failed: first.failed };
    }
    let gates: Vec<GateId> = asking(results).into_iter().map(|result| result.gate).collect();
    if gates.is_empty() { GateRuling::Continue } else { GateRuling::Ask { gates } }
}

/// Returns the results of the gates asking for an approval.
pub fn asking(results: &[GateResult]) -> Vec<GateResult> {
    let asks = |result: &&GateResult| {
        result.lane == GateLane::Policy && result.action == GateAction::RequireApproval
    };
    results.iter().filter(asks).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::{GateRuling, ruling};
    use crate::gate::{
        GateAction::{self, Block, Continue, RequireApproval},
        GateResult,
    };
    use wf_base::name::GateId;
    use wf_model::{
        GateLane::{self, Policy, Quality},
        GateTrigger,
    };

    fn check(results: &[(&str, GateLane, GateAction)], expected: &GateRuling) {
        let result = |(id, lane, action): &(&str, GateLane, GateAction)| GateResult {
            gate: GateId::parse(id).unwrap(),
            trigger: GateTrigger::OnOutput,
            lane: *lane,
            action: *action,
            reason: format!("{id} says so"),
            score: None,
            flags: Vec::new(),
            changed: Vec::new(),
            rejected: Vec::new(),
            ignored: None,
            failed: false,
            duration_ms: 0,
            tokens: 0,
            cost: wf_model::Money::default(),
            asked: None,
        };
        let results: Vec<GateResult> = results.iter().map(result).collect();
        assert_eq!(ruling(&results), *expected);
    }

    fn block(gate: &str) -> GateRuling {
        GateRuling::Block {
            gate: GateId::parse(gate).unwrap(),
            reason: format!("{gate} says so"),
            failed: false,
        }
    }

    #[test]
    fn the_first_block_decides() {
        check(
            &[("ask", Policy, RequireApproval), ("one", Policy, Block), ("two", Policy, Block)],
            &block("one"),
        );
    }

    #[test]
    fn all_that_ask_are_named() {
        let gates = ["a", "c"].map(|id| GateId::parse(id).unwrap()).to_vec();
        check(
            &[("a", Policy, RequireApproval), ("b", Policy, Continue), ("c", Policy, RequireApproval)],
            &GateRuling::Ask { gates },
        );
    }

    #[test]
    fn quality_gates_decide_nothing() {
        check(&[("a", Quality, Block), ("b", Quality, RequireApproval)], &GateRuling::Continue);
        check(&[], &GateRuling::Continue);
    }
}

use super::{Action, GateResult};
use crate::model::Lane;
use crate::name::GateId;

/// What the results of a trigger point mean together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It may go on.
    Continue,
    /// It may not go on. Blocks after the first lead to nothing more.
    Block {
        /// The first gate that blocks.
        gate: GateId,
        /// Why.
        reason: String,
    },
    /// Somebody must agree first.
    Ask {
        /// The gates that ask for it, in order.
        gates: Vec<GateId>,
    },
}

/// What results mean together: the first block decides; without one, somebody must agree if any
/// gate asks for it. Quality gates decide nothing (Silas INV-04).
pub fn ruling(results: &[GateResult]) -> Ruling {
    let policy = || results.iter().filter(|result| result.lane == Lane::Policy);
    if let Some(first) = policy().find(|result| result.action == Action::Block) {
        return Ruling::Block {
            gate: first.gate.clone(),
            reason: first.reason.clone(),
        };
    }
    let asking = policy().filter(|result| result.action == Action::RequireApproval);
    let gates: Vec<GateId> = asking.map(|result| result.gate.clone()).collect();
    if gates.is_empty() {
        Ruling::Continue
    } else {
        Ruling::Ask { gates }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ruling, ruling};
    use crate::gate::Action::{self, Block, Continue, RequireApproval};
    use crate::gate::GateResult;
    use crate::model::Lane::{self, Policy, Quality};
    use crate::model::Trigger;
    use crate::name::GateId;

    fn check(results: &[(&str, Lane, Action)], expected: &Ruling) {
        let result = |(id, lane, action): &(&str, Lane, Action)| GateResult {
            gate: GateId::parse(id).unwrap(),
            trigger: Trigger::OnOutput,
            lane: *lane,
            action: *action,
            reason: format!("{id} says so"),
            score: None,
            flags: Vec::new(),
            changed: Vec::new(),
            rejected: Vec::new(),
            ignored: None,
            millis: 0,
        };
        let results: Vec<GateResult> = results.iter().map(result).collect();
        assert_eq!(ruling(&results), *expected);
    }

    fn block(gate: &str) -> Ruling {
        Ruling::Block {
            gate: GateId::parse(gate).unwrap(),
            reason: format!("{gate} says so"),
        }
    }

    #[test]
    fn the_first_block_decides() {
        check(
            &[
                ("ask", Policy, RequireApproval),
                ("one", Policy, Block),
                ("two", Policy, Block),
            ],
            &block("one"),
        );
    }

    #[test]
    fn all_that_ask_are_named() {
        let gates = ["a", "c"].map(|id| GateId::parse(id).unwrap()).to_vec();
        check(
            &[
                ("a", Policy, RequireApproval),
                ("b", Policy, Continue),
                ("c", Policy, RequireApproval),
            ],
            &Ruling::Ask { gates },
        );
    }

    #[test]
    fn quality_gates_decide_nothing() {
        check(
            &[("a", Quality, Block), ("b", Quality, RequireApproval)],
            &Ruling::Continue,
        );
        check(&[], &Ruling::Continue);
    }
}

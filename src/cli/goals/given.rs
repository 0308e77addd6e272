use serde_json::{Value, json};

use crate::cli::Failure;
use crate::machine::Ruling;
use crate::model::{Given, Goal, Object, Plan, resolve_params};
use crate::store::CheckRow;
use crate::time::Moment;

/// The most that a repair is told about the checks that failed, in bytes.
const MOST: usize = 16 * 1024;

/// The parameters of a run of a cycle: its own by default, and what the cycle gives.
pub fn params(
    plan: &Plan,
    goal: &Goal,
    slot: Option<Moment>,
    failed: &[CheckRow],
) -> Result<Object, Failure> {
    let prev = slot.and_then(|slot| goal.timing.prev(slot));
    let text = |moment: Option<Moment>| moment.map_or(String::new(), Moment::to_second);
    let mut given = Object::new();
    for one in Given::ALL {
        let value = match one {
            Given::FailedChecks => told(failed),
            Given::Slot => text(slot),
            Given::PrevSlot => text(prev.as_ref().map(|slot| slot.at)),
        };
        given.insert(one.as_str().to_owned(), value.into());
    }
    Ok(resolve_params(&plan.parts().params, &given)?)
}

/// What checks said that failed, as JSON; of many, as much as a program takes as an argument.
fn told(failed: &[CheckRow]) -> String {
    let refuted = failed
        .iter()
        .filter(|row| row.verdict.ruling == Ruling::Fail);
    let mut told: Vec<Value> = Vec::new();
    let mut size = 2;
    for row in refuted {
        let verdict = &row.verdict;
        let one = json!({
            "check": verdict.name,
            "expected": verdict.expected,
            "found": verdict.found,
            "evidence": verdict.evidence,
        });
        size += one.to_string().len() + 1;
        if size > MOST {
            told.push(json!({"check": verdict.name}));
        } else {
            told.push(one);
        }
    }
    Value::Array(told).to_string()
}

use serde_json::{Value, json};

use crate::CommandError;
use wf_base::{keyword::Keyword, time::Moment};
use wf_core::machine::{CheckRuling, CheckVerdict};
use wf_model::{Goal, GoalParam, JsonObject, Plan, resolve_params};

/// The limit of the report of failed checks for a repair, in bytes.
const REPORT_LIMIT: usize = 16 * 1024;

/// The parameters of a run of a reconciliation: the defaults, and the values the reconciliation gives.
pub fn reconciliation_params(
    plan: &Plan,
    goal: &Goal,
    slot: Option<Moment>,
    failed: &[CheckVerdict],
) -> Result<JsonObject, CommandError> {
    let prev = slot.and_then(|slot| goal.timing.prev(slot));
    let text = |moment: Option<Moment>| moment.map_or(String::new(), Moment::to_second);
    let mut params = JsonObject::new();
    for &one in GoalParam::ALL {
        let value = match one {
            GoalParam::FailedChecks => failed_checks_json(failed),
            GoalParam::Slot => text(slot),
            GoalParam::PrevSlot => text(prev.as_ref().map(|slot| slot.at)),
        };
        params.insert(one.as_str().to_owned(), value.into());
    }
    Ok(resolve_params(&plan.parts().params, &params)?)
}

/// The results of failed checks, as JSON; cut to what fits into an argument of a program.
fn failed_checks_json(failed: &[CheckVerdict]) -> String {
    let refuted = failed.iter().filter(|verdict| verdict.ruling == CheckRuling::Fail);
    let mut checks: Vec<Value> = Vec::new();
    let mut size = 2;
    for verdict in refuted {
        let check = json!({
            "check": verdict.name,
            "expected": verdict.expected,
            "found": verdict.found,
            "evidence": verdict.evidence,
        });
        size += check.to_string().len() + 1;
        if size > REPORT_LIMIT {
            checks.push(json!({"check": verdict.name}));
        } else {
            checks.push(check);
        }
    }
    Value::Array(checks).to_string()
}

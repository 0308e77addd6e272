use std::collections::BTreeSet;

use serde::Serialize;

use super::{CardKind, EntryBand, consequence, entry_bands};
use wf_core::machine::{AnswerOptions, ApprovalRequest, Artifact};
use wf_model::{Plan, Step};

/// A request, as a card shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestCard {
    /// The kind of answer it asks for.
    pub kind: CardKind,
    /// The reason for it, in one or two sentences.
    pub rationale: String,
    /// The result of a yes, as a part of a sentence.
    pub yes: String,
    /// The result of a no, as a part of a sentence.
    pub no: String,
    /// The files an answer covers as they were checked, and those that may change after a yes.
    pub affected: Vec<String>,
    /// The entries that can be selected, the surest first.
    pub bands: Vec<EntryBand>,
}

impl RequestCard {
    /// Returns the card of a request of a plan; without the plan, it says less.
    pub fn from_request(request: &ApprovalRequest, plan: Option<&Plan>, artifacts: &[Artifact]) -> Self {
        let bands = match &request.answer {
            Some(AnswerOptions::Select(entries)) => entry_bands(entries),
            _ => Vec::new(),
        };
        Self {
            kind: CardKind::from_request(request),
            rationale: rationale(request),
            yes: consequence::of_yes(request, plan),
            no: consequence::of_no(request),
            affected: affected(request, plan, artifacts),
            bands,
        }
    }
}

/// Returns why a request comes: its origin, and the cause of its risk.
fn rationale(request: &ApprovalRequest) -> String {
    let gates: Vec<String> = request.gates.iter().map(|gate| format!("`{gate}`")).collect();
    let place = request.task_id.as_ref().map(ToString::to_string);
    let asks = match (gates.as_slice(), place) {
        ([], None) => "The run asks.".to_owned(),
        ([], Some(place)) if request.stuck.is_some() => {
            format!("`{place}` failed and may not be tried again by itself.")
        }
        ([], Some(place)) => format!("`{place}` asks."),
        ([gate], _) => format!("Gate {gate} asks."),
        (many, _) => format!("Gates {} ask.", many.join(", ")),
    };
    match request.risk_of_approval() {
        Some(risk) => format!("{asks} The risk is {risk}."),
        None => asks,
    }
}

/// Returns the files an answer covers, then those that may change.
fn affected(request: &ApprovalRequest, plan: Option<&Plan>, artifacts: &[Artifact]) -> Vec<String> {
    let checked = artifacts.iter().map(|file| format!("{} as it was checked", file.path));
    let writes = plan.map(|plan| writes(request, plan)).unwrap_or_default();
    checked.chain(writes.into_iter().map(|path| format!("{path} may change"))).collect()
}

/// Returns the files and folders the waiting step and those after it may write; of the whole plan if none waits.
fn writes<'a>(request: &ApprovalRequest, plan: &'a Plan) -> BTreeSet<&'a str> {
    let waiting = consequence::waiting_step(request, plan);
    let later = waiting.map(|ix| plan.downstream(ix)).unwrap_or_default();
    let steps: Vec<&Step> = match waiting {
        Some(ix) => std::iter::once(ix).chain(later).map(|ix| plan.step(ix)).collect(),
        None => plan.steps().iter().collect(),
    };
    let permissions = steps.into_iter().flat_map(Step::ways).filter_map(|way| way.allow.as_ref());
    permissions.flat_map(|allow| allow.write.iter().map(String::as_str)).collect()
}

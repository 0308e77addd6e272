use serde::Serialize;

use crate::{
    CommandError,
    approve::{RunApprovalRequest, approval_requests},
    runs::lineage::outermost_run,
    state::reader::StateReader,
};
use wf_base::{name::RunId, untrusted::plain};
use wf_core::{
    machine::{AnswerOptions, ApprovalRequest},
    risk::ActionRisk,
};
use wf_engine::{EVIDENCE_EVENTS, recorded_evidence};
use wf_report::{
    card::RequestCard,
    decision::value_text,
    questions::{REQUEST_TEXT_EVENTS, approval_request_text},
    record::RunLifecycle,
};
use wf_store::{RunFilter, RunState, StoreError};

/// A request of a run for an approval or an answer, as a card shows it.
#[derive(Clone, Debug, Serialize)]
pub struct RequestView {
    pub run: RunId,
    /// Its number in that run.
    pub number: u32,
    /// The outermost run it belongs to.
    pub top: RunId,
    /// The waiting step, below those above it; `run`: the run itself.
    pub name: String,
    /// The plan of the run.
    pub plan: String,
    /// True if it asks a question, and false if it asks for an approval.
    pub is_question: bool,
    /// The risk of what may happen after a yes.
    pub risk: Option<ActionRisk>,
    /// The values shown with it and covered by the approval.
    pub values: Vec<ShownValue>,
    /// The permitted answers beyond yes and no.
    pub options: Option<AnswerOptions>,
    /// The card: its kind, its reason, and the result of each answer.
    pub card: RequestCard,
    /// The number of recorded answers. The run has not read them, or they do not suffice.
    pub answers: usize,
    /// Everything that the decision covers, as `wf approve` shows it.
    pub text: String,
    pub ask: ApprovalRequest,
}

/// A value of a request.
#[derive(Clone, Debug, Serialize)]
pub struct ShownValue {
    pub name: String,
    /// The value: a text as it is, anything else as JSON.
    pub text: String,
}

/// A request that was decided, with what became of its run.
#[derive(Clone, Debug, Serialize)]
pub struct DecidedRequest {
    /// The outermost run it belongs to.
    pub top: RunId,
    pub name: String,
    pub plan: String,
    pub message: String,
    /// The word for the decision.
    pub decision: &'static str,
    /// The names of those who decided.
    pub people: Vec<String>,
    /// The word for the state of the outermost run.
    pub life: &'static str,
}

/// Returns a request of a run that does not wait any more; `None`: there is none.
pub fn decided_request(
    reader: &StateReader,
    run: &RunId,
    number: u32,
) -> Result<Option<DecidedRequest>, CommandError> {
    let store = reader.store();
    let row = match store.runs().get(run) {
        Ok(row) => row,
        Err(StoreError::UnknownRun(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let top = outermost_run(store, run)?;
    let mut requests = approval_requests(store, &top)?.into_iter();
    let found = requests.find(|request| request.run == *run && request.request.request == number);
    let Some((request, outcome)) = found.and_then(|request| Some((request.clone(), request.outcome?))) else {
        return Ok(None);
    };
    let life = RunLifecycle::of(&store.runs().get(&top)?, store.leases().owner(&top)?);
    Ok(Some(DecidedRequest {
        name: request.name(),
        plan: row.plan,
        message: request.request.message,
        decision: outcome.decision.as_str(),
        people: outcome.by.iter().map(|signer| signer.name.clone()).collect(),
        life: life.as_str(),
        top,
    }))
}

/// Returns the waiting requests: first the open ones, the one expiring first before the others.
pub fn open_requests(reader: &StateReader) -> Result<Vec<RequestView>, CommandError> {
    let filter = RunFilter { state: Some(RunState::Running), ..RunFilter::default() };
    let mut open = Vec::new();
    for row in reader.store().runs().list(usize::MAX, &filter)? {
        if row.pending_approvals > 0 {
            open.extend(open_requests_of(reader, &row.id)?);
        }
    }
    open.sort_by(|one, other| {
        let order = |request: &RequestView| (request.answers, request.ask.expires);
        order(one).cmp(&order(other)).then(one.run.cmp(&other.run))
    });
    Ok(open)
}

/// Returns the requests of a run, and of those nested in it, that wait.
pub(super) fn open_requests_of(reader: &StateReader, run: &RunId) -> Result<Vec<RequestView>, CommandError> {
    let requests =
        approval_requests(reader.store(), run)?.into_iter().filter(|request| request.outcome.is_none());
    requests.map(|request| RequestView::of(reader, &request)).collect()
}

impl RequestView {
    /// Describes a request.
    fn of(reader: &StateReader, request: &RunApprovalRequest) -> Result<Self, CommandError> {
        let store = reader.store();
        let (row, approval_request) = (store.runs().get(&request.run)?, &request.request);
        let events = store.events().apart(&request.run, &REQUEST_TEXT_EVENTS)?;
        let evidence = if approval_request.covers_steps.is_empty() {
            Vec::new()
        } else {
            recorded_evidence(
                &store.events().of_kinds(&request.run, &EVIDENCE_EVENTS)?,
                &approval_request.covers_steps,
            )
        };
        let plan = reader.plan(&request.run)?;
        let values = approval_request
            .show
            .iter()
            .map(|(name, value)| ShownValue { name: name.clone(), text: value_text(value) });
        Ok(Self {
            run: request.run.clone(),
            number: approval_request.request,
            top: outermost_run(store, &request.run)?,
            name: request.name(),
            is_question: approval_request.is_question(),
            risk: approval_request.risk_of_approval().cloned(),
            values: values.collect(),
            options: approval_request.answer.clone(),
            card: RequestCard::from_request(approval_request, plan.as_deref(), &evidence),
            answers: store.approvals().answers(&request.run, approval_request.request)?.len(),
            text: plain(&approval_request_text(approval_request, &row, &events, &evidence)),
            plan: row.plan,
            ask: approval_request.clone(),
        })
    }
}

use super::form::AnswerForm;
use crate::{CliExitCode, CommandError, Workspace, names::task_name};
use wf_base::{
    name::RunId,
    remedy::{RequestAnswerForm, UserAction},
};
use wf_core::machine::{ApprovalOutcome, ApprovalRequest, RequestDecision, TaskId};
use wf_report::record::RecordedApproval;
use wf_sign::approval::ApprovalDecision;
use wf_store::{StoreError, StoreReader};

/// A pending or answered approval request of a run.
#[derive(Clone, Debug)]
pub struct RunApprovalRequest {
    /// The requesting run: the named one, or one nested in it.
    pub run: RunId,
    /// The tasks above it, as they are shown to users, if it is nested; the requesting task is the
    /// last.
    pub path: Vec<String>,
    /// The same with items by their numbers.
    numbers: Vec<String>,
    pub request: ApprovalRequest,
    /// The answer; `None`: it is pending.
    pub outcome: Option<ApprovalOutcome>,
}

/// Returns every approval request of a run of a workspace and of those nested in it, in order.
pub fn recorded_requests(
    workspace: &Workspace,
    run: &RunId,
) -> Result<Vec<RunApprovalRequest>, CommandError> {
    Ok(approval_requests(&StoreReader::open(&workspace.state)?, run)?)
}

/// Does the same with an open state.
pub(crate) fn approval_requests(
    reader: &StoreReader,
    run: &RunId,
) -> Result<Vec<RunApprovalRequest>, StoreError> {
    collect_nested(reader, run, &ParentTasks::default())
}

/// The tasks above a run: as they are shown to users, and with items by their numbers.
#[derive(Clone, Default)]
struct ParentTasks {
    path: Vec<String>,
    numbers: Vec<String>,
}

impl ParentTasks {
    fn with(&self, name: String, number: String) -> Self {
        let mut below = self.clone();
        below.path.push(name);
        below.numbers.push(number);
        below
    }
}

fn collect_nested(
    reader: &StoreReader,
    run: &RunId,
    parents: &ParentTasks,
) -> Result<Vec<RunApprovalRequest>, StoreError> {
    let mut requests = Vec::new();
    let facts = reader.events().apart(run, &RecordedApproval::EVENTS)?;
    for RecordedApproval { ask, given } in RecordedApproval::from_events(&facts) {
        let ParentTasks { path, numbers } = match &ask.task_id {
            Some(place) => parents.with(task_name(reader, run, place)?, place.to_string()),
            None => parents.clone(),
        };
        requests.push(RunApprovalRequest { run: run.clone(), path, numbers, request: ask, outcome: given });
    }
    for (child, attempt) in reader.runs().children(run)? {
        let number = attempt.split_once('#').map_or(&*attempt, |(place, _)| place);
        let name = match number.parse::<TaskId>() {
            Ok(place) => task_name(reader, run, &place)?,
            Err(_) => number.to_owned(),
        };
        let above = parents.with(name, number.to_owned());
        requests.extend(collect_nested(reader, &child, &above)?);
    }
    Ok(requests)
}

impl RunApprovalRequest {
    /// Returns its name on a command line: the step, after those above it, or `run`.
    pub fn name(&self) -> String {
        if self.path.is_empty() { "run".to_owned() } else { self.path.join("/") }
    }

    /// True if a name given by the user matches it: items have names and numbers.
    fn matches_name(&self, step: &str) -> bool {
        self.name() == step || !self.numbers.is_empty() && self.numbers.join("/") == step
    }
}

/// Returns the request for an answer: the only pending one, or that of the named step.
pub(super) fn pending_request(
    run: &RunId,
    requests: Vec<RunApprovalRequest>,
    step: Option<&str>,
    form: AnswerForm,
) -> Result<RunApprovalRequest, CommandError> {
    let short = run.short();
    let is_named = |request: &RunApprovalRequest| step.is_none_or(|step| request.matches_name(step));
    let last = requests.iter().rev().find(|request| is_named(request)).cloned();
    let mut open_requests: Vec<RunApprovalRequest> =
        requests.into_iter().filter(|request| request.outcome.is_none() && is_named(request)).collect();
    match (open_requests.len(), last) {
        (0, Some(request)) => Ok(request),
        (0, None) => {
            let message = match step {
                Some(step) => format!("run {short} has no pending approval for `{step}`"),
                None => format!("run {short} has no pending approvals"),
            };
            let error = CommandError::new(CliExitCode::Usage, message);
            Err(error.remedy("for its progress: ", UserAction::ShowRun(run.clone())))
        }
        (1, _) => Ok(open_requests.remove(0)),
        _ => Err(several_requests(run, &open_requests, form)),
    }
}

/// The failure if several requests are pending. Its remedy answers one of them, of the given form if there is any.
fn several_requests(run: &RunId, open_requests: &[RunApprovalRequest], form: AnswerForm) -> CommandError {
    let names: Vec<String> = open_requests.iter().map(RunApprovalRequest::name).collect();
    let message = format!("run {} has several pending approvals: {}", run.short(), names.join(", "));
    let (is_denial, is_text) = (form == AnswerForm::Denial, form == AnswerForm::Text);
    let fits = |request: &&RunApprovalRequest| is_denial || request.request.is_question() == is_text;
    let request = open_requests.iter().find(fits).or_else(|| open_requests.first());
    let (run, step) = (run.clone(), request.map(RunApprovalRequest::name));
    let form = if request.is_some_and(|request| request.request.is_question()) {
        RequestAnswerForm::Reply
    } else {
        RequestAnswerForm::Approval
    };
    let action = if is_denial {
        UserAction::DenyRequest { run, step, with_reason: true }
    } else {
        UserAction::AnswerRequest { run, step, form }
    };
    CommandError::new(CliExitCode::Usage, message).remedy("name the step: ", action)
}

impl RunApprovalRequest {
    /// Returns the message for a late answer, if it is one: the same answer again is no error. `outermost` is the run
    /// to stop otherwise.
    pub fn late_answer_message(
        &self,
        decision: ApprovalDecision,
        outermost: &RunId,
    ) -> Result<Option<String>, CommandError> {
        let Some(outcome) = &self.outcome else {
            return Ok(None);
        };
        let names: Vec<&str> = outcome.by.iter().map(|signer| signer.name.as_str()).collect();
        let by = if names.is_empty() { String::new() } else { format!(" by {}", names.join(", ")) };
        let (name, word) = (self.name(), outcome.decision.as_str());
        let message = format!("`{name}` of run {} was already {word}{by}", self.run.short());
        let is_same = match decision {
            ApprovalDecision::Approved => {
                matches!(outcome.decision, RequestDecision::Approved | RequestDecision::Answered)
            }
            ApprovalDecision::Denied => outcome.decision == RequestDecision::Denied,
        };
        if is_same {
            return Ok(Some(message));
        }
        let error = CommandError::new(CliExitCode::Approval, message);
        Err(error.remedy("a decision is final; to stop the run: ", UserAction::CancelRun(outermost.clone())))
    }
}

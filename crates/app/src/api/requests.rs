//! The requests of runs for people: those that wait, and one that was decided.
//!
//! An answer is a statement that its author signs. It is drafted and recorded as one of a browser is: `approve::answers::remote`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    Caller, CommandError,
    approve::RequestName,
    views::{DecidedRequest, RequestView, decided_request, find_run, open_requests, state_reader},
};
use wf_base::{name::RunId, time::Moment};
use wf_core::machine::AnswerOptions;

use super::plans::ApiRisk;

/// The requests that wait, the one expiring first before the others.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "RequestList")]
pub struct ApiRequestList {
    pub requests: Vec<ApiRequest>,
}

/// A request of a run: for an approval, or for the answer to a question.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Request")]
pub struct ApiRequest {
    pub run: RunId,
    /// Its number in that run.
    pub number: u32,
    /// The outermost run it belongs to.
    pub top: RunId,
    /// The step that waits, below those above it; `run`: the run itself.
    pub name: String,
    /// The plan of the run.
    pub plan: String,
    pub message: String,
    /// False: it was decided, or its time is over. Then only the keys about the decision follow.
    pub is_open: bool,
    /// True if it asks a question, and false if it asks for an approval.
    pub is_question: bool,
    pub expires: Option<Moment>,
    /// The risk of what may happen after a yes.
    pub risk: Option<ApiRisk>,
    /// The values that the decision covers.
    pub values: Vec<ApiShownValue>,
    /// The permitted answers beyond yes and no.
    pub options: Option<ApiAnswerOptions>,
    /// The number of recorded answers that do not suffice, or that the run has not read.
    pub answers: usize,
    /// All that the decision covers, for people.
    pub text: Option<String>,
    /// The word for the decision: `approved`, `answered`, `denied`, `expired`.
    pub decision: Option<String>,
    /// The names of those who decided.
    pub people: Vec<String>,
}

/// The permitted answers beyond yes and no: one of these keys.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "AnswerOptions")]
pub struct ApiAnswerOptions {
    /// Exactly one of these words, as `choice`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choose: Option<Vec<String>>,
    /// A text, as it is or changed, as `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<ApiDraftText>,
    /// All entries of this list, or some, as `selected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select: Option<Vec<Value>>,
}

/// A text that an answer may change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "DraftText")]
pub struct ApiDraftText {
    pub text: String,
    /// The most characters of the answer.
    pub max_length: u32,
}

impl ApiAnswerOptions {
    fn of(options: AnswerOptions) -> Self {
        match options {
            AnswerOptions::Choose(words) => Self { choose: Some(words), ..Self::default() },
            AnswerOptions::Edit { text, max_length } => {
                Self { edit: Some(ApiDraftText { text, max_length }), ..Self::default() }
            }
            AnswerOptions::Select(entries) => Self { select: Some(entries), ..Self::default() },
        }
    }
}

/// A value that is shown with a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ShownValue")]
pub struct ApiShownValue {
    pub name: String,
    /// A text as it is, anything else as JSON.
    pub text: String,
}

impl ApiRequest {
    /// Describes a request that waits.
    pub(super) fn of_open(view: RequestView) -> Self {
        let values = view.values.into_iter();
        Self {
            run: view.run,
            number: view.number,
            top: view.top,
            name: view.name,
            plan: view.plan,
            message: view.ask.message,
            is_open: true,
            is_question: view.is_question,
            expires: Some(view.ask.expires),
            risk: view.risk.as_ref().map(ApiRisk::of),
            values: values.map(|value| ApiShownValue { name: value.name, text: value.text }).collect(),
            options: view.options.map(ApiAnswerOptions::of),
            answers: view.answers,
            text: Some(view.text),
            decision: None,
            people: Vec::new(),
        }
    }

    fn of_decided(name: RequestName, decided: DecidedRequest) -> Self {
        Self {
            run: name.run,
            number: name.number,
            top: decided.top,
            name: decided.name,
            plan: decided.plan,
            message: decided.message,
            is_open: false,
            is_question: false,
            expires: None,
            risk: None,
            values: Vec::new(),
            options: None,
            answers: 0,
            text: None,
            decision: Some(decided.decision.to_owned()),
            people: decided.people,
        }
    }
}

/// Returns the requests that wait.
pub fn api_requests(caller: &dyn Caller) -> Result<ApiRequestList, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(ApiRequestList::default());
    };
    Ok(ApiRequestList { requests: open_requests(&reader)?.into_iter().map(ApiRequest::of_open).collect() })
}

/// Returns a request of the run whose id begins with a text; `None`: there is none.
pub fn api_request(caller: &dyn Caller, run: &str, number: u32) -> Result<Option<ApiRequest>, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(None);
    };
    let Some(run) = find_run(&reader, run)? else {
        return Ok(None);
    };
    let waiting = open_requests(&reader)?;
    let found = waiting.into_iter().find(|request| request.run == run && request.number == number);
    if let Some(view) = found {
        return Ok(Some(ApiRequest::of_open(view)));
    }
    let decided = decided_request(&reader, &run, number)?;
    Ok(decided.map(|decided| ApiRequest::of_decided(RequestName { run, number }, decided)))
}

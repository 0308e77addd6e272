//! The plans of a workspace: what they take, what they may do, and their start.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, json};

use crate::{
    Caller, CommandError,
    plan_start::{
        PlanStartError, PlanStartRequest, draft_plan_start, load_at, plan_digest, program_key, request_start,
        signature_reason,
    },
    specs::plans::list_specs,
    views::{PlanListing, find_plan, plan_listings},
};
use wf_base::name::RunId;
use wf_core::risk::{ActionRisk, risk_of_plan};
use wf_model::{JsonObject, PlanParam, UniqueKeyJson};
use wf_sign::canonical;

/// The plans of a workspace, by path.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PlanList")]
pub struct ApiPlanList {
    pub plans: Vec<ApiPlan>,
}

/// A plan in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub struct ApiPlan {
    /// The plan as a path names it: its id, or the path of its file if another plan has the same id.
    pub name: String,
    pub id: Option<String>,
    /// The path of its file, relative to the workspace.
    pub path: String,
    pub title: Option<String>,
    /// The first problem of its file; absent: it can be started.
    pub problem: Option<String>,
}

/// A plan as its file is now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PlanDetail")]
pub struct ApiPlanDetail {
    #[serde(flatten)]
    pub plan: ApiPlan,
    /// The digest of all its texts: a start that names it starts nothing else. Absent: its file has problems, and nothing below
    /// is known.
    pub digest: Option<String>,
    /// The JSON Schema of its parameters: of an object with a key for each.
    pub params: Option<JsonObject>,
    pub risk: Option<ApiRisk>,
    /// The reason why an approver signs for each of its runs; absent: a key that may `start` is enough.
    pub signature_reason: Option<String>,
}

/// A risk.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Risk")]
pub struct ApiRisk {
    /// `low`, `medium`, `high`, `irreversible`.
    pub level: String,
    /// The word for the rule that decided it.
    pub rule: String,
    /// The first step that it decided about; empty: there is no step.
    pub step: String,
}

/// The start of a run of a plan.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Start")]
pub struct ApiStart {
    /// The values of its parameters, as its schema has them.
    #[serde(deserialize_with = "read_params")]
    pub params: JsonObject,
    /// The digest of the plan as it was read; absent: it starts as it is now.
    pub digest: Option<String>,
    /// The signed statement, if an approver signs for the run: a DSSE envelope, as text.
    pub token: Option<String>,
}

/// Reads parameters, none of them twice: nobody could tell the value meant.
fn read_params<'de, D: Deserializer<'de>>(from: D) -> Result<JsonObject, D::Error> {
    match UniqueKeyJson::deserialize(from)?.0 {
        Value::Object(params) => Ok(params),
        _ => Err(D::Error::custom("`params` is no object")),
    }
}

/// A statement that an approver signs to start a plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "StartDraft")]
pub struct ApiStartDraft {
    /// The `Idempotency-Key` with which it is sent: the statement is about the run that follows from it.
    pub key: String,
    /// The type of the statement in its envelope.
    pub payload_type: String,
    /// The exact text to sign.
    pub payload: String,
    /// All that the plan may do, for people.
    pub review: String,
    pub risk: ApiRisk,
}

impl ApiRisk {
    /// Describes a risk.
    pub(super) fn of(risk: &ActionRisk) -> Self {
        let (level, rule) = (risk.level.as_str().to_owned(), risk.rule.as_str().to_owned());
        Self { level, rule, step: risk.step.clone() }
    }
}

/// Returns the plans of a workspace.
pub fn api_plans(caller: &dyn Caller) -> Result<ApiPlanList, CommandError> {
    let plan = |listing: PlanListing| ApiPlan {
        name: listing.address,
        id: listing.id,
        path: listing.path,
        title: listing.title,
        problem: listing.problem,
    };
    Ok(ApiPlanList { plans: plan_listings(caller)?.into_iter().map(plan).collect() })
}

/// Returns a plan by its name or its path; `None`: there is none.
pub fn api_plan(caller: &dyn Caller, name: &str) -> Result<Option<ApiPlanDetail>, CommandError> {
    let Some(file) = find_plan(&list_specs(&caller.host().workspace()), name) else {
        return Ok(None);
    };
    let summary = file.summary;
    let plan = ApiPlan {
        name: file.address,
        id: summary.id,
        path: summary.path,
        title: summary.title,
        problem: summary.first_error,
    };
    let Ok(loaded) = load_at(caller, &plan.path) else {
        return Ok(Some(ApiPlanDetail {
            plan,
            digest: None,
            params: None,
            risk: None,
            signature_reason: None,
        }));
    };
    Ok(Some(ApiPlanDetail {
        plan,
        digest: Some(plan_digest(&loaded).to_string()),
        params: Some(params_schema(&loaded.plan.parts().params)),
        risk: Some(ApiRisk::of(&risk_of_plan(&loaded.plan))),
        signature_reason: signature_reason(caller, &loaded)?,
    }))
}

/// Returns the JSON Schema of the parameters of a plan.
fn params_schema(params: &[PlanParam]) -> JsonObject {
    let property = |param: &PlanParam| {
        let mut schema = match param.schema.text() {
            Value::Object(schema) => schema.clone(),
            // A schema may be `true` alone.
            other => JsonObject::from_iter([("allOf".to_owned(), json!([other]))]),
        };
        if let Some(description) = &param.description {
            schema.insert("description".into(), description.as_str().into());
        }
        if let Some(default) = &param.default {
            schema.insert("default".into(), default.clone());
        }
        (param.name.to_string(), Value::Object(schema))
    };
    let required = params.iter().filter(|param| param.default.is_none());
    let required: Vec<Value> = required.map(|param| param.name.as_str().into()).collect();
    let properties: JsonObject = params.iter().map(property).collect();
    JsonObject::from_iter([
        ("type".to_owned(), "object".into()),
        ("properties".to_owned(), properties.into()),
        ("required".to_owned(), required.into()),
        ("additionalProperties".to_owned(), false.into()),
    ])
}

/// Starts a plan, and returns its run; that of an earlier request with the same key. `None`: there is no such plan.
pub fn start_plan(
    caller: &dyn Caller,
    name: &str,
    key: &str,
    start: &ApiStart,
) -> Result<Option<RunId>, PlanStartError> {
    let request = start_request(caller, name, key, start)?;
    request.map(|request| request_start(caller, &request)).transpose()
}

/// Drafts what an approver signs to start a plan; `None`: there is no such plan.
pub fn api_start_draft(
    caller: &dyn Caller,
    name: &str,
    key: &str,
    start: &ApiStart,
) -> Result<Option<ApiStartDraft>, PlanStartError> {
    let Some(request) = start_request(caller, name, key, start)? else {
        return Ok(None);
    };
    let draft = draft_plan_start(caller, &request)?;
    Ok(Some(ApiStartDraft {
        key: key.to_owned(),
        payload_type: draft.payload_type.to_owned(),
        payload: draft.payload,
        review: draft.review,
        risk: ApiRisk::of(&draft.risk),
    }))
}

fn start_request(
    caller: &dyn Caller,
    name: &str,
    key: &str,
    start: &ApiStart,
) -> Result<Option<PlanStartRequest>, PlanStartError> {
    let Some(file) = find_plan(&list_specs(&caller.host().workspace()), name) else {
        return Ok(None);
    };
    let path = file.summary.path;
    let plan_digest = match &start.digest {
        Some(digest) => digest.clone(),
        None => plan_digest(&load_at(caller, &path)?).to_string(),
    };
    let (key, token) = (program_key(key), start.token.as_deref().map(canonical_token));
    Ok(Some(PlanStartRequest { path, values: start.params.clone(), plan_digest, key, token }))
}

/// Returns an envelope as approvals are stored, whatever the form in which a library wrote it: the signature is about its content.
pub fn canonical_token(text: &str) -> String {
    serde_json::from_str(text).map_or_else(|_| text.to_owned(), |envelope| canonical(&envelope) + "\n")
}

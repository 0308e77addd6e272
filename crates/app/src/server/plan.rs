//! A plan elsewhere: what it takes, and the signature for its start, if it needs one.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ServerClient, client::path_part};
use crate::{
    Caller, CliExitCode, CommandError,
    approve::{SigningOptions, confirm},
    keys::{key_folder, open_key, require_signing_key},
    usage_error,
};
use wf_base::name::Name;
use wf_model::{JsonObject, PlanParam, ValueSchema};
use wf_sign::{
    DsseEnvelope,
    approval::{ApprovalStatement, PAYLOAD},
    canonical,
};

/// A plan at a server.
#[derive(Clone, Debug, Deserialize)]
pub struct ServerPlan {
    /// The plan as a path names it.
    pub name: String,
    pub id: Option<String>,
    pub path: String,
    pub problem: Option<String>,
    pub digest: Option<String>,
    /// The JSON Schema of its parameters.
    #[serde(rename = "params")]
    pub params_schema: Option<JsonObject>,
    /// The reason why an approver signs for each of its runs.
    pub signature_reason: Option<String>,
}

/// A statement about a start that the server drafted.
#[derive(Deserialize)]
struct DraftedStart {
    payload_type: String,
    payload: String,
    review: String,
}

impl ServerPlan {
    /// Reads a plan that can be started.
    pub fn read(client: &ServerClient, name: &str) -> Result<Self, CommandError> {
        let plan: Self = client.document(&format!("/plans/{}", path_part(name)))?;
        match &plan.problem {
            Some(problem) => Err(CommandError::new(CliExitCode::Invalid, problem.clone())
                .hint(format!("correct {} where the server is", plan.path))),
            None => Ok(plan),
        }
    }

    /// Returns its parameters, as values for them are read and asked for.
    pub fn params(&self) -> Result<Vec<PlanParam>, CommandError> {
        let schema = self.params_schema.as_ref();
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let param = |(name, schema): (&String, &Value)| {
            let invalid =
                |reason: String| usage_error(format!("the parameter `{name}` at the server: {reason}"));
            Ok(PlanParam {
                name: Name::parse(name).map_err(|error| invalid(error.to_string()))?,
                schema: ValueSchema::new(schema.clone()).map_err(|error| invalid(error.to_string()))?,
                default: schema.get("default").cloned(),
                taint: wf_model::TaintLevel::Owner,
                description: schema.get("description").and_then(Value::as_str).map(str::to_owned),
            })
        };
        properties.into_iter().flatten().map(param).collect()
    }
}

/// Shows what a plan may do, asks, and signs for one run of it, whose id follows from `key`; returns the envelope.
pub fn sign_start(
    caller: &dyn Caller,
    client: &ServerClient,
    plan: &ServerPlan,
    key: &str,
    start: &Value,
    signing: &SigningOptions,
) -> Result<String, CommandError> {
    let folder = key_folder(caller.host())?;
    let own = require_signing_key(caller.host(), &folder, signing.key.as_deref())?;
    // What is signed is drafted for this start: nobody can have read it before.
    if !caller.is_interactive() {
        let error = CommandError::new(
            CliExitCode::Approval,
            "its start is signed by a person, and this is not a terminal",
        );
        let page = format!("{}/plans/{}/start", client.origin(), path_part(&plan.name));
        return Err(error.hint(format!("start it from a terminal, or on its page: {page}")));
    }
    let path = format!("/plans/{}/statement", path_part(&plan.name));
    let draft: DraftedStart = client.post(&path, Some(key), start)?;
    let statement: Option<ApprovalStatement> = serde_json::from_str(&draft.payload).ok();
    let is_asked = statement.is_some_and(|statement| {
        let is_plan =
            statement.plan.path == plan.path && Some(statement.plan.id.as_str()) == plan.id.as_deref();
        let is_one_run =
            statement.run.is_some() && statement.workspace.is_some() && statement.executions == 1;
        draft.payload_type == PAYLOAD && statement.text() == draft.payload && is_plan && is_one_run
    });
    if !is_asked {
        let message = "the server asks for a signature about something else: nothing was signed";
        return Err(CommandError::new(CliExitCode::Approval, message));
    }
    caller.message(&format!("{}\nwhat is signed:\n{}\n", draft.review, draft.payload));
    confirm(caller, signing.is_confirmed, "Sign, and start it?")?;
    let signer = open_key(caller, &folder, &own, signing.passphrase_file.as_deref())?;
    let envelope = DsseEnvelope::seal(&draft.payload_type, draft.payload.as_bytes(), &signer);
    let envelope = json!(envelope);
    Ok(canonical(&envelope) + "\n")
}

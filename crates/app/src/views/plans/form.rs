//! The form that starts a plan: a field for each parameter, and what the run will do.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    super::{find_run, state_reader},
    fields::{ParamField, ReadFields, read_fields},
    outlook::RunOutlook,
    page::{PlanProblem, find_plan, plan_page, problems_at},
};
use crate::{
    Caller, CommandError,
    runs::plan_start::{PlanStartError, PlanStartRequest, StartKey, load_at, plan_digest, signature_reason},
    specs::{
        load::LoadedPlan,
        plans::{AddressedPlan, list_specs, plan_files},
    },
};
use wf_base::{name::RunId, remedy::UserAction, untrusted::plain};
use wf_model::JsonObject;
use wf_report::{Forecast, StepForecast};
use wf_store::RunFilter;

/// The most steps that a form lists.
const MAX_STEPS: usize = 200;

/// The form of a plan.
#[derive(Debug, Serialize)]
pub struct PlanForm {
    /// The part of an address that names the plan.
    pub address: String,
    pub title: String,
    pub path: String,
    /// The problem of its file; `None`: it can be run.
    pub problem: Option<String>,
    /// All problems of its file, as `wf check` finds them, if it cannot be run.
    pub problems: Vec<PlanProblem>,
    pub fields: Vec<ParamField>,
    /// The run whose parameters stand in the fields.
    pub from: Option<RunId>,
    /// The reason why the fields have no parameters of the run that was asked for.
    pub from_problem: Option<String>,
    /// The parameters of that run, or those that were typed with their texts, that the plan does not have any more.
    pub dropped_params: Vec<String>,
    pub last_run: Option<RunId>,
    /// The digest of the plan as it is shown.
    pub plan_digest: String,
    /// The key of the form, by which one that is sent twice starts one run: another one in each form.
    pub key: String,
    /// The outlook of the run; `None`: its file is broken.
    pub outlook: Option<RunOutlook>,
    /// Its first steps, in a possible order.
    pub steps: Vec<StepForecast>,
    /// The reason why an approver signs for its start; `None`: a login is enough.
    pub signature_reason: Option<String>,
    /// The reason why the form that was sent has started nothing.
    pub refusal: Option<String>,
    /// The words for its start in a terminal.
    pub command: String,
}

/// A form that was sent.
#[derive(Clone, Debug, Default)]
pub struct SentForm {
    /// The texts of the fields, by parameter.
    pub texts: BTreeMap<String, String>,
    pub plan_digest: String,
    pub key: String,
    /// The path of the plan, which finds a file that has lost its id.
    pub path: String,
    /// The signed statement that starts the plan; empty: there is none.
    pub token: String,
}

/// Returns the form of a plan, with the parameters of the run whose id begins with `from`, or else their defaults;
/// `None` if there is no such plan.
pub fn plan_form(caller: &dyn Caller, address: &str, from: &str) -> Result<Option<PlanForm>, CommandError> {
    let Some(mut form) = empty_form(caller, address) else {
        return Ok(None);
    };
    let Ok(loaded) = load_at(caller, &form.path) else {
        form.problems = problems_at(&caller.host().workspace(), &form.path);
        return Ok(Some(form));
    };
    let mut given = JsonObject::new();
    if let Some(reader) = state_reader(caller)? {
        let plan = loaded.plan.id().to_string();
        let filter = RunFilter { plan: Some(loaded.plan.id().clone()), ..RunFilter::default() };
        form.last_run = reader.store().runs().list(1, &filter)?.pop().map(|row| row.id);
        let run = if from.is_empty() { None } else { find_run(&reader, from)? };
        match run.map(|run| reader.store().runs().get(&run)).transpose()? {
            None => {}
            Some(row) if row.plan == plan => {
                form.from = Some(row.id);
                given = row.params;
            }
            // The parameters of another plan mean something else.
            Some(row) => {
                let message = format!("run {} is one of the plan `{}`", row.id.short(), row.plan);
                form.from_problem = Some(message);
            }
        }
    }
    if !from.is_empty() && form.from.is_none() && form.from_problem.is_none() {
        form.from_problem = Some(format!("there is no run `{from}`"));
    }
    let declared = &loaded.plan.parts().params;
    let is_declared = |name: &String| declared.iter().any(|param| param.name.as_str() == name);
    form.dropped_params = given.keys().filter(|name| !is_declared(name)).cloned().collect();
    form.fields =
        declared.iter().map(|param| ParamField::of(param, given.get(param.name.as_str()))).collect();
    form.describe(caller, &loaded, given)?;
    Ok(Some(form))
}

/// Returns the request of a form that was sent, with the texts of its fields; `None` if there is no such plan.
pub fn sent_request(
    caller: &dyn Caller,
    address: &str,
    sent: &SentForm,
) -> Result<Option<PlanStartRequest>, CommandError> {
    let summaries = list_specs(&caller.host().workspace());
    // A file that has lost its id is found by its path. With another id it is another plan.
    let unnamed = || find_plan(&summaries, &sent.path).filter(|file| file.summary.id.is_none());
    let found = find_plan(&summaries, address).or_else(unnamed);
    let Some(AddressedPlan { summary, .. }) = found else {
        return Ok(None);
    };
    let loaded = load_at(caller, &summary.path)?;
    let ReadFields { values, .. } = read_fields(&loaded.plan.parts().params, sent.texts.clone());
    let SentForm { plan_digest, key, token, .. } = sent.clone();
    let token = Some(token).filter(|token| !token.is_empty());
    Ok(Some(PlanStartRequest { path: summary.path, values, plan_digest, key, token }))
}

/// Returns the form of a plan again, with the texts that were typed, and what is wrong about them.
pub fn refilled_form(
    caller: &dyn Caller,
    address: &str,
    sent: &SentForm,
    error: &PlanStartError,
) -> Result<Option<PlanForm>, CommandError> {
    let found = match plan_form(caller, address, "")? {
        None if sent.path.is_empty() => return Ok(None),
        None => plan_form(caller, &sent.path, "")?,
        found => found,
    };
    let mut form = found.unwrap_or_else(|| PlanForm::gone(caller, address, &sent.path));
    if form.outlook.is_none() {
        // Nobody knows the fields of a plan that cannot be read: what was typed stays as it is.
        form.fields = sent.texts.iter().map(|(name, text)| ParamField::unknown(name, text)).collect();
        form.key.clone_from(&sent.key);
    }
    // What was typed for a parameter that was renamed is not lost.
    let is_left =
        |name: &str, text: &str| !text.is_empty() && form.fields.iter().all(|field| field.name != name);
    let left = sent.texts.iter().filter(|(name, text)| is_left(name, text));
    form.dropped_params = left.map(|(name, text)| format!("{name} ({text})")).collect();
    for field in &mut form.fields {
        // A box that is not checked is not sent.
        field.set_text(sent.texts.get(&field.name).cloned().unwrap_or_default());
    }
    match error {
        PlanStartError::Params(errors) => {
            for field in &mut form.fields {
                let is_missing = errors.missing.iter().any(|name| name.as_str() == field.name);
                let mistake = errors.mistakes.iter().find(|(name, _)| name.as_str() == field.name);
                field.mistake = mistake.map(|(_, mistake)| mistake.clone());
                if is_missing {
                    field.mistake = Some("a value is required".to_owned());
                }
            }
            form.refusal = Some("Nothing has started: see the fields below.".to_owned());
        }
        PlanStartError::Outdated(error) | PlanStartError::Refused(error) => {
            let reason = plain(&caller.failure_text(error));
            let reason = if reason.is_empty() { "its file has problems".to_owned() } else { reason };
            form.refusal = Some(format!("Nothing has started: {reason}"));
        }
    }
    Ok(Some(form))
}

/// Returns the address of the page of a run's plan, by its path and, if the file was moved, its id; `None` if it is gone.
pub fn plan_page_of_run(caller: &dyn Caller, path: &str, plan: &str) -> Option<String> {
    let workspace = caller.host().workspace();
    if workspace.root.join(path).is_file() {
        return Some(plan_page(path));
    }
    let files = plan_files(&list_specs(&workspace));
    let file = files.into_iter().find(|file| file.summary.id.as_deref() == Some(plan))?;
    Some(plan_page(&file.address))
}

/// Returns the form of a plan without its fields; `None` if there is no such plan.
fn empty_form(caller: &dyn Caller, address: &str) -> Option<PlanForm> {
    let AddressedPlan { summary, address } = find_plan(&list_specs(&caller.host().workspace()), address)?;
    let title = summary.title.or(summary.id).unwrap_or_else(|| summary.path.clone());
    Some(PlanForm { title, problem: summary.first_error, ..PlanForm::blank(caller, &address, &summary.path) })
}

impl PlanForm {
    /// Returns the form of a plan that is not there any more.
    fn gone(caller: &dyn Caller, address: &str, path: &str) -> Self {
        let problem = Some(format!("there is no plan in `{path}` any more"));
        Self { problem, ..Self::blank(caller, address, path) }
    }

    /// Returns the form of the plan in a file, of which nothing else is known.
    fn blank(caller: &dyn Caller, address: &str, path: &str) -> Self {
        Self {
            address: address.to_owned(),
            title: path.to_owned(),
            path: path.to_owned(),
            problem: None,
            problems: Vec::new(),
            fields: Vec::new(),
            from: None,
            from_problem: None,
            dropped_params: Vec::new(),
            last_run: None,
            plan_digest: String::new(),
            key: String::new(),
            outlook: None,
            steps: Vec::new(),
            signature_reason: None,
            refusal: None,
            command: caller.action_words(&UserAction::RunFile(path.to_owned())),
        }
    }

    /// Adds what a run of a plan will do.
    fn describe(
        &mut self,
        caller: &dyn Caller,
        loaded: &LoadedPlan,
        given: JsonObject,
    ) -> Result<(), CommandError> {
        self.plan_digest = plan_digest(loaded).to_string();
        // Where the random digits are fixed, each form after another run has a key of its own all the same.
        let last = self.last_run.as_ref().map_or("", RunId::as_str);
        let key = StartKey::make(caller.host(), &format!("start of {} after {last}", self.plan_digest))?;
        key.as_str().clone_into(&mut self.key);
        self.outlook = Some(RunOutlook::of(loaded));
        self.signature_reason = signature_reason(caller, loaded)?;
        let mut steps = Forecast::from_plan(&loaded.plan, &loaded.path, given).steps;
        steps.truncate(MAX_STEPS);
        // What is typed decides which steps are skipped.
        for step in &mut steps {
            step.skipped = None;
        }
        self.steps = steps;
        Ok(())
    }
}

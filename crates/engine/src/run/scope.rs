//! The values and the secrets the templates of a step read.

use std::collections::BTreeMap;

use serde_json::Value;

use wf_core::{machine::StepItem, observe::RunRef};
use wf_model::{
    EnvVar, JsonObject, Step, StepWork,
    expr::{ExprReference, ExprScope, StatusFunction, Template},
};

/// The values the templates of one attempt read: those the machine sent, and those the driver itself knows.
pub(crate) struct TemplateValues<'a> {
    pub(crate) run: &'a RunRef,
    pub(crate) params: &'a JsonObject,
    pub(crate) reads: &'a JsonObject,
    pub(crate) item: Option<&'a StepItem>,
    /// The item's position in its list.
    pub(crate) index: Option<u32>,
    pub(crate) secrets: &'a BTreeMap<String, String>,
}

impl ExprScope for TemplateValues<'_> {
    fn value(&self, reference: &ExprReference) -> Option<Value> {
        match reference {
            ExprReference::Param(param) => self.params.get(param).cloned(),
            ExprReference::Secret(secret) => {
                self.secrets.get(secret).map(|value| Value::from(value.as_str()))
            }
            ExprReference::RunId => Some(Value::from(self.run.id.as_str())),
            ExprReference::RunDispatch => Some(self.run.dispatch().into()),
            ExprReference::Item => self.item.map(|item| item.value.clone()),
            ExprReference::ItemKey => self.item.map(|item| Value::from(item.key.as_str())),
            ExprReference::ItemIndex => self.index.map(Value::from),
            ExprReference::Matrix(axis) => self.item?.value.get(axis).cloned(),
            ExprReference::Output { .. }
            | ExprReference::StepStatus(_)
            | ExprReference::Block(_)
            | ExprReference::Test(..) => self.reads.get(&reference.to_string()).cloned(),
        }
    }

    fn test(&self, function: StatusFunction, step: Option<&str>) -> bool {
        let name = ExprReference::Test(function, step.map(str::to_owned)).to_string();
        self.reads.get(&name).is_some_and(|value| *value == Value::Bool(true))
    }
}

/// Returns the names of the secrets a step's templates read.
pub(crate) fn secrets_read(step: &Step) -> Vec<&str> {
    let mut templates: Vec<&Template> = step.env.iter().map(|EnvVar { value, .. }| value).collect();
    if let StepWork::Http(http) = &step.work {
        templates.extend(http.headers.iter().map(|(_, value)| value));
        templates.extend(&http.body);
    }
    let refs = templates.into_iter().flat_map(Template::refs);
    refs.filter_map(|reference| match &reference.name {
        ExprReference::Secret(name) => Some(name.as_str()),
        _ => None,
    })
    .collect()
}

/// Returns the words of a command as rewritten by gates.
pub(crate) fn argument_words(args: &Value) -> Vec<String> {
    let words = args.as_array().into_iter().flatten();
    words.filter_map(Value::as_str).map(str::to_owned).collect()
}

use std::collections::BTreeMap;

use serde_json::Value;

use crate::expr::{Ref, Scope, StatusTest, Template};
use crate::machine::Item;
use crate::model::{EnvVar, Object, Step, Work};
use crate::name::RunId;

use super::unit::Task;

/// What the templates of one attempt read: what the machine sent along, and what the driver
/// knows by itself.
pub(super) struct Known<'a> {
    pub(super) run: &'a RunId,
    pub(super) params: &'a Object,
    pub(super) reads: &'a Object,
    pub(super) item: Option<&'a Item>,
    /// The item's place in its list.
    pub(super) index: Option<u32>,
    pub(super) secrets: &'a BTreeMap<String, String>,
}

impl Scope for Known<'_> {
    fn value(&self, name: &Ref) -> Option<Value> {
        match name {
            Ref::Param(param) => self.params.get(param).cloned(),
            Ref::Secret(secret) => self
                .secrets
                .get(secret)
                .map(|value| Value::from(value.as_str())),
            Ref::RunId => Some(Value::from(self.run.as_str())),
            Ref::Item => self.item.map(|item| item.value.clone()),
            Ref::ItemKey => self.item.map(|item| Value::from(item.key.as_str())),
            Ref::ItemIndex => self.index.map(Value::from),
            Ref::Matrix(axis) => self.item?.value.get(axis).cloned(),
            Ref::Output { .. } | Ref::StepStatus(_) | Ref::Test(..) => {
                self.reads.get(&name.to_string()).cloned()
            }
        }
    }

    fn test(&self, test: StatusTest, step: Option<&str>) -> bool {
        let name = Ref::Test(test, step.map(str::to_owned)).to_string();
        self.reads
            .get(&name)
            .is_some_and(|value| *value == Value::Bool(true))
    }
}

impl Task {
    /// Does something with what this attempt's templates read.
    pub(super) fn known<T>(
        &self,
        secrets: &BTreeMap<String, String>,
        with: impl FnOnce(&Known<'_>) -> T,
    ) -> T {
        with(&Known {
            run: &self.run.this.id,
            params: self.run.params(),
            reads: &self.reads,
            item: self.item.as_ref(),
            index: self.attempt.place.item,
            secrets,
        })
    }
}

/// The names of the secrets that a step's templates read.
pub(super) fn secrets_read(step: &Step) -> Vec<&str> {
    let mut templates: Vec<&Template> = step.env.iter().map(|EnvVar { value, .. }| value).collect();
    if let Work::Http(http) = &step.work {
        templates.extend(http.headers.iter().map(|(_, value)| value));
        templates.extend(&http.body);
    }
    let refs = templates.into_iter().flat_map(Template::refs);
    refs.filter_map(|reference| match &reference.name {
        Ref::Secret(name) => Some(name.as_str()),
        _ => None,
    })
    .collect()
}

/// The words of a command as gates rewrote them.
pub(super) fn words(args: &Value) -> Vec<String> {
    let words = args.as_array().into_iter().flatten();
    words.filter_map(Value::as_str).map(str::to_owned).collect()
}

//! The intent that the plan of a run declares, by which memory knows the run.

use serde_json::Value;
use wf_core::memory::MegramTags;
use wf_model::JsonObject;
use wf_model::expr::{ExprReference, ExprScope, StatusFunction};

use crate::run::RunContext;

impl RunContext {
    /// Returns the intent that the plan declares, with the parameters as the run was given them: before gates, and the
    /// same in a process that resumes it.
    pub(super) fn intent_text(&self) -> Option<String> {
        let intent = self.plan.parts().intent.as_ref()?;
        intent.render(&GivenParams(self.given_params())).ok()
    }

    /// Returns its slug; `None` if the plan declares none, or one without a word.
    pub(crate) fn intent(&self) -> Option<String> {
        self.intent_text().map(|text| MegramTags::slug(&text)).filter(|slug| !slug.is_empty())
    }
}

/// The parameters of a run, as an intent reads them.
struct GivenParams<'a>(&'a JsonObject);

impl ExprScope for GivenParams<'_> {
    fn value(&self, name: &ExprReference) -> Option<Value> {
        match name {
            ExprReference::Param(param) => self.0.get(param).cloned(),
            _ => None,
        }
    }

    fn test(&self, _: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}

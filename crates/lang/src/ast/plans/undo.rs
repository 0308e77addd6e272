//! The plan that undoes what a run of a plan did.

use crate::ast::steps::StepSpec;
use crate::decode::{ArgumentTemplate, DurationText, MappingFields, OrderedEntries, SpecDecoder, record};
use wf_base::diag::{Code, Diagnostic};
use wf_base::name::Name;
use wf_base::source::Spanned;

/// The id of the step that stands for it in the rules about used plans.
const STEP: &str = "undo";

record! {
    /// A plan that undoes what a run did, started on request: `wf undo RUN`.
    pub struct UndoSpec as "an undo" {
        /// The path of the plan's file, relative to this one.
        required uses: Spanned<String>,
        /// The parameters of the plan; they may read parameters and steps of the run that is undone.
        default with: OrderedEntries<Name, Spanned<ArgumentTemplate>>,
        /// The time after the end of the run in which it can be undone: 5 min if absent.
        optional within: Spanned<DurationText>,
    }
    instead {
        "plan" => "write `uses: PLAN.md`",
        "steps" => "put the steps into a plan: `uses: PLAN.md`",
        "window" => "write `within: 5m`",
        "timeout" => "write `within: 5m`",
    }
    aside {
        /// A step that uses the plan in the same way.
        step: Option<Box<StepSpec>>,
    }
    finish complete;
}

fn complete(undo: &mut UndoSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if let Some(within) = undo.within.as_ref().filter(|within| within.value.0.is_zero()) {
        let message = "within 0 seconds, no run can be undone";
        let mistake = Diagnostic::new(Code::ValueWrong, within.span, message);
        decoder.emit(mistake.with_help("write a longer time, or remove it for 5 minutes"));
    }
    undo.step = StepSpec::using(STEP, &undo.uses, &undo.with).map(Box::new);
}

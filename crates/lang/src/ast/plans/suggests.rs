//! The output of a plan in which its runs suggest what may be done next.

use crate::ast::parts::{PlanOutputSpec, sound};
use crate::decode::{MappingFields, OrderedEntries, SpecDecoder, record};
use wf_base::diag::{Code, Diagnostic, nearest};
use wf_base::name::Name;
use wf_base::source::Spanned;

record! {
    /// The output in which the runs of a plan suggest what may be done next. A suggestion has a `title`, may have the reason,
    /// `why`, and names one of the plans, `uses`, with its parameters, `with`. A person starts it or dismisses it.
    pub struct SuggestsSpec as "`suggests`" {
        /// The output: a list of suggestions.
        required output: Spanned<Name>,
        /// The paths of the plans that a suggestion may start, relative to this file.
        required plans: Vec<Spanned<String>>,
    }
    finish agrees;
}

/// Notes a list without plans, and a plan that is listed twice.
fn agrees(suggests: &mut SuggestsSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if suggests.plans.is_empty() {
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("plans"), "`plans` is empty");
        decoder.emit(mistake.with_help("list the paths of the plans, relative to this file"));
    }
    sound::check_duplicates("plan", &suggests.plans, decoder);
}

impl SuggestsSpec {
    /// Notes an output that the plan does not have.
    pub(super) fn check_output(
        &self,
        outputs: &OrderedEntries<Name, Spanned<PlanOutputSpec>>,
        decoder: &mut SpecDecoder<'_>,
    ) {
        let wanted = &self.output;
        let known = || outputs.iter().map(|(name, _)| name.value.as_str());
        if known().any(|name| name == wanted.value.as_str()) {
            return;
        }
        let message = format!("the plan has no output `{}`", wanted.value);
        let mistake = Diagnostic::new(Code::UnknownOutput, wanted.span, message);
        decoder.emit(match nearest(wanted.value.as_str(), known()) {
            Some(near) => mistake.with_suggestion(Some(near)),
            None => mistake.with_help("declare it under `outputs` of the plan"),
        });
    }
}

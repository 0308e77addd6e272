use crate::decode::{DurationText, MappingFields, SpecDecoder, record};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Spanned;
use wf_base::time::Moment;
use wf_model::expr::Template;

record! {
    /// Something to wait for: exactly one of the keys.
    pub struct WaitSpec as "a wait" {
        /// A duration.
        optional duration: DurationText,
        /// An instant, in RFC 3339.
        optional until: Moment,
        /// The file to wait for, relative to the workspace.
        optional file: Spanned<Template>,
    }
    finish check_one_condition;
}

fn check_one_condition(_wait: &mut WaitSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let count = WaitSpec::KEYS.iter().filter(|key| fields.has(key)).count();
    if count != 1 {
        let message = "a wait needs exactly one of `duration`, `until` and `file`";
        decoder.emit(Diagnostic::new(Code::ValueWrong, fields.head(), message));
    }
}

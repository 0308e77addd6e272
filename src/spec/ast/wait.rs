use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Fields, Period, record};
use crate::time::Moment;

record! {
    /// Something to wait for: exactly one of the keys.
    pub struct Wait as "a wait" {
        /// A while.
        optional duration: Period,
        /// An instant, in RFC 3339.
        optional until: Moment,
        /// A file that exists, relative to the workspace.
        optional file: Spanned<Template>,
    }
    finish exactly_one;
}

fn exactly_one(_: &mut Wait, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let given = Wait::KEYS.iter().filter(|key| fields.has(key)).count();
    if given != 1 {
        let message = "a wait has exactly one of `duration`, `until` and `file`";
        decoder.note(Diagnostic::new(Code::ValueWrong, fields.head(), message));
    }
}

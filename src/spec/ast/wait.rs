use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::source::{Span, Spanned};
use crate::spec::decode::{Decoder, Period, record};
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

fn exactly_one(wait: Wait, head: Span, decoder: &mut Decoder<'_>) -> Option<Wait> {
    let given = [
        wait.duration.is_some(),
        wait.until.is_some(),
        wait.file.is_some(),
    ];
    let count = given.into_iter().filter(|is_given| *is_given).count();
    if count > 1 {
        let message = "a wait has exactly one of `duration`, `until` and `file`";
        decoder.note(Diagnostic::new(Code::ValueWrong, head, message));
    }
    (count == 1).then_some(wait)
}

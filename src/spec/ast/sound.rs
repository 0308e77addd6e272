//! What several declarations must keep.

use crate::diag::{Code, Diagnostic};
use crate::name::EnvName;
use crate::source::{Span, Spanned};
use crate::spec::decode::{Decoder, Entries, Period};

/// Notes a limit of nothing at all.
pub(super) fn at_least_one(limit: Option<&Spanned<u32>>, decoder: &mut Decoder<'_>) {
    if let Some(limit) = limit.filter(|limit| limit.value == 0) {
        let message = "with 0 at once, nothing would ever run";
        decoder
            .note(Diagnostic::new(Code::ValueWrong, limit.span, message).help("write 1 or more"));
    }
}

/// Notes a time in which nothing could be done.
pub(super) fn some_time(period: Option<&Spanned<Period>>, decoder: &mut Decoder<'_>) {
    if let Some(period) = period.filter(|period| period.value.0.is_zero()) {
        let message = "in no time at all, nothing could succeed";
        let help = "remove it to have no limit";
        decoder.note(Diagnostic::new(Code::ValueWrong, period.span, message).help(help));
    }
}

/// Notes a limit that leaves nothing.
pub(super) fn something(is_nothing: bool, at: Span, decoder: &mut Decoder<'_>) {
    if is_nothing {
        let message = "with a limit of nothing, nothing could succeed";
        let help = "remove it to have the usual limit";
        decoder.note(Diagnostic::new(Code::ValueWrong, at, message).help(help));
    }
}

/// Notes an empty list of program and arguments.
pub(super) fn some_program(parts: Option<usize>, at: Span, decoder: &mut Decoder<'_>) {
    if parts == Some(0) {
        let message = "an empty list names no program";
        decoder.note(Diagnostic::new(Code::ValueWrong, at, message));
    }
}

/// Notes variables whose names wf gives itself.
pub(super) fn own_names<V>(env: &Entries<EnvName, V>, decoder: &mut Decoder<'_>) {
    for (name, _) in env.iter() {
        if name.value.as_str().starts_with("WF_") {
            let message = format!(
                "`{}` begins with `WF_`, which wf keeps for itself",
                name.value
            );
            decoder.note(Diagnostic::new(Code::ValueWrong, name.span, message));
        }
    }
}

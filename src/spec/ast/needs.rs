use super::sound;
use crate::diag::{Code, Diagnostic};
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Fields, Period, record};

record! {
    /// Who must agree, and until when.
    pub struct Needs as "an approval" {
        /// How many must agree: as many as the policy of the workspace demands if absent.
        optional required: Spanned<u32>,
        /// The names of those who may: every approver of the workspace if absent.
        default approvers: Vec<Spanned<String>>,
        /// How long there is time: 7 days if absent.
        optional timeout: Spanned<Period>,
        /// Who is asked, for as long again, when nobody has answered in time.
        default escalate_to: Vec<Spanned<String>>,
    }
    finish possible;
}

fn possible(needs: &mut Needs, _: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    countable(needs.required.as_ref(), &needs.approvers, decoder);
    sound::some_time(needs.timeout.as_ref(), decoder);
}

/// Notes a number of people that cannot be reached, or that is none.
pub(super) fn countable(
    required: Option<&Spanned<u32>>,
    approvers: &[Spanned<String>],
    decoder: &mut Decoder<'_>,
) {
    let Some(required) = required else { return };
    let (count, may) = (required.value as usize, approvers.len());
    let message = match count {
        0 => "with nobody who must agree, this is no approval".to_owned(),
        _ if may > 0 && count > may => {
            format!("{count} must agree, and only {may} of `approvers` may")
        }
        _ => return,
    };
    decoder.note(Diagnostic::new(Code::ValueWrong, required.span, message));
}

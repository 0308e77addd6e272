use super::sound;
use crate::decode::{DurationText, MappingFields, SpecDecoder, record};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Spanned;

record! {
    /// The required approvals and their deadline.
    pub struct ApprovalNeedsSpec as "an approval" {
        /// The number of approvers who must agree: that of the workspace's policy if absent.
        optional required: Spanned<u32>,
        /// The names of the approvers: every approver of the workspace if absent.
        default approvers: Vec<Spanned<String>>,
        /// The time limit for the decision: 7 days if absent.
        optional timeout: Spanned<DurationText>,
        /// The approvers who are asked, for as long again, if there is no decision in time.
        default escalate_to: Vec<Spanned<String>>,
    }
    finish check_needs;
}

fn check_needs(
    needs: &mut ApprovalNeedsSpec,
    _fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    check_required_count(needs.required.as_ref(), &needs.approvers, decoder);
    sound::check_nonzero_duration(needs.timeout.as_ref(), decoder);
}

/// Notes a number of approvers that cannot be reached, or that is zero.
pub(in crate::ast) fn check_required_count(
    required: Option<&Spanned<u32>>,
    approvers: &[Spanned<String>],
    decoder: &mut SpecDecoder<'_>,
) {
    let Some(required) = required else { return };
    let (count, may) = (required.value as usize, approvers.len());
    let message = match count {
        0 => "an approval with 0 required approvers is not an approval".to_owned(),
        _ if may > 0 && count > may => {
            format!("{count} approvals are required, but `approvers` lists only {may}")
        }
        _ => return,
    };
    decoder.emit(Diagnostic::new(Code::ValueWrong, required.span, message));
}

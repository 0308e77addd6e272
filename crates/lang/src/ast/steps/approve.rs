use super::AnswerSpec;
use crate::ast::parts::ApprovalNeedsSpec;
use crate::decode::{DurationText, MappingFields, OrderedEntries, SpecDecoder, record};
use wf_base::diag::{Code, Diagnostic};
use wf_base::name::Name;
use wf_base::source::Spanned;
use wf_model::AnswerKind;
use wf_model::expr::Template;

record! {
    /// A decision by approvers: the step waits for it, and the run can be suspended meanwhile.
    pub struct ApproveSpec as "an approval" {
        /// The question.
        required message: Spanned<Template>,
        /// Values shown with it: exactly these values are approved, and become the outputs of the
        /// step.
        default show: OrderedEntries<Name, Spanned<Template>>,
        /// The answer that is asked for: yes or no if absent. Its value becomes an output of the step.
        optional answer: Spanned<AnswerSpec>,
        /// The number of approvers who must agree: that of the workspace's policy if absent.
        optional required: Spanned<u32>,
        /// The names of the approvers: every approver of the workspace if absent.
        default approvers: Vec<Spanned<String>>,
        /// The time limit for the decision: 7 days if absent.
        optional timeout: Spanned<DurationText>,
        /// The approvers who are asked, for as long again, if there is no decision in time.
        default escalate_to: Vec<Spanned<String>>,
    }
    finish check_approve;
}

fn check_approve(approve: &mut ApproveSpec, _: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    crate::ast::parts::needs::check_required_count(approve.required.as_ref(), &approve.approvers, decoder);
    crate::ast::parts::sound::check_nonzero_duration(approve.timeout.as_ref(), decoder);
    let output = approve.answer_kind().map(|kind| kind.output());
    let shown = approve.show.iter().find(|(name, _)| Some(name.value.as_str()) == output);
    if let Some((name, _)) = shown {
        let message = format!("`{}` is the output with the answer", name.value);
        decoder
            .emit(Diagnostic::new(Code::ValueWrong, name.span, message).with_help("show it by another name"));
    }
}

impl ApproveSpec {
    /// Returns the kind of the answer that is asked for; `None`: yes or no.
    pub fn answer_kind(&self) -> Option<AnswerKind> {
        self.answer.as_ref().and_then(|answer| answer.value.kind())
    }

    /// Returns the names of the outputs of the step.
    pub fn outputs(&self) -> impl Iterator<Item = String> {
        let answered = self.answer_kind().map(|kind| kind.output().to_owned());
        self.show.iter().map(|(name, _)| name.value.to_string()).chain(answered)
    }

    /// Returns the required approvals and their deadline.
    pub fn needs(&self) -> ApprovalNeedsSpec {
        ApprovalNeedsSpec {
            required: self.required.clone(),
            approvers: self.approvers.clone(),
            timeout: self.timeout.clone(),
            escalate_to: self.escalate_to.clone(),
        }
    }
}

use super::Needs;
use crate::expr::Template;
use crate::name::Name;
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Entries, Fields, Period, record};

record! {
    /// A decision that people make: the step waits for it, and nobody need be there meanwhile.
    pub struct Approve as "an approval" {
        /// What is asked.
        required message: Spanned<Template>,
        /// Values that are shown with it: what is approved are these very values, which become
        /// the outputs of the step.
        default show: Entries<Name, Spanned<Template>>,
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

fn possible(approve: &mut Approve, _: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    super::needs::countable(approve.required.as_ref(), &approve.approvers, decoder);
    super::sound::some_time(approve.timeout.as_ref(), decoder);
}

impl Approve {
    /// Who must agree, and until when.
    pub fn needs(&self) -> Needs {
        Needs {
            required: self.required.clone(),
            approvers: self.approvers.clone(),
            timeout: self.timeout.clone(),
            escalate_to: self.escalate_to.clone(),
        }
    }
}

use std::fmt::Write as _;

use clap::Args;

use super::TypedAnswerArgs;
use crate::Ui;
use crate::keys::SigningArgs;
use wf_app::approve::{AnswerForm, AnswerRequest, AnswerReview};
use wf_app::{CliExitCode, CommandError};
use wf_base::name::RunId;
use wf_base::untrusted::{NAME, paint, untrusted};
use wf_core::machine::AnswerOptions;
use wf_report::questions;
use wf_sign::approval::QuorumState;

/// The options for answering a pending approval.
#[derive(Args, Clone, Debug, Default)]
pub struct AnswerArgs {
    /// Reason, for the record
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[arg(skip)]
    pub typed: TypedAnswerArgs,
    #[command(flatten)]
    pub signing: SigningArgs,
}

/// Answers a pending approval.
pub fn answer_approval(
    ui: &Ui,
    run: &RunId,
    step: Option<&str>,
    form: AnswerForm,
    args: &AnswerArgs,
) -> Result<CliExitCode, CommandError> {
    let (reason, signing) = (args.reason.as_ref(), args.signing.options(None));
    let typed = |options: Option<&AnswerOptions>| args.typed.answer(ui, options);
    let answer = AnswerRequest { run, step, form, reason, typed: &typed, signing: &signing };
    let review = AnswerReview::of(&ui.host, &answer)?;
    if let Some(message) = review.request.late_answer_message(form.decision())? {
        ui.print_line(&message)?;
        return Ok(CliExitCode::Ok);
    }
    let show = || {
        let AnswerReview { request, row, events, evidence, .. } = &review;
        ui.print_message(&questions::approval_request_text(&request.request, row, events, evidence));
        if form == AnswerForm::Approval {
            ui.print_message(&questions::typed_answer_text(&request.request, review.answer.as_ref()));
        }
        Ok(())
    };
    let state = review.sign(ui, &answer, &show)?;
    ui.print(&result_message(&review, form, &state))?;
    Ok(CliExitCode::Ok)
}

/// The message with the result and the next step.
fn result_message(review: &AnswerReview, form: AnswerForm, state: &QuorumState) -> String {
    let (name, short) = (review.request.name(), review.request.run.short());
    let answer = review.answer.as_ref();
    let answer = answer.map_or_else(String::new, |answer| format!(": {}", untrusted(&answer.to_string())));
    let mut text = match (form, state) {
        (AnswerForm::Denial, _) => format!("`{name}` of run {short} is denied\n"),
        (_, QuorumState::Open { by, required, .. }) => {
            let found = by.len();
            return format!("`{name}` of run {short}: {found} of {required} approvals given{answer}\n");
        }
        (AnswerForm::Text, _) => format!("`{name}` of run {short} is answered\n"),
        (AnswerForm::Approval, _) => format!("`{name}` of run {short} is approved{answer}\n"),
    };
    let hint = paint(NAME, "hint:");
    let top = review.outermost.short();
    let _ = writeln!(
        text,
        "{hint} a waiting `wf run --wait` continues automatically; otherwise: wf resume {top}"
    );
    text
}

use clap::Args;

use super::TypedAnswerArgs;
use crate::{Ui, commands::running::resume::resume_due_run, keys::SigningArgs};
use wf_app::{
    Caller as _, CliExitCode, CommandError,
    approve::{AnswerForm, AnswerRequest, AnswerReview},
    resumption::{NextResume, next_resume},
};
use wf_base::{
    name::RunId,
    remedy::UserAction,
    untrusted::{NAME, paint, untrusted},
};
use wf_core::machine::AnswerOptions;
use wf_report::{decision::signed_decision_text, questions};
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
    #[command(flatten)]
    pub going_on: GoingOnArgs,
}

/// The options for the time after an answer.
#[derive(Args, Clone, Debug, Default)]
pub struct GoingOnArgs {
    /// Do not resume the run on this terminal (under policy `owner`; otherwise it never is)
    #[arg(long)]
    pub no_resume: bool,
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
    let deny = UserAction::DenyRequest { run: run.clone(), step: step.map(str::to_owned), with_reason: true };
    let typed = |options: Option<&AnswerOptions>| args.typed.answer(ui, options, &deny);
    let answer = AnswerRequest { run, step, form, reason, typed: &typed, signing: &signing };
    let review = AnswerReview::of(&ui.host, &answer)?;
    if let Some(message) = review.request.late_answer_message(form.decision(), &review.outermost)? {
        ui.print_line(&message)?;
        return Ok(CliExitCode::Ok);
    }
    let show = |payload: &str, proposal: &str| {
        let AnswerReview { request, row, events, evidence, .. } = &review;
        ui.print_message(&questions::approval_request_text(&request.request, row, events, evidence));
        if form == AnswerForm::Approval {
            let decided = signed_decision_text(payload, proposal).ok_or_else(|| {
                CommandError::new(CliExitCode::Bug, "what is to be signed is about another request")
            })?;
            ui.print_message(&decided);
        }
        Ok(())
    };
    let state = review.sign(ui, &answer, &show)?;
    ui.print(&result_message(&review, form, &state))?;
    if matches!(state, QuorumState::Open { .. }) {
        return Ok(CliExitCode::Ok);
    }
    go_on(ui, &review.outermost, args.going_on.no_resume)
}

/// Resumes a run after a sufficient answer, or names the one to do so.
fn go_on(ui: &Ui, run: &RunId, no_resume: bool) -> Result<CliExitCode, CommandError> {
    let next = next_resume(ui, run)?;
    let short = run.short();
    let text = match next {
        NextResume::Owner if ui.is_interactive() && !no_resume => return resume_due_run(ui, run),
        NextResume::Daemon => format!("the daemon resumes run {short}"),
        NextResume::Person => format!("run {short} has `resume: manual`: wf resume {short}"),
        NextResume::Engine | NextResume::Owner | NextResume::Starter => {
            format!("a waiting `wf run --wait` continues automatically; otherwise: wf resume {short}")
        }
    };
    ui.print(&format!("{} {text}\n", paint(NAME, "hint:")))?;
    Ok(CliExitCode::Ok)
}

/// The message with the result.
fn result_message(review: &AnswerReview, form: AnswerForm, state: &QuorumState) -> String {
    let (name, short) = (review.request.name(), review.request.run.short());
    let answer = review.answer.as_ref();
    let answer = answer.map_or_else(String::new, |answer| format!(": {}", untrusted(&answer.to_string())));
    match (form, state) {
        (AnswerForm::Denial, _) => format!("`{name}` of run {short} is denied\n"),
        (_, QuorumState::Open { signers, required, .. }) => {
            let count = signers.len();
            format!("`{name}` of run {short}: {count} of {required} approvals given{answer}\n")
        }
        (AnswerForm::Text, _) => format!("`{name}` of run {short} is answered\n"),
        (AnswerForm::Approval, _) => format!("`{name}` of run {short} is approved{answer}\n"),
    }
}

//! Answers to requests at a server, signed with a key of this user.

use super::looking::{ListedRequests, run_part};
use crate::{
    Ui,
    approve::{AnswerArgs, TypedAnswerArgs},
    commands::trust::{answer::AnswerCommandArgs, approve::ApproveArgs, deny::DenyArgs},
    which::split_names,
};
use wf_app::{
    CliExitCode, CommandError,
    approve::RemoteAnswer,
    server::{ServerClient, ServerRequest, sign_answer},
    usage_error,
};
use wf_base::remedy::UserAction;
use wf_core::machine::TypedAnswer;

pub(super) fn approve(
    ui: &Ui,
    client: &ServerClient,
    args: &ApproveArgs,
) -> Result<CliExitCode, CommandError> {
    let (run, step) = split_names(args.last, &args.names)?;
    let request = find(client, run, step)?;
    let answer = AnswerArgs { typed: args.typed.clone(), ..args.plan.for_answer(args.reason.as_ref()) };
    if request.is_question {
        return Err(usage_error(format!("`{}` asks a question, which a yes does not answer", request.name))
            .hint("answer it with `wf answer RUN --text TEXT`"));
    }
    let typed = typed_answer(ui, &request, &answer.typed)?;
    sign(ui, client, &request, &answered(true, answer.reason.as_ref(), typed), &answer)
}

pub(super) fn deny(ui: &Ui, client: &ServerClient, args: &DenyArgs) -> Result<CliExitCode, CommandError> {
    let (run, step) = args.approval.names()?;
    let request = find(client, run, step)?;
    sign(ui, client, &request, &answered(false, args.answer.reason.as_ref(), None), &args.answer)
}

pub(super) fn answer(
    ui: &Ui,
    client: &ServerClient,
    args: &AnswerCommandArgs,
) -> Result<CliExitCode, CommandError> {
    let (run, step) = args.approval.names()?;
    let request = find(client, run, step)?;
    let answer = AnswerArgs { signing: args.signing.clone(), ..AnswerArgs::default() };
    sign(ui, client, &request, &answered(true, Some(&args.text), None), &answer)
}

/// Returns the answer beyond yes, if one is typed.
fn typed_answer(
    ui: &Ui,
    request: &ServerRequest,
    typed: &TypedAnswerArgs,
) -> Result<Option<TypedAnswer>, CommandError> {
    let deny = UserAction::DenyRequest {
        run: request.top.clone(),
        step: Some(request.name.clone()),
        with_reason: true,
    };
    typed.answer(ui, request.options.as_ref(), &deny)
}

fn answered(yes: bool, reason: Option<&String>, typed: Option<TypedAnswer>) -> RemoteAnswer {
    let mut answer = RemoteAnswer { yes, reason: reason.cloned(), choice: None, text: None, selected: None };
    match typed {
        Some(TypedAnswer::Choice(word)) => answer.choice = Some(word),
        Some(TypedAnswer::Text(text)) => answer.text = Some(text),
        Some(TypedAnswer::Selected(positions)) => answer.selected = Some(positions),
        None => {}
    }
    answer
}

fn sign(
    ui: &Ui,
    client: &ServerClient,
    request: &ServerRequest,
    answer: &RemoteAnswer,
    args: &AnswerArgs,
) -> Result<CliExitCode, CommandError> {
    let recorded = sign_answer(ui, client, request, answer, &args.signing.options(None))?;
    ui.print_line(&recorded)?;
    Ok(CliExitCode::Ok)
}

/// Finds the request that waits in a run, or below it.
fn find(client: &ServerClient, run: Option<&str>, step: Option<&str>) -> Result<ServerRequest, CommandError> {
    let run = run_part(client, run)?;
    let ListedRequests { requests } = client.document("/requests")?;
    let is_named = |request: &ServerRequest| {
        let is_of_run = request.top.as_str().starts_with(&run) || request.run.as_str().starts_with(&run);
        is_of_run && step.is_none_or(|step| step == request.name)
    };
    let mut found: Vec<ServerRequest> = requests.into_iter().filter(is_named).collect();
    match (found.pop(), found.as_slice()) {
        (Some(request), []) => Ok(request),
        (Some(last), others) => {
            let names: Vec<&str> =
                others.iter().chain([&last]).map(|request| request.name.as_str()).collect();
            Err(usage_error("several requests wait")
                .hint(format!("name one of the steps: {}", names.join(", "))))
        }
        (None, _) => Err(usage_error(format!("nothing waits in run {run}"))),
    }
}

use super::process::ClientEnd;
use wf_core::agent::client::ClientAnswer;
use wf_core::agent::read_answer;
use wf_core::machine::WorkExit;
use wf_model::{AgentEngine, FailureClass, RequiredOutput};

/// The exit of a program that worked as an agent, with its answer.
#[derive(Debug, PartialEq)]
pub(super) struct ClientExit {
    pub(super) exit: WorkExit,
    pub(super) answer: Option<String>,
}

/// Returns the exit of a program: that of its process, unless it reported an error, or its answer is not what the
/// outputs of the step ask for. `class` is the failure class of an error that it reports.
pub(super) fn exit_of(
    end: &ClientEnd,
    engine: AgentEngine,
    outputs: &[RequiredOutput],
    class: FailureClass,
) -> ClientExit {
    let without = |exit| ClientExit { exit, answer: None };
    let error = |reason, failure_class| without(WorkExit::Error { reason, failure_class });
    match (end.output.answer(), &end.process.exit) {
        (_, exit @ (WorkExit::Cancelled | WorkExit::TimedOut)) => without(exit.clone()),
        (ClientAnswer::Error(reason), _) => error(format!("{engine} reported an error: {reason}"), class),
        (_, exit) if !exit.is_success() => without(exit.clone()),
        (ClientAnswer::Nothing, _) if outputs.is_empty() => without(WorkExit::Completed),
        (ClientAnswer::Nothing, _) => error(format!("{engine} gave no answer"), FailureClass::Logical),
        (ClientAnswer::Text(answer), _) => match read_answer(&answer, outputs) {
            Ok(_) => ClientExit { exit: WorkExit::Completed, answer: Some(answer) },
            Err(mistake) => {
                error(format!("the answer of {engine} is invalid: {mistake}"), FailureClass::Logical)
            }
        },
    }
}

//! The exit of a program, and the answer it is held to.

use wf_core::{
    agent::{client::ClientAnswer, read_answer},
    machine::WorkExit,
};
use wf_model::{AgentEngine, FailureClass, RequiredOutput};

use super::process::ClientEnd;

/// The exit of a program that worked as an agent, with its answer.
#[derive(Debug, PartialEq)]
pub(super) struct ClientExit {
    pub(super) exit: WorkExit,
    pub(super) answer: Option<String>,
    /// The mistake in the answer, which the program may repair.
    pub(super) mistake: Option<String>,
}

/// The answer expected of a program.
#[derive(Clone, Copy)]
pub(super) struct ClientContract<'a> {
    pub(super) engine: AgentEngine,
    pub(super) outputs: &'a [RequiredOutput],
    /// The failure class of an error it reports.
    pub(super) error_class: FailureClass,
    /// True if it repairs an answer: it does so once.
    pub(super) repairs: bool,
}

/// Returns the exit of a program: that of its process, unless it reported an error, or its answer is not what the
/// outputs of the step ask for.
pub(super) fn exit_of(end: &ClientEnd, contract: ClientContract<'_>) -> ClientExit {
    let program = match contract.engine {
        AgentEngine::Command => "the program".to_owned(),
        named => named.to_string(),
    };
    let without = |exit| ClientExit { exit, answer: None, mistake: None };
    let answer = match (end.output.answer(), &end.end.exit) {
        (_, exit @ (WorkExit::Cancelled | WorkExit::TimedOut)) => return without(exit.clone()),
        (ClientAnswer::Error(reason), _) => {
            let reason = format!("{program} reported an error: {reason}");
            return without(WorkExit::Error { reason, failure_class: contract.error_class });
        }
        (_, exit) if !exit.is_success() => return without(exit.clone()),
        (ClientAnswer::Nothing, _) if contract.outputs.is_empty() => return without(WorkExit::Completed),
        (ClientAnswer::Nothing, _) => None,
        (ClientAnswer::Text(answer), _) => Some(answer),
    };
    let read = match &answer {
        Some(answer) => {
            read_answer(answer, contract.outputs).map(drop).map_err(|mistake| mistake.to_string())
        }
        None => Err("there is no answer: the program ended without it, and the step has `outputs`".into()),
    };
    match read {
        Ok(()) => ClientExit { exit: WorkExit::Completed, answer, mistake: None },
        Err(mistake) => {
            let again = if contract.repairs { ", also after its repair" } else { "" };
            let reason = format!("the answer of {program} is invalid{again}: {mistake}");
            let exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
            ClientExit { exit, answer, mistake: (!contract.repairs).then_some(mistake) }
        }
    }
}

#[cfg(test)]
mod tests {
    use wf_core::{agent::client::ClientOutput, machine::WorkExit};
    use wf_exec::{StreamTails, dialogue::DialogueEnd};
    use wf_model::{AgentEngine, FailureClass};

    use super::{ClientContract, ClientEnd, exit_of};

    /// The exit of a program without required outputs, and its answer.
    fn ended(exit: WorkExit, lines: &[&str]) -> (WorkExit, Option<String>) {
        let mut output = ClientOutput::new(AgentEngine::Command);
        for line in lines {
            output.take(line);
        }
        let process = DialogueEnd { exit, tails: StreamTails::default() };
        let contract = ClientContract {
            engine: AgentEngine::Command,
            outputs: &[],
            error_class: FailureClass::Environmental,
            repairs: false,
        };
        let ended = exit_of(&ClientEnd { end: process, output }, contract);
        (ended.exit, ended.answer)
    }

    const ANSWER: &str = r#"{"type": "answer", "text": "done"}"#;
    const ERROR: &str = r#"{"type": "error", "message": "the model failed"}"#;

    #[test]
    fn an_answer_counts_if_the_program_ended_well() {
        let well = || WorkExit::Code { code: 0 };
        assert_eq!(ended(well(), &[ANSWER]), (WorkExit::Completed, Some("done".into())));
        assert_eq!(ended(well(), &[]), (WorkExit::Completed, None));
        let failed = WorkExit::Code { code: 3 };
        assert_eq!(ended(failed.clone(), &[ANSWER]), (failed, None));
        for exit in [WorkExit::Cancelled, WorkExit::TimedOut] {
            assert_eq!(ended(exit.clone(), &[ANSWER]), (exit.clone(), None));
            assert_eq!(ended(exit.clone(), &[ERROR]), (exit, None), "it was told to end");
        }
    }

    #[test]
    fn an_error_that_a_program_reports_ends_it_whatever_its_code() {
        for code in [0, 1] {
            let reason = "the program reported an error: the model failed".to_owned();
            let failure_class = FailureClass::Environmental;
            let error = WorkExit::Error { reason, failure_class };
            assert_eq!(ended(WorkExit::Code { code }, &[ANSWER, ERROR]), (error, None));
        }
    }
}

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
    let program = match engine {
        AgentEngine::Command => "the program".to_owned(),
        named => named.to_string(),
    };
    let without = |exit| ClientExit { exit, answer: None };
    let error = |reason, failure_class| without(WorkExit::Error { reason, failure_class });
    match (end.output.answer(), &end.process.exit) {
        (_, exit @ (WorkExit::Cancelled | WorkExit::TimedOut)) => without(exit.clone()),
        (ClientAnswer::Error(reason), _) => error(format!("{program} reported an error: {reason}"), class),
        (_, exit) if !exit.is_success() => without(exit.clone()),
        (ClientAnswer::Nothing, _) if outputs.is_empty() => without(WorkExit::Completed),
        (ClientAnswer::Nothing, _) => error(
            format!(
                "{program} gave no answer, and the step has `outputs`: it ended without the line of its answer"
            ),
            FailureClass::Logical,
        ),
        (ClientAnswer::Text(answer), _) => match read_answer(&answer, outputs) {
            Ok(_) => ClientExit { exit: WorkExit::Completed, answer: Some(answer) },
            Err(mistake) => {
                error(format!("the answer of {program} is invalid: {mistake}"), FailureClass::Logical)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use wf_core::agent::client::ClientOutput;
    use wf_core::machine::WorkExit;
    use wf_exec::StreamTails;
    use wf_exec::dialogue::DialogueEnd;
    use wf_model::{AgentEngine, FailureClass};

    use super::{ClientEnd, exit_of};

    /// The exit of a program without required outputs, and its answer.
    fn ended(exit: WorkExit, lines: &[&str]) -> (WorkExit, Option<String>) {
        let mut output = ClientOutput::new(AgentEngine::Command);
        for line in lines {
            output.take(line);
        }
        let process = DialogueEnd { exit, ends: StreamTails::default() };
        let ended =
            exit_of(&ClientEnd { process, output }, AgentEngine::Command, &[], FailureClass::Environmental);
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

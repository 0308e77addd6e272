use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::json;

use super::{
    failure::ConnectionFailure,
    protocol::{
        MOST_LINES, SetupCompletion, SetupHostMessage, SetupLogLevel, SetupScriptMessage, SetupStep, read,
    },
    text::unfit,
};
use wf_base::name::RefId;
use wf_model::AuthMethod;

/// The most steps of one setup.
const MOST_STEPS: usize = 100;

/// The longest name of a step, in bytes.
const MOST_STEP_ID: usize = 200;

/// The terms the user agreed to before the script started.
#[derive(Clone, Debug)]
pub struct SetupTerms {
    /// The authentication strategy.
    pub auth: AuthMethod,
    /// The permissions that may be granted at most.
    pub permissions: Vec<String>,
    /// The secrets that may be asked for.
    pub refs: BTreeSet<RefId>,
}

/// An event of a setup.
#[derive(Clone, Debug)]
pub enum SetupInput<'a> {
    /// A line from the script, without its end.
    Line(&'a [u8]),
    /// The user's answer; it applies to the step the script waits for.
    Answer(SetupAnswer),
    /// The user cancelled.
    Cancel,
    TimeUp,
    /// The script has exited; the text gives the failure, if it failed.
    Ended(Option<String>),
}

/// An answer of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupAnswer {
    /// The secret was given, and is stored for the script to read.
    Given,
    /// The user confirmed.
    Confirmed,
}

/// An action for the caller.
#[derive(Clone, Debug, PartialEq)]
pub enum SetupOutput {
    /// Send this to the script.
    Send(SetupHostMessage),
    /// Show this to the user.
    Show(SetupStep),
    /// Ask the user for a secret, then pass in [`SetupAnswer::Given`].
    Secret {
        /// The id standing for the secret.
        ref_id: RefId,
        /// A description of the secret.
        label: String,
        /// The way to find it; may be empty.
        guidance: String,
    },
    /// Wait until the user confirms, then pass in [`SetupAnswer::Confirmed`].
    Confirm,
    /// A log message of the script, which decides nothing.
    Note(SetupLogLevel, String),
    /// The setup is complete. Comes once, as the last output.
    Done(SetupCompletion),
    /// The setup failed; end the script. Comes once, as the last output.
    Failed(SetupFault),
}

/// The reason why a script failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupFault {
    /// A violation of the protocol: the number of the line, from 1, and the reason.
    Protocol(usize, String),
    /// A failure reported by the script.
    Reported(ConnectionFailure),
    /// The user cancelled.
    Cancelled,
    /// The script took too long.
    TimeUp,
    /// The script exited without reporting a result.
    Ended(String),
}

impl fmt::Display for SetupFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(line, reason) => {
                write!(f, "line {line} violates the protocol: {reason}")
            }
            Self::Reported(failure) => {
                write!(f, "{}: {}", failure.failure_type.as_str(), failure.message)
            }
            Self::Cancelled => f.write_str("it was cancelled"),
            Self::TimeUp => f.write_str("it timed out and was stopped"),
            Self::Ended(how) => write!(f, "it exited without reporting a result{how}"),
        }
    }
}

/// The conversation of a setup. Decides the next action and performs none.
#[derive(Debug)]
pub struct SetupConversation {
    terms: SetupTerms,
    phase: SetupPhase,
    lines: usize,
    steps: BTreeMap<String, AwaitedInput>,
    awaited_step: Option<String>,
}

#[derive(Debug, PartialEq)]
enum SetupPhase {
    Active,
    /// The script reported completion and is expected to exit.
    Completed(SetupCompletion),
    /// The script was told that the setup is cancelled.
    Cancelled,
    Over,
}

/// The input a step needs from the user.
#[derive(Debug)]
enum AwaitedInput {
    Secret {
        ref_id: RefId,
        label: String,
        guidance: String,
    },
    Nothing,
    /// The script has received its answer.
    Answered,
}

impl SetupConversation {
    /// Returns a conversation under these terms, about to begin.
    pub fn new(terms: SetupTerms) -> Self {
        Self { terms, phase: SetupPhase::Active, lines: 0, steps: BTreeMap::new(), awaited_step: None }
    }

    /// Takes an event and returns the actions for it, in order.
    pub fn handle_input(&mut self, input: SetupInput<'_>) -> Vec<SetupOutput> {
        match (input, &self.phase) {
            (_, SetupPhase::Over)
            | (SetupInput::Line(_) | SetupInput::Answer(_) | SetupInput::Cancel, SetupPhase::Cancelled) => {
                Vec::new()
            }
            (SetupInput::Line(line), _) => self.line(line),
            (SetupInput::Answer(answer), _) => self.on_answer(answer),
            (SetupInput::Cancel, _) => {
                self.phase = SetupPhase::Cancelled;
                let reason = "user_cancelled";
                vec![SetupOutput::Send(SetupHostMessage::Cancel { reason })]
            }
            (SetupInput::TimeUp, phase) => {
                let cancelled = *phase == SetupPhase::Cancelled;
                self.fail(if cancelled { SetupFault::Cancelled } else { SetupFault::TimeUp })
            }
            (SetupInput::Ended(how), _) => self.on_exit(how),
        }
    }

    fn fail(&mut self, fault: SetupFault) -> Vec<SetupOutput> {
        self.phase = SetupPhase::Over;
        vec![SetupOutput::Failed(fault)]
    }

    fn protocol_fault(&mut self, reason: impl Into<String>) -> Vec<SetupOutput> {
        self.fail(SetupFault::Protocol(self.lines, reason.into()))
    }

    fn on_exit(&mut self, how: Option<String>) -> Vec<SetupOutput> {
        match (std::mem::replace(&mut self.phase, SetupPhase::Over), how) {
            (SetupPhase::Completed(completed), None) => vec![SetupOutput::Done(completed)],
            (SetupPhase::Cancelled, _) => vec![SetupOutput::Failed(SetupFault::Cancelled)],
            (_, how) => {
                let how = how.map_or(String::new(), |how| format!(" ({how})"));
                vec![SetupOutput::Failed(SetupFault::Ended(how))]
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Vec<SetupOutput> {
        self.lines += 1;
        if self.lines > MOST_LINES {
            return self.protocol_fault(format!("there are more than {MOST_LINES} lines"));
        }
        if matches!(self.phase, SetupPhase::Completed(_)) {
            return self.protocol_fault("it continues after completion");
        }
        match read(line) {
            Ok(said) => self.on_message(said),
            Err(fault) => self.protocol_fault(fault.to_string()),
        }
    }

    fn on_message(&mut self, script_message: SetupScriptMessage) -> Vec<SetupOutput> {
        match script_message {
            SetupScriptMessage::SetupStep { step_id, step } => self.on_step(step_id, step),
            SetupScriptMessage::AwaitInput { step_id } => self.on_await(&step_id),
            SetupScriptMessage::Completion { connection_payload } => self.on_completion(connection_payload),
            SetupScriptMessage::Failure { failure } => self.on_failure(failure),
            SetupScriptMessage::Log { level, message } => match unfit(&message) {
                Some(reason) => self.protocol_fault(format!("the message {reason}")),
                None => vec![SetupOutput::Note(level, message)],
            },
        }
    }

    fn on_step(&mut self, id: String, step: SetupStep) -> Vec<SetupOutput> {
        if let Some(reason) = step.unfit() {
            return self.protocol_fault(reason);
        }
        let wanted = match &step {
            SetupStep::Completion { connection_payload } => {
                return self.on_completion(connection_payload.clone());
            }
            SetupStep::Failure { failure } => return self.on_failure(failure.clone()),
            SetupStep::DeviceCode { .. } if self.terms.auth != AuthMethod::DeviceCode => {
                return self.protocol_fault("its skill does not declare `auth: device_code`");
            }
            SetupStep::BrowserRedirect { .. } if self.terms.auth != AuthMethod::BrowserRedirect => {
                return self.protocol_fault("its skill does not declare `auth: browser_redirect`");
            }
            SetupStep::SecureInput { ref_id, .. } if !self.terms.refs.contains(ref_id) => {
                return self.protocol_fault("it requests a secret that `discover` did not list");
            }
            SetupStep::SecureInput { ref_id, label, guidance } => AwaitedInput::Secret {
                ref_id: ref_id.clone(),
                label: label.clone(),
                guidance: guidance.clone(),
            },
            SetupStep::DeviceCode { .. } | SetupStep::BrowserRedirect { .. } => AwaitedInput::Nothing,
        };
        if id.len() > MOST_STEP_ID || self.steps.len() >= MOST_STEPS {
            return self.protocol_fault("there are too many steps, or a step name is too long");
        }
        if self.steps.insert(id, wanted).is_some() {
            return self.protocol_fault("two steps have the same `step_id`");
        }
        vec![SetupOutput::Show(step)]
    }

    fn on_await(&mut self, id: &str) -> Vec<SetupOutput> {
        if self.awaited_step.is_some() {
            return self.protocol_fault("it waits for two steps at once");
        }
        let question = match self.steps.get(id) {
            None => return self.protocol_fault("it waits for a step that it did not announce"),
            Some(AwaitedInput::Answered) => {
                return self.protocol_fault("it waits for the same step twice");
            }
            Some(AwaitedInput::Nothing) => SetupOutput::Confirm,
            Some(AwaitedInput::Secret { ref_id, label, guidance }) => SetupOutput::Secret {
                ref_id: ref_id.clone(),
                label: label.clone(),
                guidance: guidance.clone(),
            },
        };
        self.awaited_step = Some(id.to_owned());
        vec![question]
    }

    /// Handles an answer. One not awaited, or of the wrong kind, is ignored.
    fn on_answer(&mut self, answer: SetupAnswer) -> Vec<SetupOutput> {
        if self.phase != SetupPhase::Active {
            return Vec::new();
        }
        let Some(id) = self.awaited_step.take() else {
            return Vec::new();
        };
        let payload = match (self.steps.get(&id), answer) {
            (Some(AwaitedInput::Secret { ref_id, .. }), SetupAnswer::Given) => {
                json!({"ref_id": ref_id, "success": true})
            }
            (Some(AwaitedInput::Nothing), SetupAnswer::Confirmed) => json!({"confirmed": true}),
            _ => {
                self.awaited_step = Some(id);
                return Vec::new();
            }
        };
        self.steps.insert(id.clone(), AwaitedInput::Answered);
        let step_id = id;
        vec![SetupOutput::Send(SetupHostMessage::StepResult { step_id, payload })]
    }

    fn on_completion(&mut self, completed: SetupCompletion) -> Vec<SetupOutput> {
        if let Some(reason) = completed.unfit() {
            return self.protocol_fault(reason);
        }
        let granted = completed.permissions_granted.iter().flatten();
        let beyond = granted.filter(|one| !self.terms.permissions.contains(one)).count();
        if beyond > 0 {
            return self.protocol_fault("more was granted than was approved");
        }
        self.phase = SetupPhase::Completed(completed);
        Vec::new()
    }

    fn on_failure(&mut self, failure: ConnectionFailure) -> Vec<SetupOutput> {
        match failure.display_error() {
            Some(reason) => self.protocol_fault(format!("the failure {reason}")),
            None => self.fail(SetupFault::Reported(failure)),
        }
    }
}

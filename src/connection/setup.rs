use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::json;

use super::failure::ConnectionFailure;
use super::protocol::{Completed, Level, MOST_LINES, Said, Step, Told, read};
use super::text::unfit;
use crate::model::Auth;
use crate::name::RefId;

/// The most steps of one setup.
const MOST_STEPS: usize = 100;

/// The longest name of a step, in bytes.
const MOST_STEP_ID: usize = 200;

/// What somebody agreed to before the script began.
#[derive(Clone, Debug)]
pub struct Terms {
    /// How they prove who they are.
    pub auth: Auth,
    /// What may be granted at most.
    pub permissions: Vec<String>,
    /// The secrets that may be asked for.
    pub refs: BTreeSet<RefId>,
}

/// What happens to a setup.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// The script said a line, without its end.
    Line(&'a [u8]),
    /// The person did what was asked; it counts for the step that the script waits for.
    Answer(Answer),
    /// The person wants no more.
    Cancel,
    /// The time is up.
    TimeUp,
    /// The script has ended; the text says how if not well.
    Ended(Option<String>),
}

/// What a person did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// They gave the secret, and it is where the script can read it.
    Given,
    /// They went on.
    Confirmed,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Tell the script.
    Send(Told),
    /// Show it to the person.
    Show(Step),
    /// Ask the person for a secret, then say [`Answer::Given`].
    Secret {
        /// What it is spoken of as.
        ref_id: RefId,
        /// What it is.
        label: String,
    },
    /// Wait until the person goes on, then say [`Answer::Confirmed`].
    Confirm,
    /// A word of the script that decides nothing.
    Note(Level, String),
    /// It is complete. Comes once, and nothing after it.
    Done(Completed),
    /// It failed; end the script. Comes once, and nothing after it.
    Failed(Fault),
}

/// Why a script did not do what it was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does not keep to the protocol: in which line, counted from 1, and why.
    Protocol(usize, String),
    /// It says itself what went wrong.
    Said(ConnectionFailure),
    /// The person wanted no more.
    Cancelled,
    /// It took too long.
    TimeUp,
    /// It ended without having said how it went.
    Ended(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(line, why) => {
                write!(f, "line {line} does not keep to the protocol: {why}")
            }
            Self::Said(failure) => {
                write!(f, "{}: {}", failure.failure_type.as_str(), failure.message)
            }
            Self::Cancelled => f.write_str("it was cancelled"),
            Self::TimeUp => f.write_str("it took too long and was ended"),
            Self::Ended(how) => write!(f, "it ended without a word about how it went{how}"),
        }
    }
}

/// The conversation of a setup: decides what to do next and does nothing itself.
#[derive(Debug)]
pub struct Setup {
    terms: Terms,
    phase: Phase,
    lines: usize,
    steps: BTreeMap<String, Wanted>,
    awaited: Option<String>,
}

#[derive(Debug, PartialEq)]
enum Phase {
    Talks,
    /// It said that it is complete, and is to end now.
    Completed(Completed),
    /// It was told that nobody wants it any more.
    Cancelled,
    Over,
}

/// What a step needs of the person.
#[derive(Debug)]
enum Wanted {
    Secret(RefId, String),
    Nothing,
    /// The script has got its answer.
    Answered,
}

impl Setup {
    /// A conversation under these terms, about to begin.
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            phase: Phase::Talks,
            lines: 0,
            steps: BTreeMap::new(),
            awaited: None,
        }
    }

    /// Takes what happened; gives what to do, in order.
    pub fn take(&mut self, input: Input<'_>) -> Vec<Output> {
        match (input, &self.phase) {
            (_, Phase::Over)
            | (Input::Line(_) | Input::Answer(_) | Input::Cancel, Phase::Cancelled) => Vec::new(),
            (Input::Line(line), _) => self.line(line),
            (Input::Answer(answer), _) => self.answer(answer),
            (Input::Cancel, _) => {
                self.phase = Phase::Cancelled;
                let reason = "user_cancelled";
                vec![Output::Send(Told::Cancel { reason })]
            }
            (Input::TimeUp, phase) => {
                let cancelled = *phase == Phase::Cancelled;
                self.fail(if cancelled {
                    Fault::Cancelled
                } else {
                    Fault::TimeUp
                })
            }
            (Input::Ended(how), _) => self.ended(how),
        }
    }

    fn fail(&mut self, fault: Fault) -> Vec<Output> {
        self.phase = Phase::Over;
        vec![Output::Failed(fault)]
    }

    fn broken(&mut self, why: impl Into<String>) -> Vec<Output> {
        self.fail(Fault::Protocol(self.lines, why.into()))
    }

    fn ended(&mut self, how: Option<String>) -> Vec<Output> {
        match (std::mem::replace(&mut self.phase, Phase::Over), how) {
            (Phase::Completed(completed), None) => vec![Output::Done(completed)],
            (Phase::Cancelled, _) => vec![Output::Failed(Fault::Cancelled)],
            (_, how) => {
                let how = how.map_or(String::new(), |how| format!(" ({how})"));
                vec![Output::Failed(Fault::Ended(how))]
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Vec<Output> {
        self.lines += 1;
        if self.lines > MOST_LINES {
            return self.broken(format!("there are more than {MOST_LINES} lines"));
        }
        if matches!(self.phase, Phase::Completed(_)) {
            return self.broken("it goes on after it was complete");
        }
        match read(line) {
            Ok(said) => self.said(said),
            Err(why) => self.broken(why),
        }
    }

    fn said(&mut self, said: Said) -> Vec<Output> {
        match said {
            Said::SetupStep { step_id, step } => self.step(step_id, step),
            Said::AwaitInput { step_id } => self.awaits(&step_id),
            Said::Completion { connection_payload } => self.completed(connection_payload),
            Said::Failure { failure } => self.failed(failure),
            Said::Log { level, message } => match unfit(&message) {
                Some(why) => self.broken(format!("the message {why}")),
                None => vec![Output::Note(level, message)],
            },
        }
    }

    fn step(&mut self, id: String, step: Step) -> Vec<Output> {
        if let Some(why) = step.unfit() {
            return self.broken(why);
        }
        let wanted = match &step {
            Step::Completion { connection_payload } => {
                return self.completed(connection_payload.clone());
            }
            Step::Failure { failure } => return self.failed(failure.clone()),
            Step::DeviceCode { .. } if self.terms.auth != Auth::DeviceCode => {
                return self.broken("its skill does not say `auth: device_code`");
            }
            Step::BrowserRedirect { .. } if self.terms.auth != Auth::BrowserRedirect => {
                return self.broken("its skill does not say `auth: browser_redirect`");
            }
            Step::SecureInput { ref_id, .. } if !self.terms.refs.contains(ref_id) => {
                return self.broken("it asks for a secret that `discover` did not name");
            }
            Step::SecureInput { ref_id, label, .. } => {
                Wanted::Secret(ref_id.clone(), label.clone())
            }
            Step::DeviceCode { .. } | Step::BrowserRedirect { .. } => Wanted::Nothing,
        };
        if id.len() > MOST_STEP_ID || self.steps.len() >= MOST_STEPS {
            return self.broken("there are too many steps, or the name of one is too long");
        }
        if self.steps.insert(id, wanted).is_some() {
            return self.broken("two steps have the same `step_id`");
        }
        vec![Output::Show(step)]
    }

    fn awaits(&mut self, id: &str) -> Vec<Output> {
        if self.awaited.is_some() {
            return self.broken("it waits for two steps at once");
        }
        let asked = match self.steps.get(id) {
            None => return self.broken("it waits for a step that it did not show"),
            Some(Wanted::Answered) => return self.broken("it waits for the same step twice"),
            Some(Wanted::Nothing) => Output::Confirm,
            Some(Wanted::Secret(ref_id, label)) => Output::Secret {
                ref_id: ref_id.clone(),
                label: label.clone(),
            },
        };
        self.awaited = Some(id.to_owned());
        vec![asked]
    }

    /// An answer that nobody waits for, or that is not what was asked for, says nothing.
    fn answer(&mut self, answer: Answer) -> Vec<Output> {
        if self.phase != Phase::Talks {
            return Vec::new();
        }
        let Some(id) = self.awaited.take() else {
            return Vec::new();
        };
        let payload = match (self.steps.get(&id), answer) {
            (Some(Wanted::Secret(ref_id, _)), Answer::Given) => {
                json!({"ref_id": ref_id, "success": true})
            }
            (Some(Wanted::Nothing), Answer::Confirmed) => json!({"confirmed": true}),
            _ => {
                self.awaited = Some(id);
                return Vec::new();
            }
        };
        self.steps.insert(id.clone(), Wanted::Answered);
        let step_id = id;
        vec![Output::Send(Told::StepResult { step_id, payload })]
    }

    fn completed(&mut self, completed: Completed) -> Vec<Output> {
        if let Some(why) = completed.unfit() {
            return self.broken(why);
        }
        let granted = completed.permissions_granted.iter().flatten();
        let beyond = granted
            .filter(|one| !self.terms.permissions.contains(one))
            .count();
        if beyond > 0 {
            return self.broken("more was granted than was agreed to");
        }
        self.phase = Phase::Completed(completed);
        Vec::new()
    }

    fn failed(&mut self, failure: ConnectionFailure) -> Vec<Output> {
        match failure.unfit() {
            Some(why) => self.broken(format!("the failure {why}")),
            None => self.fail(Fault::Said(failure)),
        }
    }
}

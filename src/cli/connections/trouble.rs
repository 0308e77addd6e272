use crate::cli::{Exit, Failure};
use crate::connection::{ConnectionFailure, Fault, remedies};
use crate::exec::refs::RefsFault;

/// Why a script did not do what it was for. Holds no secret.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Which script.
    pub script: &'static str,
    /// What is wrong.
    pub what: What,
    /// The end of what it printed for people, without secrets; may be empty.
    pub printed: String,
}

/// What is wrong.
#[derive(Clone, Debug)]
pub enum What {
    /// With what it said.
    Fault(Box<Fault>),
    /// With the secrets.
    Refs(RefsFault),
    /// A line of it has a secret in it.
    Leak,
    /// It says that the connection does not work.
    Unwell(String),
    /// It could not be run.
    Unable(String),
}

impl Trouble {
    /// Nothing was printed.
    pub fn new(script: &'static str, what: What) -> Self {
        Self {
            script,
            what,
            printed: String::new(),
        }
    }

    /// What the service said, if it is that.
    pub fn said(&self) -> Option<&ConnectionFailure> {
        match &self.what {
            What::Fault(fault) => match &**fault {
                Fault::Said(failure) => Some(failure),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a person wanted no more.
    pub fn is_cancelled(&self) -> bool {
        matches!(&self.what, What::Fault(fault) if **fault == Fault::Cancelled)
    }

    /// The kind and the words, for the record.
    pub fn record(&self) -> (String, String) {
        match self.said() {
            Some(failure) => (
                failure.failure_type.as_str().to_owned(),
                failure.message.clone(),
            ),
            None => match &self.what {
                What::Unwell(why) => ("unhealthy".to_owned(), why.clone()),
                _ => ("script_failed".to_owned(), self.text()),
            },
        }
    }

    /// In one line.
    pub fn text(&self) -> String {
        let what = match &self.what {
            What::Fault(fault) => fault.to_string(),
            What::Refs(fault) => fault.to_string(),
            What::Leak => "a line of it has a secret in it, and was refused".to_owned(),
            What::Unable(why) | What::Unwell(why) => why.clone(),
        };
        format!("{}: {what}", self.script)
    }

    /// For a person, with what they can do.
    pub fn failure(&self, name: &str, skill: &str) -> Failure {
        if self.is_cancelled() {
            let message = format!("the setup of `{name}` was cancelled; nothing of it is kept");
            return Failure::new(Exit::Interrupted, message);
        }
        if let What::Refs(RefsFault::Busy) = &self.what {
            let message = format!("connection `{name}`: {}", RefsFault::Busy);
            return Failure::new(Exit::State, message).hint("try again when it has ended");
        }
        let mut failure = if let Some(said) = self.said() {
            let meaning = said.failure_type.meaning();
            let message = format!("connection `{name}`: {meaning}: {}", said.message);
            let failure = Failure::new(Exit::RunFailed, message);
            let remedies = remedies(said, name, skill).into_iter();
            remedies.fold(failure, |failure, remedy| match remedy.command {
                Some(command) => failure.hint(format!("{}: {command}", remedy.what)),
                None => failure.hint(remedy.what),
            })
        } else {
            let message = format!("connection `{name}`: {}", self.text());
            let hint = match &self.what {
                What::Unwell(_) => {
                    format!("connect it again: wf connection add {name} --skill {skill}")
                }
                _ => format!("the scripts of the skill `{skill}` must be put right"),
            };
            Failure::new(Exit::RunFailed, message).hint(hint)
        };
        for line in self.printed.lines() {
            failure = failure.hint(format!("it printed: {line}"));
        }
        failure
    }
}

impl From<Fault> for What {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

impl Trouble {
    /// Secrets could not be kept.
    pub fn unkept(script: &'static str, fault: RefsFault) -> Self {
        Self::new(script, What::Refs(fault))
    }
}

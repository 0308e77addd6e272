use crate::{CliExitCode, CommandError};
use wf_base::{
    name::PlanId,
    remedy::{Remedy, UserAction},
};
use wf_core::{
    connection::{ConnectionFailure, SetupFault, remedies},
    health::{CallEnd, OpenBreaker},
};
use wf_exec::connection_secrets::ConnectionSecretError;

/// The failure of a script. Holds no secret.
#[derive(Clone, Debug)]
pub struct AdapterFailure {
    /// The name of the script.
    pub script: &'static str,
    /// The problem.
    pub kind: AdapterFailureKind,
    /// The end of its messages, without secrets; may be empty.
    pub last_output: String,
}

/// The problem with a script.
#[derive(Clone, Debug)]
pub enum AdapterFailureKind {
    /// Its reply is faulty.
    Fault(Box<SetupFault>),
    /// The secrets are not accessible.
    SecretsInaccessible(ConnectionSecretError),
    /// A line of its output contains a secret.
    Leak,
    /// It reports that the connection does not work.
    ReportedFailure(String),
    /// It could not be run.
    NotStarted(String),
    /// It was not run, since the service failed before.
    LeftAlone(OpenBreaker),
}

impl AdapterFailure {
    /// Nothing was printed.
    pub fn new(script: &'static str, kind: AdapterFailureKind) -> Self {
        Self { script, kind, last_output: String::new() }
    }

    /// The failure reported by the service, if it is one.
    pub fn service_failure(&self) -> Option<&ConnectionFailure> {
        match &self.kind {
            AdapterFailureKind::Fault(fault) => match &**fault {
                SetupFault::Reported(failure) => Some(failure),
                _ => None,
            },
            _ => None,
        }
    }

    /// True if the user cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(&self.kind, AdapterFailureKind::Fault(fault) if **fault == SetupFault::Cancelled)
    }

    /// The kind and the message, for the record.
    pub fn record(&self) -> (String, String) {
        match self.service_failure() {
            Some(failure) => (failure.failure_type.as_str().to_owned(), failure.message.clone()),
            None => match &self.kind {
                AdapterFailureKind::ReportedFailure(reason) => ("unhealthy".to_owned(), reason.clone()),
                AdapterFailureKind::LeftAlone(open) => ("left_alone".to_owned(), open.to_string()),
                _ => ("script_failed".to_owned(), self.describe()),
            },
        }
    }

    /// Returns the end of a call of the service; `None`: the script did not get to it.
    pub fn call_end(&self) -> Option<CallEnd> {
        let (_, error) = self.record();
        match &self.kind {
            AdapterFailureKind::ReportedFailure(_) => Some(CallEnd::Rejection { error }),
            AdapterFailureKind::Fault(fault) => match &**fault {
                SetupFault::Reported(failure) if !failure.failure_type.is_transient() => {
                    Some(CallEnd::Rejection { error })
                }
                // A script that ends without an answer has none of the service either.
                SetupFault::Reported(_) | SetupFault::TimeUp | SetupFault::Ended(_) => {
                    Some(CallEnd::Outage { error })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The problem in one line.
    pub fn describe(&self) -> String {
        let cause = match &self.kind {
            AdapterFailureKind::Fault(fault) => fault.to_string(),
            AdapterFailureKind::SecretsInaccessible(error) => error.to_string(),
            AdapterFailureKind::Leak => "rejected a line that contains a secret".to_owned(),
            AdapterFailureKind::NotStarted(reason) | AdapterFailureKind::ReportedFailure(reason) => {
                reason.clone()
            }
            AdapterFailureKind::LeftAlone(open) => open.to_string(),
        };
        format!("{}: {cause}", self.script)
    }

    /// The failure for the user, with a remedy.
    pub fn failure(&self, name: &PlanId, skill: &str) -> CommandError {
        if self.is_cancelled() {
            let message = format!("the setup of `{name}` was cancelled; nothing was stored");
            return CommandError::new(CliExitCode::Interrupted, message);
        }
        if let AdapterFailureKind::SecretsInaccessible(ConnectionSecretError::Busy) = &self.kind {
            let message = format!("connection `{name}`: {}", ConnectionSecretError::Busy);
            return CommandError::new(CliExitCode::State, message).hint("try again after it has finished");
        }
        if let AdapterFailureKind::LeftAlone(open) = &self.kind {
            let error = CommandError::new(CliExitCode::RunFailed, format!("connection `{name}`: {open}"));
            let remedy = Remedy::from("outside of runs it is called at once: ");
            return error.hint(remedy.action(UserAction::CheckConnection(name.clone())));
        }
        let mut error = if let Some(connection_failure) = self.service_failure() {
            let meaning = connection_failure.failure_type.meaning();
            let message = format!("connection `{name}`: {meaning}: {}", connection_failure.message);
            let command_error = CommandError::new(CliExitCode::RunFailed, message);
            let remedies = remedies(connection_failure, name, skill).into_iter();
            remedies.fold(command_error, CommandError::hint)
        } else {
            let message = format!("connection `{name}`: {}", self.describe());
            let hint = match &self.kind {
                AdapterFailureKind::ReportedFailure(_) => {
                    let skill = Some(skill.to_owned());
                    Remedy::from("reconnect: ")
                        .action(UserAction::AddConnection { name: name.clone(), skill })
                }
                _ => format!("fix the scripts of the skill `{skill}`").into(),
            };
            CommandError::new(CliExitCode::RunFailed, message).hint(hint)
        };
        for line in self.last_output.lines() {
            error = error.hint(format!("output: {line}"));
        }
        error
    }
}

impl From<SetupFault> for AdapterFailureKind {
    fn from(fault: SetupFault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

impl AdapterFailure {
    /// The trouble when secrets could not be kept.
    pub fn storage_failure(script: &'static str, error: ConnectionSecretError) -> Self {
        Self::new(script, AdapterFailureKind::SecretsInaccessible(error))
    }
}

#[cfg(test)]
mod tests {
    use super::{AdapterFailure, AdapterFailureKind};
    use wf_base::keyword::Keyword;
    use wf_core::{
        connection::{ConnectionFailure, FailureKind, SetupFault},
        health::CallEnd,
    };

    fn end(kind: impl Into<AdapterFailureKind>) -> Option<CallEnd> {
        AdapterFailure::new("health_check", kind.into()).call_end()
    }

    #[test]
    fn what_a_service_says_of_itself_is_an_outage_or_shows_that_it_works() {
        for &failure_type in FailureKind::ALL {
            let message = "not now".to_owned();
            let failure = ConnectionFailure {
                failure_type,
                service: None,
                message: message.clone(),
                retry_after: None,
                admin_url: None,
            };
            let is_transient =
                matches!(failure_type, FailureKind::RateLimited | FailureKind::ServiceUnavailable);
            let error = message;
            let expected =
                if is_transient { CallEnd::Outage { error } } else { CallEnd::Rejection { error } };
            assert_eq!(end(SetupFault::Reported(failure)), Some(expected), "{failure_type:?}");
        }
    }

    #[test]
    fn a_script_that_does_not_answer_has_no_answer_of_the_service() {
        assert!(matches!(end(SetupFault::TimeUp), Some(CallEnd::Outage { .. })));
        assert!(matches!(end(SetupFault::Ended(" (exit code 1)".into())), Some(CallEnd::Outage { .. })));
        let unhealthy = AdapterFailureKind::ReportedFailure("the token has expired".into());
        let expected = CallEnd::Rejection { error: "the token has expired".into() };
        assert_eq!(end(unhealthy), Some(expected));
        for unknown in [AdapterFailureKind::Leak, AdapterFailureKind::NotStarted("no sandbox".into())] {
            assert_eq!(end(unknown), None);
        }
    }
}

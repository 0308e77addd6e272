use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    failure::ConnectionFailure,
    text::{is_loopback, unfit, unsafe_url},
};
use wf_base::{name::RefId, time::Moment};
use wf_model::AuthMethod;

/// The most lines a script may write.
pub const MOST_LINES: usize = 10_000;

/// The longest line, in bytes, without its end.
pub const MOST_LINE: usize = 64 * 1024;

/// A message from wf to the script of a setup.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SetupHostMessage {
    Start {
        /// The authentication strategy.
        auth_strategy: AuthMethod,
        /// The permissions to ask the service for.
        initial_permissions: Vec<String>,
        /// The permissions to ask for besides those granted before.
        incremental_scopes: Vec<String>,
        /// Known facts about the account.
        identity_hint: std::collections::BTreeMap<String, String>,
    },
    /// The result of a step the script waits for.
    StepResult {
        step_id: String,
        /// The result; never a secret.
        payload: Value,
    },
    /// The user cancelled.
    Cancel { reason: &'static str },
}

impl SetupHostMessage {
    /// Returns the line, with its end.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// A message from the script of a setup.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum SetupScriptMessage {
    SetupStep { step_id: String, step: SetupStep },
    AwaitInput { step_id: String },
    Completion { connection_payload: SetupCompletion },
    Failure { failure: ConnectionFailure },
    Log { level: SetupLogLevel, message: String },
}

/// A step of a setup, shown to the user.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum SetupStep {
    /// The user is to type a code into a page.
    DeviceCode {
        /// The page.
        verification_url: String,
        user_code: String,
        /// The lifetime of the code, in seconds.
        expires_in: u64,
        /// The interval at which the script polls the service, in seconds.
        poll_interval: u64,
    },
    /// The user is to consent on a page leading back to the script.
    BrowserRedirect {
        /// The page.
        auth_url: String,
        /// The address at which the script listens, `127.0.0.1:PORT`.
        listening_on: String,
    },
    /// The user is to give wf a secret.
    SecureInput {
        /// The id standing for the secret.
        ref_id: RefId,
        /// A description of the secret.
        label: String,
        /// Instructions for getting it.
        guidance: String,
    },
    /// The connection is complete, like the event `completion`.
    Completion {
        /// The payload of that event.
        connection_payload: SetupCompletion,
    },
    /// The setup has failed, like the event `failure`.
    Failure {
        /// The failure of that event.
        failure: ConnectionFailure,
    },
}

/// The properties of a connection a complete setup reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupCompletion {
    /// The granted permissions; absent: those asked for.
    #[serde(default)]
    pub permissions_granted: Option<Vec<String>>,
    #[serde(default)]
    pub token_expires_at: Option<Moment>,
    #[serde(default)]
    pub refresh_token_expires_at: Option<Moment>,
    /// The display name of the account.
    #[serde(default)]
    pub account: Option<String>,
}

/// The severity of a log message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetupLogLevel {
    /// Information.
    Info,
    /// A possible problem.
    Warning,
}

/// The reason why a line is no message. It quotes nothing of the line except the names of missing keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SetupLineFault {
    #[error("it is longer than {MOST_LINE} bytes")]
    TooLong,
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("it is not JSON")]
    NotJson,
    #[error("it is not a JSON object")]
    NotObject,
    /// A key is missing; the text names it.
    #[error("it has a {0}")]
    MissingKey(String),
    #[error("it has a word that is not part of the protocol")]
    UnknownWord,
    #[error("it has a key that is not part of the protocol")]
    UnknownKey,
    #[error("a value has the wrong type")]
    WrongType,
    #[error("a name is invalid")]
    InvalidName,
    #[error("an instant is not in RFC 3339 format")]
    InvalidTime,
    #[error("it is not a message of the protocol")]
    OtherForm,
}

/// Reads one line.
pub(super) fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, SetupLineFault> {
    if line.len() > MOST_LINE {
        return Err(SetupLineFault::TooLong);
    }
    if std::str::from_utf8(line).is_err() {
        return Err(SetupLineFault::NotUtf8);
    }
    // First as any object: an object with duplicate keys is ambiguous, and a reader of an enum may
    // take either.
    let value: Value = serde_json::from_slice(line).map_err(|_| SetupLineFault::NotJson)?;
    if !value.is_object() {
        return Err(SetupLineFault::NotObject);
    }
    serde_json::from_value(value).map_err(|error| parse_fault(&error.to_string()))
}

/// Returns the fault of an object, without anything a script wrote into it.
fn parse_fault(error: &str) -> SetupLineFault {
    if error.starts_with("missing field ") {
        return SetupLineFault::MissingKey(error.to_owned());
    }
    let kinds = [
        ("unknown variant", SetupLineFault::UnknownWord),
        ("unknown field", SetupLineFault::UnknownKey),
        ("invalid type", SetupLineFault::WrongType),
        ("a name here", SetupLineFault::InvalidName),
        ("an instant", SetupLineFault::InvalidTime),
    ];
    let kind = kinds.into_iter().find(|(start, _)| error.starts_with(start));
    kind.map_or(SetupLineFault::OtherForm, |(_, fault)| fault)
}

impl SetupStep {
    /// Returns the reason why it cannot be shown to the user; `None`: it can.
    pub(super) fn unfit(&self) -> Option<String> {
        let said = |noun: &str, reason: Option<&str>| reason.map(|reason| format!("the {noun} {reason}"));
        match self {
            Self::DeviceCode { verification_url, user_code, .. } => {
                said("address", unsafe_url(verification_url))
                    .or_else(|| said("code", unfit(user_code)))
                    .or_else(|| said("code", user_code.contains('\n').then_some("contains a line break")))
            }
            Self::BrowserRedirect { auth_url, listening_on } => said("address", unsafe_url(auth_url))
                .or_else(|| {
                    let elsewhere = !is_loopback(listening_on);
                    said("listener", elsewhere.then_some("is not on this machine"))
                }),
            Self::SecureInput { label, guidance, .. } => {
                said("label", unfit(label)).or_else(|| said("guidance", unfit(guidance)))
            }
            Self::Completion { connection_payload } => connection_payload.unfit(),
            Self::Failure { failure } => said("failure", failure.display_error()),
        }
    }
}

impl SetupCompletion {
    /// Returns the reason why it cannot be recorded; `None`: it can.
    pub(super) fn unfit(&self) -> Option<String> {
        let granted = self.permissions_granted.iter().flatten();
        let mut texts = granted.chain(&self.account);
        let reason = texts.find_map(|text| unfit(text))?;
        Some(format!("a text of the completion {reason}"))
    }
}

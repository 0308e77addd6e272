use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::failure::ConnectionFailure;
use super::text::{is_loopback, unfit, unsafe_url};
use crate::model::Auth;
use crate::name::RefId;
use crate::time::Moment;

/// The most lines that a script may say.
pub const MOST_LINES: usize = 10_000;

/// The longest line, in bytes, without its end.
pub const MOST_LINE: usize = 64 * 1024;

/// What wf tells the script of a setup.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Told {
    /// It begins.
    Start {
        /// How somebody proves who they are.
        auth_strategy: Auth,
        /// What to ask the service for.
        initial_permissions: Vec<String>,
        /// What to ask for besides what was granted before.
        incremental_scopes: Vec<String>,
        /// What is known of whose account it is.
        identity_hint: std::collections::BTreeMap<String, String>,
    },
    /// What came of a step that the script waits for.
    StepResult {
        /// The step.
        step_id: String,
        /// What came of it; never a secret.
        payload: Value,
    },
    /// The person wants no more.
    Cancel {
        /// Why.
        reason: &'static str,
    },
}

impl Told {
    /// The line, with its end.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// What the script of a setup says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Said {
    SetupStep { step_id: String, step: Step },
    AwaitInput { step_id: String },
    Completion { connection_payload: Completed },
    Failure { failure: ConnectionFailure },
    Log { level: Level, message: String },
}

/// A step of a setup, for a person to see.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// They are to type a code into a page.
    DeviceCode {
        /// The page.
        verification_url: String,
        /// The code.
        user_code: String,
        /// For how many seconds it can be typed.
        expires_in: u64,
        /// How often the script asks the service, in seconds.
        poll_interval: u64,
    },
    /// They are to agree on a page that leads back to the script.
    BrowserRedirect {
        /// The page.
        auth_url: String,
        /// Where the script waits, `127.0.0.1:PORT`.
        listening_on: String,
    },
    /// They are to give wf a secret.
    SecureInput {
        /// What it is spoken of as.
        ref_id: RefId,
        /// What it is.
        label: String,
        /// Where they get it.
        guidance: String,
    },
    /// As the event `completion`.
    Completion {
        /// As there.
        connection_payload: Completed,
    },
    /// As the event `failure`.
    Failure {
        /// As there.
        failure: ConnectionFailure,
    },
}

/// What a setup that is complete says of the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completed {
    /// What the service granted; absent: what it was asked for.
    #[serde(default)]
    pub permissions_granted: Option<Vec<String>>,
    /// When the token ends.
    #[serde(default)]
    pub token_expires_at: Option<Moment>,
    /// When what gets a new one ends.
    #[serde(default)]
    pub refresh_token_expires_at: Option<Moment>,
    /// Whose account it is, as a person calls it.
    #[serde(default)]
    pub account: Option<String>,
}

/// How much somebody should care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Not much.
    Info,
    /// Something may be wrong.
    Warning,
}

/// Reads one line. The error quotes nothing of it but keys that are missing.
pub(super) fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    if line.len() > MOST_LINE {
        return Err(format!("it is longer than {MOST_LINE} bytes"));
    }
    if std::str::from_utf8(line).is_err() {
        return Err("it is not UTF-8".into());
    }
    // First as any object: of an object with two keys of one name nobody knows what it says, and a
    // reader of an enum may take either.
    let value: Value = serde_json::from_slice(line).map_err(|_| "it is not JSON".to_owned())?;
    if !value.is_object() {
        return Err("it is not a JSON object".into());
    }
    serde_json::from_value(value).map_err(|error| unread(&error.to_string()))
}

/// What is wrong with an object, without what a script wrote into it.
fn unread(error: &str) -> String {
    const SAFE: [&str; 1] = ["missing field "];
    let kinds = [
        ("unknown variant", "it has a word that the protocol has not"),
        ("unknown field", "it has a key that the protocol has not"),
        ("invalid type", "a value has the wrong type"),
        ("a name here", "a name has the wrong form"),
        ("an instant", "an instant is not in RFC 3339"),
    ];
    if SAFE.iter().any(|safe| error.starts_with(safe)) {
        return format!("it has a {error}");
    }
    let kind = kinds.iter().find(|(start, _)| error.starts_with(start));
    kind.map_or("it is no message of the protocol", |(_, why)| why)
        .to_owned()
}

impl Step {
    /// Why it cannot be shown to a person; `None`: it can.
    pub(super) fn unfit(&self) -> Option<String> {
        let said = |what: &str, why: Option<&str>| why.map(|why| format!("the {what} {why}"));
        match self {
            Self::DeviceCode {
                verification_url,
                user_code,
                ..
            } => said("address", unsafe_url(verification_url))
                .or_else(|| said("code", unfit(user_code)))
                .or_else(|| said("code", user_code.contains('\n').then_some("has a line end"))),
            Self::BrowserRedirect {
                auth_url,
                listening_on,
            } => said("address", unsafe_url(auth_url)).or_else(|| {
                let elsewhere = !is_loopback(listening_on);
                said("listener", elsewhere.then_some("is not on this machine"))
            }),
            Self::SecureInput {
                label, guidance, ..
            } => said("label", unfit(label)).or_else(|| said("guidance", unfit(guidance))),
            Self::Completion { connection_payload } => connection_payload.unfit(),
            Self::Failure { failure } => said("failure", failure.unfit()),
        }
    }
}

impl Completed {
    /// Why it cannot be recorded; `None`: it can.
    pub(super) fn unfit(&self) -> Option<String> {
        let granted = self.permissions_granted.iter().flatten();
        let mut texts = granted.chain(&self.account);
        let why = texts.find_map(|text| unfit(text))?;
        Some(format!("a text of the completion {why}"))
    }
}

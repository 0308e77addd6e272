//! Scripts that are asked once and answer once: one line in, one line out.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::failure::ConnectionFailure;
use super::protocol::read;
use super::setup::Fault;
use super::text::unfit;
use crate::model::{Auth, ConnectionSpec};
use crate::name::RefId;
use crate::time::Moment;

/// The most secrets that a skill may ask for.
const MOST_REFS: usize = 32;

/// What a script is asked.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request<'a> {
    /// `discover`: whether and how somebody can be connected.
    Discover {
        /// What is known of whose account it is.
        identity_hint: &'a BTreeMap<String, String>,
    },
    /// `refresh_token`: a new token.
    RefreshToken {
        /// The connection, by name.
        connection_id: &'a str,
    },
    /// `health_check`: whether it works.
    HealthCheck {
        /// The connection, by name.
        connection_id: &'a str,
    },
    /// `recover`: make it work again.
    Recover {
        /// The connection, by name.
        connection_id: &'a str,
        /// What was wrong with its health.
        error: &'a str,
    },
    /// `probe`: a request of the kind that it is for.
    Probe {
        /// The connection, by name.
        connection_id: &'a str,
        /// What to try; absent: whatever shows that it works.
        capability: Option<&'a str>,
    },
}

impl Request<'_> {
    /// The script that is asked: the name of its file, without the extension.
    pub fn script(&self) -> &'static str {
        match self {
            Self::Discover { .. } => "discover",
            Self::RefreshToken { .. } => "refresh_token",
            Self::HealthCheck { .. } => "health_check",
            Self::Recover { .. } => "recover",
            Self::Probe { .. } => "probe",
        }
    }

    /// The line, with its end.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// What `discover` found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discovery {
    /// How somebody proves who they are.
    pub auth_strategy: Auth,
    /// The service, as a person calls it.
    pub provider: String,
    /// Whether the hint is an account of this service.
    #[serde(default)]
    pub identity_match: Option<bool>,
    /// What kind of account it is.
    #[serde(default)]
    pub tenant_type: Option<String>,
    /// What the setup will ask for.
    pub initial_permissions: Vec<String>,
    /// What a person needs for it.
    #[serde(default)]
    pub setup_requirements: Requirements,
}

/// What a person needs for a setup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// A browser.
    #[serde(default)]
    pub browser: bool,
    /// An app that they registered with the service.
    #[serde(default)]
    pub app_registration: bool,
    /// Secrets. Those that are not named here are never asked for.
    #[serde(default)]
    pub secure_inputs: Vec<Wanted>,
}

/// A secret that a setup asks for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// What it is spoken of as.
    pub ref_id: RefId,
    /// What it is.
    pub label: String,
}

/// What `refresh_token` did.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refreshed {
    /// Whether there is a new token.
    pub success: bool,
    /// When it ends.
    #[serde(default)]
    pub new_expires_at: Option<Moment>,
    /// When what got it ends.
    #[serde(default)]
    pub refresh_token_expires_at: Option<Moment>,
}

/// What `health_check` found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// Whether it works.
    pub healthy: bool,
    /// When the token ends.
    #[serde(default)]
    pub token_expires_at: Option<Moment>,
    /// When what gets a new one ends.
    #[serde(default)]
    pub refresh_token_expires_at: Option<Moment>,
    /// How long the service took to answer.
    #[serde(default)]
    pub latency_ms: Option<u64>,
    /// What is wrong, if it does not work.
    #[serde(default)]
    pub error: Option<String>,
    /// What somebody should know.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What `recover` did.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovered {
    /// Whether it works again.
    pub success: bool,
}

/// What `probe` found: whatever shows that it works.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Probed(pub Map<String, Value>);

/// An answer that can be checked.
pub trait Reply: DeserializeOwned {
    /// Why it cannot be used; `None`: it can.
    fn unfit(&self) -> Option<String>;
}

/// Reads the only line of an answer. A script that failed says so in place of it.
pub fn reply<T: Reply>(lines: &[Vec<u8>]) -> Result<T, Fault> {
    let broken = |line, why: &str| Fault::Protocol(line, why.to_owned());
    let line = match lines {
        [] => return Err(Fault::Ended(String::new())),
        [line] => line,
        _ => return Err(broken(2, "it answers with more than one line")),
    };
    let any: Value = read(line).map_err(|why| Fault::Protocol(1, why))?;
    if any.get("failure_type").is_some() {
        let failure: ConnectionFailure = read(line).map_err(|why| Fault::Protocol(1, why))?;
        return Err(match failure.unfit() {
            Some(why) => broken(1, &format!("the failure {why}")),
            None => Fault::Said(failure),
        });
    }
    let answer: T = read(line).map_err(|why| Fault::Protocol(1, why))?;
    match answer.unfit() {
        Some(why) => Err(Fault::Protocol(1, why)),
        None => Ok(answer),
    }
}

fn text(what: &str, text: &str) -> Option<String> {
    unfit(text).map(|why| format!("the {what} {why}"))
}

impl Reply for Discovery {
    fn unfit(&self) -> Option<String> {
        let wanted = &self.setup_requirements.secure_inputs;
        if wanted.len() > MOST_REFS {
            return Some(format!("it asks for more than {MOST_REFS} secrets"));
        }
        text("provider", &self.provider)
            .or_else(|| {
                self.tenant_type
                    .as_deref()
                    .and_then(|kind| text("tenant", kind))
            })
            .or_else(|| wanted.iter().find_map(|one| text("label", &one.label)))
    }
}

impl Discovery {
    /// Why it goes beyond what the skill declares; `None`: it does not.
    pub fn beyond(&self, spec: &ConnectionSpec) -> Option<String> {
        if self.auth_strategy != spec.auth {
            let (found, declared) = (self.auth_strategy.as_str(), spec.auth.as_str());
            return Some(format!("it wants `{found}`, and declares `{declared}`"));
        }
        let mut wanted = self.initial_permissions.iter();
        let beyond = wanted.any(|one| !spec.initial.contains(one));
        beyond.then(|| "it wants a permission that it does not declare under `initial`".into())
    }
}

impl Reply for Refreshed {
    fn unfit(&self) -> Option<String> {
        None
    }
}

impl Reply for Health {
    fn unfit(&self) -> Option<String> {
        let mut texts = self.warnings.iter().chain(&self.error);
        texts.find_map(|one| text("error or a warning", one))
    }
}

impl Reply for Recovered {
    fn unfit(&self) -> Option<String> {
        None
    }
}

impl Reply for Probed {
    fn unfit(&self) -> Option<String> {
        let shown = self.0.iter().map(|(key, value)| (key, scalar(value)));
        for (key, value) in shown {
            let Some(value) = value else {
                return Some("a value is a list or an object".into());
            };
            if let Some(why) = text("result", key).or_else(|| text("result", &value)) {
                return Some(why);
            }
        }
        None
    }
}

impl Probed {
    /// In one line: `inbox 12 · user ada`.
    pub fn line(&self) -> String {
        let one = |(key, value): (&String, &Value)| {
            let value = scalar(value).unwrap_or_default();
            format!("{key} {}", value.replace('\n', " "))
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(" · ")
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) | Value::Null => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::FailureKind;

    fn of<T: Reply>(lines: &[&str]) -> Result<T, Fault> {
        let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        reply(&lines)
    }

    fn broken(lines: &[&str]) -> usize {
        match of::<Health>(lines) {
            Err(Fault::Protocol(line, why)) => {
                assert!(!why.contains("hunter2"), "{why}");
                line
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_line_is_one_answer() {
        let health: Health =
            of(&[r#"{"healthy":true,"token_expires_at":"2026-11-21T09:30:00Z","latency_ms":12}"#])
                .unwrap();
        assert!(health.healthy && health.token_expires_at.is_some());
        assert_eq!(broken(&[r#"{"healthy":true}"#, "{}"]), 2);
        for wrong in [
            "",
            "ok",
            "[]",
            "{}",
            r#"{"healthy":"hunter2"}"#,
            r#"{"healthy":true,"hunter2":1}"#,
            r#"{"healthy":true,"token_expires_at":"hunter2"}"#,
            r#"{"healthy":false,"error":"\u001b[2Jhunter2"}"#,
            r#"{"failure_type":"hunter2","message":""}"#,
        ] {
            assert_eq!(broken(&[wrong]), 1, "{wrong}");
        }
        assert_eq!(of::<Health>(&[]), Err(Fault::Ended(String::new())));
    }

    #[test]
    fn a_script_can_say_that_it_failed() {
        let said = r#"{"failure_type":"rate_limited","message":"slow down","retry_after":30}"#;
        let Err(Fault::Said(failure)) = of::<Refreshed>(&[said]) else {
            panic!("it is a failure");
        };
        assert_eq!(failure.failure_type, FailureKind::RateLimited);
        assert_eq!(failure.retry_after, Some(30));
    }

    #[test]
    fn a_discovery_keeps_to_what_the_skill_declares() {
        let spec = ConnectionSpec {
            auth: Auth::SecureInput,
            initial: vec!["read".into()],
            available: vec!["write".into()],
            check_every: None,
        };
        let found = |auth: &str, permission: &str| {
            let line = format!(
                r#"{{"auth_strategy":"{auth}","provider":"x","initial_permissions":["{permission}"]}}"#
            );
            of::<Discovery>(&[&line]).unwrap().beyond(&spec)
        };
        assert_eq!(found("secure_input", "read"), None);
        assert!(found("device_code", "read").is_some());
        assert!(found("secure_input", "write").is_some());
    }

    #[test]
    fn a_probe_says_what_it_likes_in_one_line() {
        let probed: Probed = of(&[r#"{"inbox":12,"user":"ada"}"#]).unwrap();
        assert_eq!(probed.line(), "inbox 12 · user ada");
        assert!(of::<Probed>(&[r#"{"inbox":[1]}"#]).is_err());
    }
}

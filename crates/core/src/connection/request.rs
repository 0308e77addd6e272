//! Scripts that get one request and return one answer: one line in, one line out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{failure::ConnectionFailure, protocol::read, setup::SetupFault, text::unfit};
use wf_base::{name::RefId, time::Moment};
use wf_model::{AuthMethod, ConnectionDeclaration};

/// The most secrets a skill may ask for.
const MOST_REFS: usize = 32;

/// A request to a script.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConnectionRequest<'a> {
    /// `discover`: reports whether and how the user can be connected.
    Discover {
        /// Known facts about the account.
        identity_hint: &'a BTreeMap<String, String>,
    },
    /// `refresh_token`: gets a new token.
    RefreshToken {
        /// The connection, by name.
        connection_id: &'a str,
    },
    /// `health_check`: checks that the connection works.
    HealthCheck {
        /// The connection, by name.
        connection_id: &'a str,
    },
    /// `recover`: makes it work again.
    Recover {
        /// The connection, by name.
        connection_id: &'a str,
        /// The error of its health check.
        error: &'a str,
    },
    /// `probe`: makes a typical request.
    Probe {
        /// The connection, by name.
        connection_id: &'a str,
        /// The capability to try; absent: any request showing that it works.
        capability: Option<&'a str>,
    },
}

impl ConnectionRequest<'_> {
    /// Returns the script to run: the name of its file, without the extension.
    pub fn script(&self) -> &'static str {
        match self {
            Self::Discover { .. } => "discover",
            Self::RefreshToken { .. } => "refresh_token",
            Self::HealthCheck { .. } => "health_check",
            Self::Recover { .. } => "recover",
            Self::Probe { .. } => "probe",
        }
    }

    /// Returns the line, with its end.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// The findings of `discover`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscoveryReply {
    /// The authentication strategy.
    pub auth_strategy: AuthMethod,
    /// The service's display name.
    pub provider: String,
    /// True if the hint is an account of this service.
    #[serde(default)]
    pub identity_match: Option<bool>,
    /// The kind of account.
    #[serde(default)]
    pub tenant_type: Option<String>,
    /// The permissions the setup will ask for.
    pub initial_permissions: Vec<String>,
    #[serde(default)]
    pub setup_requirements: SetupRequirements,
}

/// The requirements of a setup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupRequirements {
    #[serde(default)]
    pub browser: bool,
    /// An app registered with the service.
    #[serde(default)]
    pub app_registration: bool,
    /// The secrets. A secret not named here is never asked for.
    #[serde(default)]
    pub secure_inputs: Vec<SetupSecret>,
}

/// A secret a setup asks for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupSecret {
    /// The id standing for the secret.
    pub ref_id: RefId,
    /// A description of the secret.
    pub label: String,
}

/// The result of `refresh_token`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefreshReply {
    /// True if there is a new token.
    pub success: bool,
    /// The expiry of the new token.
    #[serde(default)]
    pub new_expires_at: Option<Moment>,
    #[serde(default)]
    pub refresh_token_expires_at: Option<Moment>,
}

/// The findings of `health_check`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthCheckReply {
    /// True if the connection works.
    pub healthy: bool,
    #[serde(default)]
    pub token_expires_at: Option<Moment>,
    #[serde(default)]
    pub refresh_token_expires_at: Option<Moment>,
    /// The response time of the service.
    #[serde(default)]
    pub latency_ms: Option<u64>,
    /// The error, if it does not work.
    #[serde(default)]
    pub error: Option<String>,
    /// Warnings for the user.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The result of `recover`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoverReply {
    /// True if the connection works again.
    pub success: bool,
}

/// The findings of `probe`: any data showing that the connection works.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct ProbeReply(pub Map<String, Value>);

/// An answer that can be checked.
pub trait ScriptReply: DeserializeOwned {
    /// Returns the reason why it cannot be used; `None`: it can.
    fn unfit(&self) -> Option<String>;
}

/// Reads the only line of an answer. A script that failed reports its failure instead.
pub fn reply<T: ScriptReply>(lines: &[Vec<u8>]) -> Result<T, SetupFault> {
    let broken = |line, reason: &str| SetupFault::Protocol(line, reason.to_owned());
    let line = match lines {
        [] => return Err(SetupFault::Ended(String::new())),
        [line] => line,
        _ => return Err(broken(2, "the answer has more than one line")),
    };
    let any: Value = read(line).map_err(|fault| SetupFault::Protocol(1, fault.to_string()))?;
    if any.get("failure_type").is_some() {
        let failure: ConnectionFailure =
            read(line).map_err(|fault| SetupFault::Protocol(1, fault.to_string()))?;
        return Err(match failure.display_error() {
            Some(reason) => broken(1, &format!("the failure {reason}")),
            None => SetupFault::Reported(failure),
        });
    }
    let answer: T = read(line).map_err(|fault| SetupFault::Protocol(1, fault.to_string()))?;
    match answer.unfit() {
        Some(reason) => Err(SetupFault::Protocol(1, reason)),
        None => Ok(answer),
    }
}

fn text(noun: &str, text: &str) -> Option<String> {
    unfit(text).map(|reason| format!("the {noun} {reason}"))
}

impl ScriptReply for DiscoveryReply {
    fn unfit(&self) -> Option<String> {
        let wanted = &self.setup_requirements.secure_inputs;
        if wanted.len() > MOST_REFS {
            return Some(format!("it requests more than {MOST_REFS} secrets"));
        }
        text("provider", &self.provider)
            .or_else(|| self.tenant_type.as_deref().and_then(|kind| text("tenant", kind)))
            .or_else(|| wanted.iter().find_map(|one| text("label", &one.label)))
    }
}

impl DiscoveryReply {
    /// Returns the reason why it exceeds what the skill declares; `None`: it does not.
    pub fn scope_violation(&self, declaration: &ConnectionDeclaration) -> Option<String> {
        if self.auth_strategy != declaration.auth {
            let (found, declared) = (self.auth_strategy.as_str(), declaration.auth.as_str());
            return Some(format!("it uses `{found}`, but declares `{declared}`"));
        }
        let mut wanted = self.initial_permissions.iter();
        let beyond = wanted.any(|one| !declaration.initial.contains(one));
        beyond.then(|| "it requests a permission that it does not declare under `initial`".into())
    }
}

impl ScriptReply for RefreshReply {
    fn unfit(&self) -> Option<String> {
        None
    }
}

impl ScriptReply for HealthCheckReply {
    fn unfit(&self) -> Option<String> {
        let mut texts = self.warnings.iter().chain(&self.error);
        texts.find_map(|one| text("error or a warning", one))
    }
}

impl ScriptReply for RecoverReply {
    fn unfit(&self) -> Option<String> {
        None
    }
}

impl ScriptReply for ProbeReply {
    fn unfit(&self) -> Option<String> {
        let shown = self.0.iter().map(|(key, value)| (key, scalar(value)));
        for (key, value) in shown {
            let Some(value) = value else {
                return Some("a value is a list or an object".into());
            };
            if let Some(reason) = text("result", key).or_else(|| text("result", &value)) {
                return Some(reason);
            }
        }
        None
    }
}

impl ProbeReply {
    /// Returns it as one line: `inbox 12 · user ada`.
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

    fn of<T: ScriptReply>(lines: &[&str]) -> Result<T, SetupFault> {
        let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        reply(&lines)
    }

    fn broken(lines: &[&str]) -> usize {
        match of::<HealthCheckReply>(lines) {
            Err(SetupFault::Protocol(line, reason)) => {
                assert!(!reason.contains("hunter2"), "{reason}");
                line
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_line_is_one_answer() {
        let health: HealthCheckReply =
            of(&[r#"{"healthy":true,"token_expires_at":"2026-11-21T09:30:00Z","latency_ms":12}"#]).unwrap();
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
        assert_eq!(of::<HealthCheckReply>(&[]), Err(SetupFault::Ended(String::new())));
    }

    #[test]
    fn a_script_can_say_that_it_failed() {
        let said = r#"{"failure_type":"rate_limited","message":"slow down","retry_after":30}"#;
        let Err(SetupFault::Reported(failure)) = of::<RefreshReply>(&[said]) else {
            panic!("it is a failure");
        };
        assert_eq!(failure.failure_type, FailureKind::RateLimited);
        assert_eq!(failure.retry_after, Some(30));
    }

    #[test]
    fn a_discovery_keeps_to_what_the_skill_declares() {
        let spec = ConnectionDeclaration {
            auth: AuthMethod::SecureInput,
            initial: vec!["read".into()],
            available: vec!["write".into()],
            check_every: None,
        };
        let found = |auth: &str, permission: &str| {
            let line = format!(
                r#"{{"auth_strategy":"{auth}","provider":"x","initial_permissions":["{permission}"]}}"#
            );
            of::<DiscoveryReply>(&[&line]).unwrap().scope_violation(&spec)
        };
        assert_eq!(found("secure_input", "read"), None);
        assert!(found("device_code", "read").is_some());
        assert!(found("secure_input", "write").is_some());
    }

    #[test]
    fn a_probe_says_what_it_likes_in_one_line() {
        let probed: ProbeReply = of(&[r#"{"inbox":12,"user":"ada"}"#]).unwrap();
        assert_eq!(probed.line(), "inbox 12 · user ada");
        assert!(of::<ProbeReply>(&[r#"{"inbox":[1]}"#]).is_err());
    }
}

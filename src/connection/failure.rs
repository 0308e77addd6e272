use serde::{Deserialize, Serialize};

use super::text::{unfit, unsafe_url};

/// Why a service does not let somebody in, as far as it matters for what to do (Silas 5.10.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The organisation that the account belongs to does not allow it.
    EnterprisePolicyBlock,
    /// The person said no on the page of the service.
    ConsentDenied,
    /// The service wants a second factor first.
    MfaRequired,
    /// What was granted was taken back.
    TokenRevoked,
    /// The service wants fewer requests.
    RateLimited,
    /// The service does not answer.
    ServiceUnavailable,
}

/// What a script says went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionFailure {
    /// Why.
    pub failure_type: FailureKind,
    /// The service, as a person calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// In its own words.
    pub message: String,
    /// After how many seconds it can be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// Where somebody who may can allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin_url: Option<String>,
}

/// Something that a person can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What it is.
    pub what: String,
    /// What to type for it; `None`: it is done elsewhere.
    pub command: Option<String>,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::EnterprisePolicyBlock,
        Self::ConsentDenied,
        Self::MfaRequired,
        Self::TokenRevoked,
        Self::RateLimited,
        Self::ServiceUnavailable,
    ];

    /// As the protocol and the database write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EnterprisePolicyBlock => "enterprise_policy_block",
            Self::ConsentDenied => "consent_denied",
            Self::MfaRequired => "mfa_required",
            Self::TokenRevoked => "token_revoked",
            Self::RateLimited => "rate_limited",
            Self::ServiceUnavailable => "service_unavailable",
        }
    }

    /// What it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::EnterprisePolicyBlock => "the organisation of the account does not allow it",
            Self::ConsentDenied => "the request was declined on the page of the service",
            Self::MfaRequired => "the service asks for a second factor",
            Self::TokenRevoked => {
                "access was taken back: a changed password, an administrator, or its end"
            }
            Self::RateLimited => "the service wants fewer requests for now",
            Self::ServiceUnavailable => "the service does not answer",
        }
    }
}

impl ConnectionFailure {
    /// Why it cannot be shown; `None`: it can.
    pub(super) fn unfit(&self) -> Option<&'static str> {
        let texts = [Some(&self.message), self.service.as_ref()];
        let bad = texts.into_iter().flatten().find_map(|text| unfit(text));
        bad.or_else(|| self.admin_url.as_deref().and_then(unsafe_url))
    }
}

/// What a person can do about a failure of the connection `name`, whose skill is `skill`.
pub fn remedies(failure: &ConnectionFailure, name: &str, skill: &str) -> Vec<Remedy> {
    let one = |what: &str, command: Option<String>| Remedy {
        what: what.to_owned(),
        command,
    };
    let again = || Some(format!("wf connection add {name} --skill {skill}"));
    let check = || Some(format!("wf connection check {name}"));
    match failure.failure_type {
        FailureKind::EnterprisePolicyBlock => {
            let page = failure.admin_url.as_deref();
            let page = page.map_or(String::new(), |url| format!(" on {url}"));
            vec![
                one(&format!("ask an administrator to allow it{page}"), None),
                one("use an account that is not the organisation's", again()),
            ]
        }
        FailureKind::ConsentDenied => {
            let fewer = again().map(|command| command + " --permission PERMISSION");
            vec![
                one("try again", again()),
                one("ask for fewer permissions", fewer),
            ]
        }
        FailureKind::MfaRequired => vec![one("try again with the second factor", again())],
        FailureKind::TokenRevoked => vec![one("connect it again", again())],
        FailureKind::RateLimited => {
            let when = failure.retry_after.map_or("later".to_owned(), |seconds| {
                format!("in {} min", seconds.div_ceil(60).max(1))
            });
            vec![one(&format!("try again {when}"), check())]
        }
        FailureKind::ServiceUnavailable => vec![one("try again later", check())],
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectionFailure, FailureKind, remedies};

    #[test]
    fn there_is_something_to_do_about_every_failure() {
        for kind in FailureKind::ALL {
            let written = serde_json::to_value(kind).unwrap();
            assert_eq!(written, kind.as_str());
            assert!(!kind.meaning().is_empty());
            let failure = ConnectionFailure {
                failure_type: kind,
                service: None,
                message: String::new(),
                retry_after: Some(61),
                admin_url: None,
            };
            let all = remedies(&failure, "mail", "m365");
            let has_command = all.iter().any(|remedy| remedy.command.is_some());
            assert!(has_command, "{kind:?}");
            if kind == FailureKind::RateLimited {
                assert_eq!(all[0].what, "try again in 2 min");
                assert_eq!(all[0].command.as_deref(), Some("wf connection check mail"));
            }
        }
    }
}

use serde::{Deserialize, Serialize};

use super::text::{unfit, unsafe_url};
use wf_base::keywords;

keywords! {
    /// The kind of a connection failure, as far as it matters for the remedy (Silas 5.10.4).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FailureKind {
        /// The organisation of the account forbids it.
        EnterprisePolicyBlock = "enterprise_policy_block",
        /// The user denied consent on the page of the service.
        ConsentDenied = "consent_denied",
        /// The service requires a second factor first.
        MfaRequired = "mfa_required",
        /// The grant was revoked.
        TokenRevoked = "token_revoked",
        /// The service limits the rate of requests.
        RateLimited = "rate_limited",
        /// The service does not answer.
        ServiceUnavailable = "service_unavailable",
    }
}

/// A failure reported by a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionFailure {
    pub failure_type: FailureKind,
    /// The service's display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The message, in the script's words.
    pub message: String,
    /// The number of seconds after which it can be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The address at which an administrator can allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin_url: Option<String>,
}

/// An action the user can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRemedy {
    /// A description.
    pub text: String,
    /// The command to type; `None`: it is done outside `wf`.
    pub command: Option<String>,
}

impl FailureKind {
    /// True if the service may answer the next call.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::ServiceUnavailable)
    }

    /// Returns the meaning as a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::EnterprisePolicyBlock => "the organisation of the account does not allow it",
            Self::ConsentDenied => "the request was declined on the service's page",
            Self::MfaRequired => "the service requires a second factor",
            Self::TokenRevoked => "access was revoked: a changed password, an administrator, or expiry",
            Self::RateLimited => "the service is rate limiting requests",
            Self::ServiceUnavailable => "the service is not responding",
        }
    }
}

impl ConnectionFailure {
    /// Returns the reason why it cannot be shown; `None`: it can.
    pub(super) fn display_error(&self) -> Option<&'static str> {
        let texts = [Some(&self.message), self.service.as_ref()];
        let bad = texts.into_iter().flatten().find_map(|text| unfit(text));
        bad.or_else(|| self.admin_url.as_deref().and_then(unsafe_url))
    }
}

pub fn remedies(failure: &ConnectionFailure, name: &str, skill: &str) -> Vec<ConnectionRemedy> {
    let one = |text: &str, command: Option<String>| ConnectionRemedy { text: text.to_owned(), command };
    let again = || Some(format!("wf connection add {name} --skill {skill}"));
    let check = || Some(format!("wf connection check {name}"));
    match failure.failure_type {
        FailureKind::EnterprisePolicyBlock => {
            let page = failure.admin_url.as_deref();
            let page = page.map_or(String::new(), |url| format!(" on {url}"));
            vec![
                one(&format!("ask an administrator to allow it{page}"), None),
                one("use an account outside the organisation", again()),
            ]
        }
        FailureKind::ConsentDenied => {
            let fewer = again().map(|command| command + " --permission PERMISSION");
            vec![one("try again", again()), one("request fewer permissions", fewer)]
        }
        FailureKind::MfaRequired => vec![one("try again with a second factor", again())],
        FailureKind::TokenRevoked => vec![one("reconnect", again())],
        FailureKind::RateLimited => {
            let when = failure
                .retry_after
                .map_or("later".to_owned(), |seconds| format!("in {} min", seconds.div_ceil(60).max(1)));
            vec![one(&format!("try again {when}"), check())]
        }
        FailureKind::ServiceUnavailable => vec![one("try again later", check())],
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectionFailure, FailureKind, remedies};
    use wf_base::keyword::Keyword;

    #[test]
    fn there_is_something_to_do_about_every_failure() {
        for &kind in FailureKind::ALL {
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
                assert_eq!(all[0].text, "try again in 2 min");
                assert_eq!(all[0].command.as_deref(), Some("wf connection check mail"));
            }
        }
    }
}

use serde::{Deserialize, Serialize};

use super::text::{unfit, unsafe_url};
use wf_base::{
    keywords,
    name::PlanId,
    remedy::{Remedy, UserAction},
};

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

/// Returns the remedies for the failure of a connection, one sentence each.
pub fn remedies(failure: &ConnectionFailure, name: &PlanId, skill: &str) -> Vec<Remedy> {
    let again = |text: &str| {
        let action = UserAction::AddConnection { name: name.clone(), skill: Some(skill.to_owned()) };
        Remedy::from(format!("{text}: ")).action(action)
    };
    let check =
        |text: &str| Remedy::from(format!("{text}: ")).action(UserAction::CheckConnection(name.clone()));
    match failure.failure_type {
        FailureKind::EnterprisePolicyBlock => {
            let page = failure.admin_url.as_deref();
            let page = page.map_or(String::new(), |url| format!(" on {url}"));
            let ask = format!("ask an administrator to allow it{page}");
            vec![ask.into(), again("use an account outside the organisation")]
        }
        FailureKind::ConsentDenied => {
            let fewer = again("request fewer permissions").text(" --permission PERMISSION");
            vec![again("try again"), fewer]
        }
        FailureKind::MfaRequired => vec![again("try again with a second factor")],
        FailureKind::TokenRevoked => vec![again("reconnect")],
        FailureKind::RateLimited => {
            let when = failure
                .retry_after
                .map_or("later".to_owned(), |seconds| format!("in {} min", seconds.div_ceil(60).max(1)));
            vec![check(&format!("try again {when}"))]
        }
        FailureKind::ServiceUnavailable => vec![check("try again later")],
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
            let all = remedies(&failure, &"mail".parse().unwrap(), "m365");
            let texts = all.iter().map(|remedy| remedy.render(&|action| format!("<{action:?}>")));
            let texts: Vec<String> = texts.collect();
            assert!(texts.iter().any(|text| text.contains('<')), "{kind:?}: {texts:?}");
            if kind == FailureKind::RateLimited {
                assert_eq!(texts, ["try again in 2 min: <CheckConnection(PlanId(\"mail\"))>"]);
            }
        }
    }
}

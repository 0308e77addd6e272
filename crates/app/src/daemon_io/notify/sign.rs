use base64ct::{Base64, Encoding as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The prefix of the secrets of Standard Webhooks; base64 follows.
const PREFIX: &str = "whsec_";

/// The secret signing webhooks.
#[derive(Clone)]
pub struct WebhookSecret(Hmac<Sha256>);

/// An invalid secret. Does not quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookSecretError {
    #[error("the webhook secret is empty")]
    Empty,
    /// The secret begins as one of Standard Webhooks does, but the rest is not base64.
    #[error(
        "the webhook secret starts with `whsec_`, but the rest is not padded base64; generate one \
         with `echo whsec_$(openssl rand -base64 32)`"
    )]
    NotBase64,
}

/// Hides the secret.
impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl WebhookSecret {
    /// Reads a secret: `whsec_` and base64, or any other text, whose bytes are then the key.
    pub fn parse(text: &str) -> Result<Self, WebhookSecretError> {
        let key = match text.strip_prefix(PREFIX) {
            Some(encoded) => Base64::decode_vec(encoded).map_err(|_| WebhookSecretError::NotBase64)?,
            None => text.as_bytes().to_vec(),
        };
        if key.is_empty() {
            return Err(WebhookSecretError::Empty);
        }
        // An HMAC key may have any length.
        Hmac::new_from_slice(&key).map(Self).map_err(|_| WebhookSecretError::Empty)
    }

    /// Returns the signature of a message; `seconds` is the time of sending, since the epoch.
    pub(super) fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        let mut mac = self.0.clone();
        mac.update(format!("{id}.{seconds}.{body}").as_bytes());
        let mac = mac.finalize().into_bytes();
        format!("v1,{}", Base64::encode_string(&mac))
    }
}

#[cfg(test)]
mod tests {
    use super::{WebhookSecret, WebhookSecretError};

    /// The example that other libraries are tested with.
    #[test]
    fn signs_as_others_do() {
        let secret = WebhookSecret::parse(&["whsec", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"].join("_")).unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        assert_eq!(
            secret.sign(id, 1_614_265_330, r#"{"test": 2432232314}"#),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn a_secret_without_the_prefix_is_its_own_key() {
        let plain = WebhookSecret::parse("hunter22").unwrap();
        let coded = WebhookSecret::parse("whsec_aHVudGVyMjI=").unwrap();
        assert_eq!(plain.sign("a", 1, "b"), coded.sign("a", 1, "b"));
        assert_ne!(plain.sign("a", 1, "b"), plain.sign("a", 2, "b"));
    }

    #[test]
    fn a_bad_secret_is_refused_and_not_quoted() {
        assert_eq!(WebhookSecret::parse("").unwrap_err(), WebhookSecretError::Empty);
        assert_eq!(WebhookSecret::parse("whsec_").unwrap_err(), WebhookSecretError::Empty);
        for text in ["whsec_hunter22!", "whsec_aHVudGVyMjI"] {
            let error = WebhookSecret::parse(text).unwrap_err();
            assert_eq!(error, WebhookSecretError::NotBase64);
            assert!(!error.to_string().contains("Vu"), "{error}");
        }
        let shown = format!("{:?}", WebhookSecret::parse("hunter22").unwrap());
        assert_eq!(shown, "Secret");
    }
}

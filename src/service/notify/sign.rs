use base64ct::{Base64, Encoding as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// What the secrets of Standard Webhooks begin with; base64 follows.
const PREFIX: &str = "whsec_";

/// What webhooks are signed with.
#[derive(Clone)]
pub struct Secret(Hmac<Sha256>);

/// A secret that nothing can be signed with. Does not quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    /// It is empty.
    #[error("the secret of the webhook is empty")]
    Empty,
    /// It begins as one of Standard Webhooks does, and goes on otherwise.
    #[error(
        "the secret of the webhook begins with `whsec_`, and what follows is not base64 with its \
         padding; make one with `echo whsec_$(openssl rand -base64 32)`"
    )]
    NotBase64,
}

/// Secrets are not shown.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Takes a secret: `whsec_` and base64, or any other text, whose bytes are the key then.
    pub fn parse(text: &str) -> Result<Self, BadSecret> {
        let key = match text.strip_prefix(PREFIX) {
            Some(encoded) => Base64::decode_vec(encoded).map_err(|_| BadSecret::NotBase64)?,
            None => text.as_bytes().to_vec(),
        };
        if key.is_empty() {
            return Err(BadSecret::Empty);
        }
        // Of HMAC a key may have any length.
        Hmac::new_from_slice(&key)
            .map(Self)
            .map_err(|_| BadSecret::Empty)
    }

    /// The signature of a message; `seconds` is when it is sent, since the epoch.
    pub(super) fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        let mut mac = self.0.clone();
        mac.update(format!("{id}.{seconds}.{body}").as_bytes());
        let mac = mac.finalize().into_bytes();
        format!("v1,{}", Base64::encode_string(&mac))
    }
}

#[cfg(test)]
mod tests {
    use super::{BadSecret, Secret};

    /// The example that the libraries of others are tested with.
    #[test]
    fn signs_as_others_do() {
        let secret =
            Secret::parse(&["whsec", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"].join("_")).unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        assert_eq!(
            secret.sign(id, 1_614_265_330, r#"{"test": 2432232314}"#),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn a_secret_without_the_prefix_is_its_own_key() {
        let plain = Secret::parse("hunter22").unwrap();
        let coded = Secret::parse("whsec_aHVudGVyMjI=").unwrap();
        assert_eq!(plain.sign("a", 1, "b"), coded.sign("a", 1, "b"));
        assert_ne!(plain.sign("a", 1, "b"), plain.sign("a", 2, "b"));
    }

    #[test]
    fn a_bad_secret_is_refused_and_not_quoted() {
        assert_eq!(Secret::parse("").unwrap_err(), BadSecret::Empty);
        assert_eq!(Secret::parse("whsec_").unwrap_err(), BadSecret::Empty);
        for text in ["whsec_hunter22!", "whsec_aHVudGVyMjI"] {
            let error = Secret::parse(text).unwrap_err();
            assert_eq!(error, BadSecret::NotBase64);
            assert!(!error.to_string().contains("Vu"), "{error}");
        }
        let shown = format!("{:?}", Secret::parse("hunter22").unwrap());
        assert_eq!(shown, "Secret");
    }
}

use base64ct::{Base64, Base64Url, Base64UrlUnpadded, Encoding as _};
use serde::{Deserialize, Serialize};

use super::{PasskeyAssertion, PublicKey, Signer};

/// A signed text (DSSE, version 1). Unknown fields are ignored, as DSSE demands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DsseEnvelope {
    /// The text, in base64.
    pub payload: String,
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    pub signatures: Vec<EnvelopeSignature>,
}

/// A signature in an envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeSignature {
    /// The id of the key; a hint that proves nothing.
    #[serde(default)]
    pub keyid: String,
    /// The signature, in base64.
    pub sig: String,
    /// The texts a passkey signed; absent: the signature is over the bytes themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passkey: Option<PasskeyAssertion>,
}

/// The reason why an envelope is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The text is not an envelope.
    #[error("not a DSSE envelope")]
    NoEnvelope,
    /// The payload is of another type.
    #[error("unexpected payload type in the envelope")]
    OtherType,
    /// No signature is by the key.
    #[error("the envelope has no signature by this key")]
    NotSigned,
}

/// Returns the bytes to sign: the text and its type, each with its length.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

impl DsseEnvelope {
    /// Signs a text.
    pub fn seal(payload_type: &str, payload: &[u8], signer: &Signer) -> Self {
        Self {
            payload: Base64::encode_string(payload),
            payload_type: payload_type.into(),
            signatures: vec![EnvelopeSignature::of(signer, &pae(payload_type, payload))],
        }
    }

    /// Signs the same text with one more key.
    pub fn add_signature(&mut self, signer: &Signer) -> Result<(), EnvelopeError> {
        let signed = self.signed()?;
        self.signatures.push(EnvelopeSignature::of(signer, &signed));
        Ok(())
    }

    pub fn parse(text: &str) -> Result<Self, EnvelopeError> {
        serde_json::from_str(text).map_err(|_| EnvelopeError::NoEnvelope)
    }

    /// Returns the text, if it has this type and the key signed it.
    pub fn open(&self, payload_type: &str, key: &PublicKey) -> Result<Vec<u8>, EnvelopeError> {
        if self.payload_type != payload_type {
            return Err(EnvelopeError::OtherType);
        }
        let payload = self.unverified()?;
        let signed = pae(payload_type, &payload);
        let by_key = |signature: &EnvelopeSignature| signature.is_by(key, &signed);
        if self.signatures.iter().any(by_key) { Ok(payload) } else { Err(EnvelopeError::NotSigned) }
    }

    /// Returns the text without verification. It proves nothing.
    pub fn unverified(&self) -> Result<Vec<u8>, EnvelopeError> {
        decoded(&self.payload).ok_or(EnvelopeError::NoEnvelope)
    }

    /// True if its texts are encoded as [`DsseEnvelope::seal`] encodes them, for envelopes that must
    /// have only one form.
    pub fn is_standard(&self) -> bool {
        let assertions = self.signatures.iter().filter_map(|signature| signature.passkey.as_ref());
        let assertions = assertions.flat_map(|one| [&one.authenticator_data, &one.client_data]);
        let signatures = self.signatures.iter().map(|signature| &signature.sig);
        let mut texts = signatures.chain([&self.payload]).chain(assertions);
        texts.all(|text| Base64::decode_vec(text).is_ok())
    }

    /// Returns the bytes every signature is over.
    pub fn signed(&self) -> Result<Vec<u8>, EnvelopeError> {
        Ok(pae(&self.payload_type, &self.unverified()?))
    }
}

impl EnvelopeSignature {
    fn of(signer: &Signer, signed: &[u8]) -> Self {
        let sig = Base64::encode_string(&signer.sign(signed));
        Self { keyid: signer.public().id().to_string(), sig, passkey: None }
    }

    /// True if a key made it, over these bytes.
    pub fn is_by(&self, key: &PublicKey, signed: &[u8]) -> bool {
        self.bytes().is_some_and(|bytes| key.has_signed(signed, &bytes))
    }

    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        decoded(&self.sig)
    }
}

/// Returns the bytes of a base64 text, in the standard or the URL-safe alphabet: a verifier must
/// accept both.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let standard = Base64::decode_vec(text);
    let safe = standard.or_else(|_| Base64Url::decode_vec(text));
    safe.or_else(|_| Base64UrlUnpadded::decode_vec(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::{DsseEnvelope, EnvelopeError, pae};
    use crate::Signer;

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
        -----END PRIVATE KEY-----\n";

    #[test]
    fn what_is_signed_is_what_the_standard_says() {
        let bytes = pae("http://example.com/HelloWorld", b"hello world");
        let expected = "DSSEv1 29 http://example.com/HelloWorld 11 hello world";
        assert_eq!(bytes, expected.as_bytes());
    }

    #[test]
    fn envelopes_of_others_are_read_as_the_standard_demands() {
        use base64ct::{Base64Url, Base64UrlUnpadded, Encoding as _};
        let signer = Signer::from_pem(KEY).unwrap();
        let text = "{\"a\":\"???>>>~~~\"}".as_bytes();
        let sealed = DsseEnvelope::seal("type", text, &signer);
        let of = |encode: fn(&[u8]) -> String| {
            let signature = signer.sign(&pae("type", text));
            let mut other = sealed.clone();
            other.payload = encode(text);
            other.signatures[0].sig = encode(&signature);
            other
        };
        for other in [of(Base64Url::encode_string), of(Base64UrlUnpadded::encode_string)] {
            assert_ne!(other, sealed);
            assert!(!other.is_standard());
            assert_eq!(other.open("type", &signer.public()).unwrap(), text);
        }
        assert!(sealed.is_standard());
        let said = serde_json::to_string(&sealed).unwrap();
        let more = said.replacen('{', "{\"more\":1,", 1);
        let more = more.replacen("{\"keyid", "{\"cert\":\"x\",\"keyid", 1);
        assert_eq!(DsseEnvelope::parse(&more), Ok(sealed));
    }

    #[test]
    fn two_may_sign_the_same_text() {
        let one = Signer::from_pem(KEY).unwrap();
        let other = Signer::from_bytes(&[5; 32]);
        let mut sealed = DsseEnvelope::seal("type", b"text", &one);
        sealed.add_signature(&other).unwrap();
        for signer in [one, other] {
            assert_eq!(sealed.open("type", &signer.public()).unwrap(), b"text");
        }
        let third = Signer::from_bytes(&[6; 32]).public();
        assert_eq!(sealed.open("type", &third), Err(EnvelopeError::NotSigned));
    }

    #[test]
    fn an_envelope_opens_only_as_it_was_sealed() {
        let signer = Signer::from_pem(KEY).unwrap();
        let sealed = DsseEnvelope::seal("type", b"text", &signer);
        let key = signer.public();
        let text = serde_json::to_string(&sealed).unwrap();
        let read = DsseEnvelope::parse(&text).unwrap();
        assert_eq!(read, sealed);
        assert_eq!(read.open("type", &key).unwrap(), b"text");
        assert_eq!(read.open("other", &key), Err(EnvelopeError::OtherType));
        let mut other = sealed.clone();
        other.payload = "dGV4VA==".into();
        assert_eq!(other.open("type", &key), Err(EnvelopeError::NotSigned));
        other.payload = "dGV4dB==".into();
        assert_eq!(other.open("type", &key), Err(EnvelopeError::NoEnvelope));
        other = sealed.clone();
        other.signatures.clear();
        assert_eq!(other.open("type", &key), Err(EnvelopeError::NotSigned));
        other = sealed;
        other.signatures[0].keyid = "another".into();
        assert!(other.open("type", &key).is_ok());
        assert_eq!(DsseEnvelope::parse("{}"), Err(EnvelopeError::NoEnvelope));
        assert_eq!(DsseEnvelope::parse("[]"), Err(EnvelopeError::NoEnvelope));
    }
}

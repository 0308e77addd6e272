use base64ct::{Base64, Base64Url, Base64UrlUnpadded, Encoding as _};
use serde::{Deserialize, Serialize};

use super::{PublicKey, Signer};

/// A signed text (DSSE, version 1). Fields that DSSE does not have are ignored, as it demands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// The text, in base64.
    pub payload: String,
    /// What the text is.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// Who signed it.
    pub signatures: Vec<Signature>,
}

/// A signature in an envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The id of the key; a hint that proves nothing.
    #[serde(default)]
    pub keyid: String,
    /// The signature, in base64.
    pub sig: String,
}

/// Why an envelope says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSealed {
    /// It is no envelope.
    #[error("this is no DSSE envelope")]
    NoEnvelope,
    /// The text in it is something else.
    #[error("the envelope holds something else than what was expected")]
    OtherType,
    /// No signature in it is by the key.
    #[error("no signature in the envelope is by this key")]
    NotSigned,
}

/// What is signed: the text and its type, each with its length.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    );
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

impl Envelope {
    /// Signs a text.
    pub fn seal(payload_type: &str, payload: &[u8], signer: &Signer) -> Self {
        Self {
            payload: Base64::encode_string(payload),
            payload_type: payload_type.into(),
            signatures: vec![Signature::of(signer, &pae(payload_type, payload))],
        }
    }

    /// Signs the same text with one more key.
    pub fn seal_too(&mut self, signer: &Signer) -> Result<(), NotSealed> {
        let signed = pae(&self.payload_type, &self.unverified()?);
        self.signatures.push(Signature::of(signer, &signed));
        Ok(())
    }

    /// Reads an envelope.
    pub fn parse(text: &str) -> Result<Self, NotSealed> {
        serde_json::from_str(text).map_err(|_| NotSealed::NoEnvelope)
    }

    /// The text, if it is of a type and a key signed it.
    pub fn open(&self, payload_type: &str, key: &PublicKey) -> Result<Vec<u8>, NotSealed> {
        if self.payload_type != payload_type {
            return Err(NotSealed::OtherType);
        }
        let payload = self.unverified()?;
        let signed = pae(payload_type, &payload);
        let by_key = |signature: &Signature| signature.is_by(key, &signed);
        if self.signatures.iter().any(by_key) {
            Ok(payload)
        } else {
            Err(NotSealed::NotSigned)
        }
    }

    /// The text, whoever signed it. It proves nothing.
    pub fn unverified(&self) -> Result<Vec<u8>, NotSealed> {
        decoded(&self.payload).ok_or(NotSealed::NoEnvelope)
    }

    /// Whether its texts are encoded as [`Envelope::seal`] encodes them: of what is read back in
    /// one form only.
    pub fn is_standard(&self) -> bool {
        let signatures = self.signatures.iter().map(|signature| &signature.sig);
        let mut texts = signatures.chain([&self.payload]);
        texts.all(|text| Base64::decode_vec(text).is_ok())
    }

    /// The bytes that every signature in it is of.
    pub fn signed(&self) -> Result<Vec<u8>, NotSealed> {
        Ok(pae(&self.payload_type, &self.unverified()?))
    }
}

impl Signature {
    fn of(signer: &Signer, signed: &[u8]) -> Self {
        Self {
            keyid: signer.public().id().to_string(),
            sig: Base64::encode_string(&signer.sign(signed)),
        }
    }

    /// Whether a key made it, of these bytes.
    pub fn is_by(&self, key: &PublicKey, signed: &[u8]) -> bool {
        let bytes = decoded(&self.sig);
        bytes.is_some_and(|bytes| key.has_signed(signed, &bytes))
    }
}

/// The bytes of a text in base64, of the standard or the URL-safe alphabet: a verifier must take
/// both.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let standard = Base64::decode_vec(text);
    let safe = standard.or_else(|_| Base64Url::decode_vec(text));
    safe.or_else(|_| Base64UrlUnpadded::decode_vec(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::{Envelope, NotSealed, pae};
    use crate::seal::Signer;

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
        let sealed = Envelope::seal("type", text, &signer);
        let of = |encode: fn(&[u8]) -> String| {
            let signature = signer.sign(&pae("type", text));
            let mut other = sealed.clone();
            other.payload = encode(text);
            other.signatures[0].sig = encode(&signature);
            other
        };
        for other in [
            of(Base64Url::encode_string),
            of(Base64UrlUnpadded::encode_string),
        ] {
            assert_ne!(other, sealed);
            assert!(!other.is_standard());
            assert_eq!(other.open("type", &signer.public()).unwrap(), text);
        }
        assert!(sealed.is_standard());
        let said = serde_json::to_string(&sealed).unwrap();
        let more = said.replacen('{', "{\"more\":1,", 1);
        let more = more.replacen("{\"keyid", "{\"cert\":\"x\",\"keyid", 1);
        assert_eq!(Envelope::parse(&more), Ok(sealed));
    }

    #[test]
    fn two_may_sign_the_same_text() {
        let one = Signer::from_pem(KEY).unwrap();
        let other = Signer::from_bytes(&[5; 32]);
        let mut sealed = Envelope::seal("type", b"text", &one);
        sealed.seal_too(&other).unwrap();
        for signer in [one, other] {
            assert_eq!(sealed.open("type", &signer.public()).unwrap(), b"text");
        }
        let third = Signer::from_bytes(&[6; 32]).public();
        assert_eq!(sealed.open("type", &third), Err(NotSealed::NotSigned));
    }

    #[test]
    fn an_envelope_opens_only_as_it_was_sealed() {
        let signer = Signer::from_pem(KEY).unwrap();
        let sealed = Envelope::seal("type", b"text", &signer);
        let key = signer.public();
        let text = serde_json::to_string(&sealed).unwrap();
        let read = Envelope::parse(&text).unwrap();
        assert_eq!(read, sealed);
        assert_eq!(read.open("type", &key).unwrap(), b"text");
        assert_eq!(read.open("other", &key), Err(NotSealed::OtherType));
        let mut other = sealed.clone();
        other.payload = "dGV4VA==".into();
        assert_eq!(other.open("type", &key), Err(NotSealed::NotSigned));
        other.payload = "dGV4dB==".into();
        assert_eq!(other.open("type", &key), Err(NotSealed::NoEnvelope));
        other = sealed.clone();
        other.signatures.clear();
        assert_eq!(other.open("type", &key), Err(NotSealed::NotSigned));
        other = sealed;
        other.signatures[0].keyid = "another".into();
        assert!(other.open("type", &key).is_ok());
        assert_eq!(Envelope::parse("{}"), Err(NotSealed::NoEnvelope));
        assert_eq!(Envelope::parse("[]"), Err(NotSealed::NoEnvelope));
    }
}

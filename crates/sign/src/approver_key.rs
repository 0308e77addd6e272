use serde::{Deserialize, Serialize};

use super::key::BadKey;
use super::{EnvelopeSignature, Passkey, PublicKey};
use wf_base::digest::Sha256Digest;

/// A public key of an approver, written as its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ApproverKey {
    /// An Ed25519 key: of a file, or of a browser.
    Ed25519(PublicKey),
    /// A passkey, whose device recognises its user for every signature.
    Passkey(Passkey),
}

impl TryFrom<String> for ApproverKey {
    type Error = BadKey;

    fn try_from(text: String) -> Result<Self, BadKey> {
        Self::parse(&text)
    }
}

impl From<ApproverKey> for String {
    fn from(key: ApproverKey) -> Self {
        key.text()
    }
}

impl ApproverKey {
    /// Reads 64 hexadecimal digits, or `passkey:HOST:DIGITS`.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        if Passkey::is_one(text) {
            return Passkey::parse(text).map(Self::Passkey);
        }
        PublicKey::from_hex(text).map(Self::Ed25519)
    }

    /// Returns its text form.
    pub fn text(&self) -> String {
        match self {
            Self::Ed25519(key) => key.hex(),
            Self::Passkey(passkey) => passkey.text(),
        }
    }

    /// Returns the SHA-256 of its DER form.
    pub fn id(&self) -> Sha256Digest {
        match self {
            Self::Ed25519(key) => key.id(),
            Self::Passkey(passkey) => passkey.id(),
        }
    }

    pub fn is_passkey(&self) -> bool {
        matches!(self, Self::Passkey(_))
    }

    /// True if it made a signature over these bytes.
    pub fn has_made(&self, signature: &EnvelopeSignature, signed: &[u8]) -> bool {
        match (self, &signature.passkey) {
            (Self::Ed25519(key), None) => signature.is_by(key, signed),
            (Self::Passkey(passkey), Some(assertion)) => {
                signature.bytes().is_some_and(|bytes| passkey.has_signed(signed, &bytes, assertion))
            }
            _ => false,
        }
    }
}

impl From<PublicKey> for ApproverKey {
    fn from(key: PublicKey) -> Self {
        Self::Ed25519(key)
    }
}

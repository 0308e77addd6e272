use ed25519_dalek::{
    VerifyingKey,
    pkcs8::{DecodePublicKey as _, EncodePublicKey as _, spki::der::pem::LineEnding},
};
use serde::{Deserialize, Serialize};

use crate::{EnvelopeSignature, Passkey};
use wf_base::digest::Sha256Digest;

/// A public key verifying signatures of its private key.
///
/// **Invariant:** it is in its only canonical form, and is not one of the eight weak keys under
/// which anyone can sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// The reason why a text is not a usable key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    #[error("the private key is encrypted")]
    Encrypted,
    /// The passphrase is wrong, or the file is damaged.
    #[error("wrong passphrase for the private key")]
    Passphrase,
    /// The text is not a private key, or one of another kind.
    #[error("not an Ed25519 private key in PEM format (PKCS #8)")]
    Private,
    /// The text is not a public key, or one of another kind.
    #[error("not an Ed25519 public key in PEM format")]
    Public,
    /// The text is not the 64 digits of a public key.
    #[error("a public key must be 64 hexadecimal digits")]
    Digits,
    /// The text is not a passkey.
    #[error("a passkey must be `passkey:HOST:` and 130 hexadecimal digits, which begin with 04")]
    Passkey,
    /// The digits are not a point of the curve, or not in canonical form.
    #[error("not a valid Ed25519 public key")]
    NoPoint,
    /// The key is weak: any signature could be forged under it.
    #[error("weak public key: its signatures prove nothing")]
    Weak,
}

impl PublicKey {
    pub(super) fn of(key: VerifyingKey) -> Self {
        Self(key)
    }

    /// Reads a public key, as `openssl pkey -pubout` writes it.
    pub fn from_pem(pem: &str) -> Result<Self, BadKey> {
        let key = VerifyingKey::from_public_key_pem(pem.trim()).map_err(|_| BadKey::Public)?;
        Self::reject_weak(key)
    }

    /// Reads the 32 bytes of a public key, written as 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self, BadKey> {
        let bytes = unhex(text).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let key = VerifyingKey::from_bytes(&bytes.ok_or(BadKey::Digits)?);
        Self::reject_weak(key.map_err(|_| BadKey::NoPoint)?)
    }

    fn reject_weak(key: VerifyingKey) -> Result<Self, BadKey> {
        if key.is_weak() {
            return Err(BadKey::Weak);
        }
        // A point in another form would have another id.
        if key.to_edwards().compress().as_bytes() != key.as_bytes() {
            return Err(BadKey::NoPoint);
        }
        Ok(Self(key))
    }

    /// Returns the SHA-256 of its DER form: `openssl pkey -pubin -outform DER | sha256sum`.
    pub fn id(&self) -> Sha256Digest {
        let der = self.0.to_public_key_der();
        Sha256Digest::of_bytes(der.as_ref().map_or(&[], |der| der.as_bytes()))
    }

    /// True if its private key signed these bytes. Strict: a signature has one form only, and no
    /// part of it is a point of small order.
    pub fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        let signature = ed25519_dalek::Signature::from_slice(signature);
        signature.is_ok_and(|signature| self.0.verify_strict(bytes, &signature).is_ok())
    }

    /// Returns its PEM form.
    pub fn pem(&self) -> String {
        self.0.to_public_key_pem(LineEnding::LF).unwrap_or_default()
    }

    /// Returns its 32 bytes as 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        hex(self.0.as_bytes())
    }
}

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

/// Returns bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes of hexadecimal digits of either case; `None` if the text is anything else. The
/// caller checks the length.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let byte = |pair: &[u32]| u8::try_from(pair.first()? * 16 + pair.get(1)?).ok();
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::{BadKey, PublicKey, hex, unhex};
    use crate::Signer;

    /// The first test vector of RFC 8032, section 7.1.
    const SEED: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
    -----END PRIVATE KEY-----\n";

    #[test]
    fn signs_as_the_standard_says() {
        let signer = Signer::from_pem(SEED).unwrap();
        let public = signer.public();
        let signature = signer.sign(b"");
        let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
         5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        );
        assert!(public.has_signed(b"", &signature));
        assert!(!public.has_signed(b"x", &signature));
        let again = PublicKey::from_pem(&public.pem()).unwrap();
        assert_eq!(again, public);
        assert_eq!(again.id().to_string().len(), 64);
        assert!(!format!("{signer:?}").contains("9d61"));
        let hex = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(public.hex(), hex);
        assert_eq!(PublicKey::from_hex(hex), Ok(public));
    }

    #[test]
    fn refuses_what_is_no_key() {
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n-----END ENCRYPTED PRIVATE KEY-----";
        assert_eq!(Signer::from_pem(encrypted).err(), Some(BadKey::Encrypted));
        assert_eq!(Signer::from_pem("").err(), Some(BadKey::Private));
        assert_eq!(PublicKey::from_pem(SEED).err(), Some(BadKey::Public));
        // The neutral point: any signature under it is valid.
        let weak = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\
        -----END PUBLIC KEY-----";
        assert_eq!(PublicKey::from_pem(weak).err(), Some(BadKey::Weak));
        let ones = "f".repeat(62);
        for (hex, bad) in [
            ("", BadKey::Digits),
            (&"g".repeat(64), BadKey::Digits),
            (&"0".repeat(62), BadKey::Digits),
            (&"0".repeat(64), BadKey::Weak),
            // No point has this height.
            (&format!("02{}", "0".repeat(62)), BadKey::NoPoint),
            // Three, written as itself plus the prime.
            (&format!("f0{}7f", &ones[..60]), BadKey::NoPoint),
        ] {
            assert_eq!(PublicKey::from_hex(hex).err(), Some(bad), "{hex}");
        }
        assert!(PublicKey::from_hex(&format!("03{}", "0".repeat(62))).is_ok());
    }

    #[test]
    fn a_changed_signature_does_not_hold() {
        let signer = Signer::from_pem(SEED).unwrap();
        let mut signature = signer.sign(b"text");
        for at in 0..64 {
            signature[at] ^= 1;
            assert!(!signer.public().has_signed(b"text", &signature));
            signature[at] ^= 1;
        }
        assert!(!signer.public().has_signed(b"text", &signature[..63]));
    }

    #[test]
    fn digits_are_bytes_and_nothing_else_is() {
        assert_eq!(unhex("00fFa0"), Some(vec![0, 255, 160]));
        assert_eq!(unhex(""), Some(Vec::new()));
        for wrong in ["0", "0x", "+f", " 00", "é0", "00\n"] {
            assert_eq!(unhex(wrong), None, "{wrong:?}");
        }
        assert_eq!(hex(&[0, 255, 160]), "00ffa0");
    }
}

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePublicKey as _, EncodePublicKey as _};

use super::hex::{hex, unhex};
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

#[cfg(test)]
mod tests {
    use super::{BadKey, PublicKey};
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
}

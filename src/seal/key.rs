use std::fmt;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _, EncodePublicKey as _};
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};

use crate::digest::Digest;

/// A private key that signs. It is wiped from memory when it is dropped.
pub struct Signer(SigningKey);

/// A public key that tells whether its private key signed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// Why a text is no key that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// It is encrypted.
    #[error("the private key is encrypted")]
    Encrypted,
    /// It is no private key, or of another kind.
    #[error("this is no Ed25519 private key in PEM form (PKCS #8)")]
    Private,
    /// It is no public key, or of another kind.
    #[error("this is no Ed25519 public key in PEM form")]
    Public,
    /// Anything could be said to be signed by it.
    #[error("this public key is weak: it proves nothing")]
    Weak,
}

impl Signer {
    /// Reads an unencrypted private key, as `openssl genpkey -algorithm ed25519` writes it.
    pub fn from_pem(pem: &str) -> Result<Self, BadKey> {
        if pem.contains("ENCRYPTED") {
            return Err(BadKey::Encrypted);
        }
        let key = SigningKey::from_pkcs8_pem(pem.trim()).map_err(|_| BadKey::Private)?;
        Ok(Self(key))
    }

    /// The signature of some bytes.
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }

    /// The key that others check with.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }
}

/// Whose key it is, and nothing of the key.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.public().id())
    }
}

impl PublicKey {
    /// Reads a public key, as `openssl pkey -pubout` writes it.
    pub fn from_pem(pem: &str) -> Result<Self, BadKey> {
        let key = VerifyingKey::from_public_key_pem(pem.trim()).map_err(|_| BadKey::Public)?;
        if key.is_weak() {
            return Err(BadKey::Weak);
        }
        Ok(Self(key))
    }

    /// Reads a public key of 64 hexadecimal digits.
    pub fn from_hex(hex: &str) -> Result<Self, BadKey> {
        let bytes: Digest = hex.parse().map_err(|_| BadKey::Public)?;
        let key = VerifyingKey::from_bytes(bytes.bytes()).map_err(|_| BadKey::Public)?;
        if key.is_weak() {
            return Err(BadKey::Weak);
        }
        Ok(Self(key))
    }

    /// SHA-256 of its DER form, as `openssl pkey -pubin -outform DER | sha256sum` tells it.
    pub fn id(&self) -> Digest {
        let der = self.0.to_public_key_der();
        Digest::of(der.as_ref().map_or(&[], |der| der.as_bytes()))
    }

    /// Whether its private key signed these bytes. Strict: of a signature there is one form only.
    pub fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        let signature = ed25519_dalek::Signature::from_slice(signature);
        signature.is_ok_and(|signature| self.0.verify_strict(bytes, &signature).is_ok())
    }

    /// Its PEM form.
    pub fn pem(&self) -> String {
        self.0.to_public_key_pem(LineEnding::LF).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{BadKey, PublicKey, Signer};

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
    }

    #[test]
    fn refuses_what_is_no_key() {
        let encrypted =
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\n-----END ENCRYPTED PRIVATE KEY-----";
        assert_eq!(Signer::from_pem(encrypted).err(), Some(BadKey::Encrypted));
        assert_eq!(Signer::from_pem("").err(), Some(BadKey::Private));
        assert_eq!(PublicKey::from_pem(SEED).err(), Some(BadKey::Public));
        // The neutral point: signatures under it hold for everything.
        let weak = "-----BEGIN PUBLIC KEY-----\n\
            MCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\
            -----END PUBLIC KEY-----";
        assert_eq!(PublicKey::from_pem(weak).err(), Some(BadKey::Weak));
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

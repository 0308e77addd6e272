use std::fmt;

use ed25519_dalek::{
    Signer as _, SigningKey,
    pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, Error, KeypairBytes, SecretDocument},
};
use pkcs8::{
    PrivateKeyInfoRef,
    der::{pem::LineEnding, zeroize::Zeroizing},
    pkcs5::{pbes2::Parameters, scrypt::Params},
};

use super::{BadKey, PublicKey};

/// The label of an unencrypted private key in PEM form.
const PLAIN: &str = "PRIVATE KEY";

/// The label of an encrypted private key in PEM form.
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";

/// The cost of trying a passphrase: 16 MiB, five times over. OpenSSL reads it without being told to
/// take more memory.
const SCRYPT: (u8, u32, u32) = (14, 8, 5);

/// A text with a private key, wiped from memory when it is dropped.
pub type PrivateKeyText = Zeroizing<String>;

/// The random bytes an encryption needs.
#[derive(Clone, Copy, Debug)]
pub struct KeyEncryptionSalt {
    /// The salt of the passphrase.
    pub salt: [u8; 16],
    /// The initialization vector of the cipher.
    pub start: [u8; 16],
}

/// A private key that signs. It is wiped from memory when it is dropped.
pub struct Signer(SigningKey);

impl Signer {
    /// Makes the key of these random bytes.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(bytes))
    }

    /// Reads an unencrypted private key, as `openssl genpkey -algorithm ed25519` writes it.
    pub fn from_pem(pem: &str) -> Result<Self, BadKey> {
        if pem.contains(ENCRYPTED) {
            return Err(BadKey::Encrypted);
        }
        let key = SigningKey::from_pkcs8_pem(pem.trim()).map_err(|_| BadKey::Private)?;
        Ok(Self(key))
    }

    /// Reads an encrypted private key (PKCS #8 with PBES2).
    pub fn from_encrypted_pem(pem: &str, passphrase: &str) -> Result<Self, BadKey> {
        let read = SigningKey::from_pkcs8_encrypted_pem(pem.trim(), passphrase);
        read.map(Self).map_err(|error| match error {
            Error::EncryptedPrivateKey(_) | Error::KeyMalformed(_) => BadKey::Passphrase,
            Error::Asn1(_) if pem.contains(ENCRYPTED) => BadKey::Passphrase,
            _ => BadKey::Private,
        })
    }

    /// Returns the private key as `openssl` reads it (PKCS #8), not encrypted.
    pub fn to_pem(&self) -> Result<PrivateKeyText, BadKey> {
        let document = self.document()?;
        document.to_pem(PLAIN, LineEnding::LF).map_err(|_| BadKey::Private)
    }

    /// Returns the private key encrypted under a passphrase (PBES2 with scrypt and AES-256), as
    /// `openssl` reads it.
    pub fn to_encrypted_pem(
        &self,
        passphrase: &str,
        salt: &KeyEncryptionSalt,
    ) -> Result<PrivateKeyText, BadKey> {
        let document = self.document()?;
        let (cost, block, times) = SCRYPT;
        let scrypt = Params::new(cost, block, times).map_err(|_| BadKey::Private)?;
        let scheme = Parameters::generate_scrypt_aes256cbc(scrypt, &salt.salt, salt.start);
        let scheme = scheme.map_err(|_| BadKey::Private)?;
        let encrypted = PrivateKeyInfoRef::try_from(document.as_bytes())
            .and_then(|key| key.encrypt_with_params(scheme, passphrase));
        let encrypted = encrypted.map_err(|_| BadKey::Private)?;
        encrypted.to_pem(ENCRYPTED, LineEnding::LF).map_err(|_| BadKey::Private)
    }

    /// Returns the oldest form, without the public key: every tool reads it.
    fn document(&self) -> Result<SecretDocument, BadKey> {
        let key = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        key.to_pkcs8_der().map_err(|_| BadKey::Private)
    }

    /// Returns the signature of some bytes.
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }

    /// Returns the key verifying its signatures.
    pub fn public(&self) -> PublicKey {
        PublicKey::of(self.0.verifying_key())
    }
}

/// Shows the id of the key, and nothing of the private key.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.public().id())
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyEncryptionSalt, Signer};
    use crate::BadKey;

    const SALT: KeyEncryptionSalt = KeyEncryptionSalt { salt: [7; 16], start: [9; 16] };

    #[test]
    fn a_written_key_is_read_again() {
        let signer = Signer::from_bytes(&[3; 32]);
        let pem = signer.to_pem().unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"));
        let again = Signer::from_pem(&pem).unwrap();
        assert_eq!(again.public(), signer.public());
        assert_eq!(again.sign(b"x"), signer.sign(b"x"));
    }

    #[test]
    fn an_encrypted_key_is_read_with_its_passphrase_alone() {
        let signer = Signer::from_bytes(&[3; 32]);
        let pem = signer.to_encrypted_pem("correct horse", &SALT).unwrap();
        assert!(pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
        assert_eq!(Signer::from_pem(&pem).err(), Some(BadKey::Encrypted));
        let again = Signer::from_encrypted_pem(&pem, "correct horse").unwrap();
        assert_eq!(again.public(), signer.public());
        for wrong in ["", "correct hors", "Correct horse"] {
            let read = Signer::from_encrypted_pem(&pem, wrong);
            assert_eq!(read.err(), Some(BadKey::Passphrase), "{wrong}");
        }
        let plain = signer.to_pem().unwrap();
        let read = Signer::from_encrypted_pem(&plain, "x");
        assert_eq!(read.err(), Some(BadKey::Private));
    }
}

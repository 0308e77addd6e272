//! SHA-256, so a digest can be checked with `sha256sum`.
//!
//! **Invariant:** the text of a digest is 64 lower-case hexadecimal digits, everywhere.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};

use crate::{inline_schema, text_form};

/// The SHA-256 of some bytes, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; 32]);

impl Sha256Digest {
    /// Digests bytes in memory.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Digests a list of parts, each preceded by its length, so no two lists of parts share a digest by
    /// joining differently.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Digests the content of a reader, in bounded memory.
    pub fn of_reader(mut reader: impl std::io::Read) -> std::io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(Self(hasher.finalize().into())),
                n => hasher.update(buffer.get(..n).unwrap_or(&[])),
            }
        }
    }

    /// Digests bytes that come in chunks, as if they were joined.
    pub fn of_chunks(chunks: impl IntoIterator<Item = std::io::Result<Vec<u8>>>) -> std::io::Result<Self> {
        let mut hasher = Sha256::new();
        for chunk in chunks {
            hasher.update(chunk?);
        }
        Ok(Self(hasher.finalize().into()))
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The number of digits that distinguish two digests by eye.
    pub const SHORT: usize = 12;

    /// Returns the first twelve digits, enough to distinguish two by eye.
    pub fn short(&self) -> String {
        self.to_string().chars().take(Self::SHORT).collect()
    }
}

impl From<[u8; 32]> for Sha256Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Fast, as every record contains digests: no formatting per digit.
        let digit = |nibble: u8| b"0123456789abcdef".get(usize::from(nibble)).copied();
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            let digits = [digit(byte >> 4), digit(byte & 15)].map(Option::unwrap_or_default);
            pair.copy_from_slice(&digits);
        }
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// An error for a text that is not a digest.
#[derive(Debug, thiserror::Error)]
#[error("a digest is 64 lower-case hexadecimal digits")]
pub struct ParseDigestError;

impl FromStr for Sha256Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let mut bytes = [0; 32];
        // A digest has a single form: any other text is not the one that was written.
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 64 || !text.bytes().all(digit) {
            return Err(ParseDigestError);
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            let pair = text.get(2 * at..2 * at + 2).ok_or(ParseDigestError)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| ParseDigestError)?;
        }
        Ok(Self(bytes))
    }
}

text_form!(Sha256Digest);

inline_schema!(Sha256Digest, "Digest", { "type": "string", "pattern": "^[0-9a-f]{64}$" });

#[cfg(test)]
mod tests {
    use super::Sha256Digest;

    #[test]
    fn agrees_with_sha256sum() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Sha256Digest::of_bytes(b"").to_string(), empty);
        assert_eq!(empty.parse::<Sha256Digest>().unwrap(), Sha256Digest::of_bytes(b""));
        assert_eq!(Sha256Digest::of_reader(&b"abc"[..]).unwrap(), Sha256Digest::of_bytes(b"abc"));
    }

    #[test]
    fn parts_do_not_run_together() {
        let a = Sha256Digest::of_parts([&b"ab"[..], b"c"]);
        let b = Sha256Digest::of_parts([&b"a"[..], b"bc"]);
        assert_ne!(a, b);
    }

    #[test]
    fn refuses_what_is_no_digest() {
        for text in ["", "e3", &"é".repeat(32), &"g".repeat(64)] {
            assert!(text.parse::<Sha256Digest>().is_err(), "{text}");
        }
    }
}

use std::fmt;
use std::hint::black_box;

/// The token by which a program may call models, for as long as its attempt lasts. Nothing shows it.
#[derive(Clone)]
pub struct ClientToken(String);

/// The system has no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read random bytes from the system: {0}")]
pub struct NoRandomBytes(#[from] getrandom::Error);

impl ClientToken {
    /// Makes a token of 256 random bits.
    pub fn random() -> Result<Self, NoRandomBytes> {
        Ok(Self(random_hex::<32>()?))
    }

    /// Returns the token, for the environment of the program.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True if a text is the token. It takes as long for any text of the same length, so that nothing can be guessed
    /// piece by piece.
    pub(super) fn is(&self, text: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), text.as_bytes());
        let differences = own.iter().zip(other).fold(0, |all, (one, two)| black_box(all | (one ^ two)));
        own.len() == other.len() && differences == 0
    }
}

impl fmt::Debug for ClientToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientToken([token])")
    }
}

/// Returns random bytes as hexadecimal digits.
pub(super) fn random_hex<const COUNT: usize>() -> Result<String, NoRandomBytes> {
    let mut bytes = [0; COUNT];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

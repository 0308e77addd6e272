/// The fewest characters masked.
pub const SHORTEST: usize = 6;

/// The least entropy of a masked text, in bits: the number of its letters times the entropy of
/// their frequencies.
const LEAST_BITS: f64 = 12.0;

/// Words that are common in logs, in lower case. Masking one would reveal it, by the gaps
/// everywhere.
const EVERYDAY: &[&str] = &[
    "changeme",
    "company",
    "database",
    "default",
    "description",
    "development",
    "disabled",
    "docker",
    "enabled",
    "example",
    "failed",
    "github",
    "google",
    "localhost",
    "manager",
    "master",
    "number",
    "object",
    "passphrase",
    "password",
    "postgres",
    "private",
    "production",
    "public",
    "release",
    "secret",
    "server",
    "service",
    "staging",
    "string",
    "success",
    "system",
    "testing",
    "undefined",
    "unknown",
    "username",
    "version",
    "windows",
];

/// The reason why a text cannot be masked without blanking the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretWeakness {
    /// Fewer than [`SHORTEST`] characters.
    Short,
    /// The same few characters over and over.
    Repetitive,
    /// A word that occurs in many logs anyway.
    Everyday,
}

impl std::fmt::Display for SecretWeakness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => write!(f, "it is shorter than {SHORTEST} characters"),
            Self::Repetitive => f.write_str("it repeats the same few characters"),
            Self::Everyday => f.write_str("it is a common word"),
        }
    }
}

/// Returns the reason why a text is too weak to be masked, if it is.
pub fn weakness(text: &str) -> Option<SecretWeakness> {
    let text = text.trim();
    if text.chars().nth(SHORTEST - 1).is_none() {
        Some(SecretWeakness::Short)
    } else if EVERYDAY.binary_search(&text.to_lowercase().as_str()).is_ok() {
        Some(SecretWeakness::Everyday)
    } else if bits(text) < LEAST_BITS {
        Some(SecretWeakness::Repetitive)
    } else {
        None
    }
}

/// Returns the entropy of the bytes of a text by their frequencies.
fn bits(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let all = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|count| **count > 0).map(|count| {
        let count = f64::from(*count);
        count * (all / count).log2()
    });
    shares.sum()
}

#[cfg(test)]
mod tests {
    use super::{EVERYDAY, SecretWeakness, weakness};

    fn check(texts: &[&str], expected: Option<SecretWeakness>) {
        for text in texts {
            assert_eq!(weakness(text), expected, "{text}");
        }
    }

    #[test]
    fn what_logs_are_full_of_is_weak() {
        check(&["", "1", "{", "true", "admin", "0000", " x \n", "äöü"], Some(SecretWeakness::Short));
        check(&["000000", "abababab", "==============", "aaaaaaaaab"], Some(SecretWeakness::Repetitive));
        check(&["password", "Docker", "LOCALHOST\n"], Some(SecretWeakness::Everyday));
    }

    #[test]
    fn what_people_keep_secret_is_not() {
        check(&["foobar", "s3cr3t", "hunter2", "123456", "letmein", "correct-horse"], None);
        check(&["f871b60d0617be19393bb66ea142887fc9621360", "äöüßéè", "john-doe"], None);
    }

    #[test]
    fn words_can_be_searched() {
        assert!(EVERYDAY.is_sorted());
    }
}

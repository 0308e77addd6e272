/// The fewest characters that are masked.
pub const SHORTEST: usize = 6;

/// The least that the letters of a masked text tell together, in bits: their number times the
/// entropy of how often each occurs.
const LEAST_BITS: f64 = 12.0;

/// Words that logs are full of, in lower case. To mask one would tell which it is, by what is
/// missing everywhere.
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

/// Why a text cannot be masked without blanking the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakness {
    /// Fewer than [`SHORTEST`] characters.
    Short,
    /// The same few characters over and over.
    Repetitive,
    /// A word that stands in many logs anyway.
    Everyday,
}

impl std::fmt::Display for Weakness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => write!(f, "it has fewer than {SHORTEST} characters"),
            Self::Repetitive => f.write_str("it repeats the same few characters"),
            Self::Everyday => f.write_str("it is an everyday word"),
        }
    }
}

/// Whether a text is too weak to be masked, and why.
pub fn weakness(text: &str) -> Option<Weakness> {
    let text = text.trim();
    if text.chars().nth(SHORTEST - 1).is_none() {
        Some(Weakness::Short)
    } else if EVERYDAY
        .binary_search(&text.to_lowercase().as_str())
        .is_ok()
    {
        Some(Weakness::Everyday)
    } else if bits(text) < LEAST_BITS {
        Some(Weakness::Repetitive)
    } else {
        None
    }
}

/// What the bytes of a text tell if each is drawn as often as it occurs.
fn bits(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let all = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let told = counts.iter().filter(|count| **count > 0).map(|count| {
        let count = f64::from(*count);
        count * (all / count).log2()
    });
    told.sum()
}

#[cfg(test)]
mod tests {
    use super::{EVERYDAY, Weakness, weakness};

    fn check(texts: &[&str], expected: Option<Weakness>) {
        for text in texts {
            assert_eq!(weakness(text), expected, "{text}");
        }
    }

    #[test]
    fn what_logs_are_full_of_is_weak() {
        check(
            &["", "1", "{", "true", "admin", "0000", " x \n", "äöü"],
            Some(Weakness::Short),
        );
        check(
            &["000000", "abababab", "==============", "aaaaaaaaab"],
            Some(Weakness::Repetitive),
        );
        check(
            &["password", "Docker", "LOCALHOST\n"],
            Some(Weakness::Everyday),
        );
    }

    #[test]
    fn what_people_keep_secret_is_not() {
        check(
            &[
                "foobar",
                "s3cr3t",
                "hunter2",
                "123456",
                "letmein",
                "correct-horse",
            ],
            None,
        );
        check(
            &[
                "f871b60d0617be19393bb66ea142887fc9621360",
                "äöüßéè",
                "john-doe",
            ],
            None,
        );
    }

    #[test]
    fn words_can_be_searched() {
        assert!(EVERYDAY.is_sorted());
    }
}

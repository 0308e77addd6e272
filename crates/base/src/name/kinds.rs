use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{inline_schema, text_form};

/// The maximum length of any name, in bytes.
pub const MAX_NAME: usize = 128;

/// Defines a documented name type over a shared string.
macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $valid:expr, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The regular expression for the form of a name.
            pub const PATTERN: &'static str = $pattern;

            /// Parses a well-formed name.
            pub fn parse(text: &str) -> Result<Self, NameFormatError> {
                let valid: fn(&str) -> bool = $valid;
                if text.len() <= MAX_NAME && valid(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(NameFormatError { pattern: Self::PATTERN })
                }
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameFormatError;

            fn from_str(text: &str) -> Result<Self, NameFormatError> {
                Self::parse(text)
            }
        }

        text_form!($name);

        inline_schema!(
            $name,
            stringify!($name),
            { "type": "string", "pattern": $pattern, "maxLength": MAX_NAME }
        );
    };
}

/// An error for a text that does not have the form of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name here must match {pattern}, with at most {MAX_NAME} characters")]
pub struct NameFormatError {
    /// The required form.
    pub pattern: &'static str,
}

name_type!(
    /// A name usable in expressions: of a step, parameter, output, check or matrix axis.
    Name, is_word, "^[a-z][a-z0-9_]*$"
);
name_type!(
    /// The id of a spec file: lower-case words joined by hyphens.
    PlanId, is_hyphenated, "^[a-z0-9]+(-[a-z0-9]+)*$"
);
name_type!(
    /// The name of a session: lower-case words joined by hyphens.
    SessionName, is_hyphenated, "^[a-z0-9]+(-[a-z0-9]+)*$"
);
name_type!(
    /// The id of a gate: lower-case words joined by hyphens.
    GateId, is_hyphenated, "^[a-z0-9]+(-[a-z0-9]+)*$"
);
name_type!(
    /// The name of an environment variable or of a secret.
    EnvName, is_variable, "^[A-Za-z_][A-Za-z0-9_]*$"
);
name_type!(
    /// The name that identifies a secret of a connection; never its value.
    RefId, is_reference, "^[a-z0-9][a-z0-9_-]*$"
);

fn is_reference(text: &str) -> bool {
    text.starts_with(|c: char| matches!(c, 'a'..='z' | '0'..='9'))
        && text.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-'))
}

name_type!(
    /// The name of a skill: lower-case letters and digits of any script, joined by hyphens, at
    /// most 64 of them.
    SkillName, is_skill, "^[^\\s/._-]+(-[^\\s/._-]+)*$"
);
name_type!(
    /// The name of an argument of a skill's script on the command line.
    ArgName, is_flag, "^[a-z][a-z0-9_-]*$"
);

fn is_skill(text: &str) -> bool {
    let may = |c: char| c.is_alphanumeric() && !c.is_uppercase();
    let words = |word: &str| !word.is_empty() && word.chars().all(may);
    text.chars().count() <= 64 && text.split('-').all(words)
}

fn is_flag(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-'))
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

fn is_hyphenated(text: &str) -> bool {
    text.split('-').all(|word| !word.is_empty() && word.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9')))
}

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The id of a run: 32 lower-case hexadecimal digits, random from the first digit, so a short prefix
/// identifies it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

/// An error for a prefix matching more than one run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{prefix}` is ambiguous: it matches {} runs", among.len())]
pub struct AmbiguousRunError {
    /// The given prefix.
    pub prefix: String,
    /// The matching runs.
    pub among: Vec<RunId>,
}

impl RunId {
    /// Makes an id from random bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// Parses an id read back from the store.
    pub fn from_stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first eight digits, the form shown to users.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }

    /// Returns the id of the nested run an attempt of this run starts: the same attempt always has the same
    /// child, so a restart finds it again.
    #[must_use]
    pub fn child(&self, key: &str) -> Self {
        let digest = crate::digest::Sha256Digest::of_parts([self.0.as_bytes(), key.as_bytes()]);
        Self(digest.to_string().chars().take(32).collect())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

inline_schema!(RunId, "RunId", { "type": "string", "pattern": "^[0-9a-f]{32}$" });

#[cfg(test)]
mod tests {
    use crate::name::kinds::{EnvName, Name, PlanId, RefId};

    #[test]
    fn a_reference_is_a_safe_name_of_a_file() {
        for text in ["token", "refresh-token", "a_1", "7"] {
            assert!(RefId::parse(text).is_ok(), "{text}");
        }
        let long = "a".repeat(super::MAX_NAME + 1);
        for text in ["", ".", "..", ".x", "-x", "a/b", "a.ring", "A", "a b", "ü", &long] {
            assert!(RefId::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_well_formed_names_are_names() {
        for (text, name, plan, env) in [
            ("fetch_data", true, false, true),
            ("fetch-data", false, true, false),
            ("fetch", true, true, true),
            ("Fetch", false, false, true),
            ("2024-report", false, true, false),
            ("a/b", false, false, false),
            ("", false, false, false),
            ("a--b", false, false, false),
            ("über", false, false, false),
        ] {
            assert_eq!(Name::parse(text).is_ok(), name, "name {text}");
            assert_eq!(PlanId::parse(text).is_ok(), plan, "plan {text}");
            assert_eq!(EnvName::parse(text).is_ok(), env, "env {text}");
        }
    }
}

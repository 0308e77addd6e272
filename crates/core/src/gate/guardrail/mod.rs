//! Guardrails: built-in detectors (Silas 5.5.1). The same text always has the same findings, and
//! the time of every detector is bounded by the length of the text.
//!
//! [`find`] returns the findings in a text, [`redact()`] the text without them, and [`apply_guardrail`]
//! the answer of a gate about a value.
//!
//! **Invariant:** the found text is never reported: only its kind, its place and the count.

mod answer;
mod card;
mod detector;
mod email;
mod hidden;
mod iban;
mod injection;
mod secrets;
#[cfg(test)]
mod tests;
mod value;

pub use answer::{GuardrailResult, apply_guardrail, redact};
pub use card::{BRANDS, CardBrand};
pub use detector::{DETECTORS, Detector, DetectorFinding, find, is_detector};
pub use iban::COUNTRIES;
pub use injection::{InjectionMarker, MARKERS};
pub use secrets::{KEYWORDS, SecretTokenKind, TOKENS};

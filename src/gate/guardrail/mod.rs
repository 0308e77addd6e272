//! Guardrails: detectors that are built in (Silas 5.5.1). The same text always has the same
//! findings, and no detector takes longer than a text is long.
//!
//! [`find`] gives what detectors see in a text, [`redacted`] a text without it, and [`guardrail`]
//! what a gate says of a value.
//!
//! **Invariant:** nothing that was found is ever told: only its kind, its place and how often.

mod answer;
mod card;
mod detector;
mod email;
mod hidden;
mod iban;
mod injection;
mod redact;
mod script;
mod secrets;
#[cfg(test)]
mod tests;
mod value;

pub use answer::{Guarded, guardrail};
pub use card::{BRANDS, Brand};
pub use detector::{DETECTORS, Detector, Finding, find, is_detector};
pub use iban::COUNTRIES;
pub use injection::{MARKERS, Marker};
pub use redact::redacted;
pub use secrets::{KEYWORDS, TOKENS, Token};

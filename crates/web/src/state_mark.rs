//! The mark of a state: a glyph and a tone, equal in tables, cards and headings.
//!
//! A word is never a class of its element: the word of a plan or of a program could be the name of another class, and
//! would take over its look.

use minijinja::{HtmlEscape, Value};
use wf_base::untrusted::untrusted;

/// The meaning of a state for its reader, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StateTone {
    Good,
    Bad,
    Warning,
    /// It is at work.
    Live,
    Quiet,
}

impl StateTone {
    /// Returns the word in the style sheet.
    fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Warning => "warn",
            Self::Live => "live",
            Self::Quiet => "quiet",
        }
    }
}

/// The look of a state beside its word.
struct StateMark {
    tone: StateTone,
    /// A shape: colours alone say nothing to many people.
    glyph: &'static str,
}

impl StateMark {
    /// Returns the mark of a state; that of a word without one is quiet.
    fn of(state: &str) -> Self {
        let (tone, glyph) = match state {
            "verified" | "succeeded" | "healthy" | "repaired" | "pass" | "usable" | "valid" | "active"
            | "approved" | "accepted" | "holds" => (StateTone::Good, "✓"),
            "failed" | "fail" | "refuted" | "error" | "failing" | "abandoned" | "denied" | "declined"
            | "broken" | "unusable" | "invalid" | "revoked" | "missed" => (StateTone::Bad, "✕"),
            "high" | "irreversible" => (StateTone::Bad, "▲"),
            "running" | "verifying" | "started" | "ran" => (StateTone::Live, "◌"),
            "waiting" | "paused" => (StateTone::Warning, "‖"),
            "interrupted" => (StateTone::Warning, "⚡\u{fe0e}"),
            "stale" | "expired" | "withdrawn" => (StateTone::Warning, "↺"),
            "blocked" | "medium" | "unusual" | "caution" | "avoid" | "open" | "breaker" | "daemon"
            | "unknown" => (StateTone::Warning, "▲"),
            "reported" | "plausible" => (StateTone::Quiet, "◐"),
            "pending" | "planned" | "new" => (StateTone::Quiet, "○"),
            "skipped" | "excluded" => (StateTone::Quiet, "–"),
            "cancelled" => (StateTone::Quiet, "⊘"),
            _ => (StateTone::Quiet, "·"),
        };
        Self { tone, glyph }
    }
}

/// Returns a badge with a state; nothing for a state that is absent.
pub(crate) fn badge(state: Option<String>) -> Value {
    state.map_or_else(|| Value::from(""), |state| state_badge(&state))
}

fn state_badge(state: &str) -> Value {
    let StateMark { tone, glyph } = StateMark::of(state);
    let word = untrusted(state).block();
    Value::from_safe_string(format!(
        "<span class=\"badge\" data-state=\"{0}\" data-tone=\"{1}\"><span aria-hidden=\"true\">{glyph}</span> {0}</span>",
        HtmlEscape(&word),
        tone.word(),
    ))
}

/// Returns a cell of a table with the mark of a state, and words that say more.
pub(crate) fn mark(state: &str, words: &str) -> Value {
    if state.is_empty() {
        return Value::from_safe_string("<td></td>".to_owned());
    }
    let StateMark { tone, glyph } = StateMark::of(state);
    let (state, words) = (untrusted(state).block(), untrusted(words).block());
    Value::from_safe_string(format!(
        "<td data-state=\"{}\" data-tone=\"{}\" title=\"{2}\"><span aria-hidden=\"true\">{glyph}</span><span class=\"unseen\">{2}</span></td>",
        HtmlEscape(&state),
        tone.word(),
        HtmlEscape(&words),
    ))
}

#[cfg(test)]
mod tests {
    use super::{StateMark, StateTone, state_badge};

    #[test]
    fn a_state_is_text_in_an_attribute() {
        assert_eq!(
            state_badge("failed").to_string(),
            "<span class=\"badge\" data-state=\"failed\" data-tone=\"bad\"><span aria-hidden=\"true\">✕</span> failed</span>"
        );
        let foreign = state_badge("card\" onclick=\"x<b>\u{202e}").to_string();
        assert!(foreign.contains("data-tone=\"quiet\"") && !foreign.contains("<b>"), "{foreign}");
        assert!(!foreign.contains("\" onclick"), "{foreign}");
    }

    #[test]
    fn only_what_went_wrong_is_bad() {
        for state in ["cancelled", "skipped", "reported", "plausible", "succeeded", "waiting", "running"] {
            assert_ne!(StateMark::of(state).tone, StateTone::Bad, "{state}");
        }
    }
}

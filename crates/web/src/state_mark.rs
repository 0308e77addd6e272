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
            | "approved" | "accepted" | "holds" | "ok" => (StateTone::Good, "✓"),
            "failed" | "fail" | "refuted" | "error" | "failing" | "abandoned" | "denied" | "declined"
            | "broken" | "unusable" | "invalid" | "revoked" | "missed" => (StateTone::Bad, "✕"),
            "high" | "irreversible" => (StateTone::Bad, "▲"),
            "running" | "verifying" | "started" | "ran" => (StateTone::Live, "◌"),
            "waiting" | "paused" => (StateTone::Warning, "‖"),
            "interrupted" => (StateTone::Warning, "⚡\u{fe0e}"),
            "stale" | "expired" | "withdrawn" => (StateTone::Warning, "↺"),
            "blocked" | "medium" | "unusual" | "caution" | "avoid" | "open" | "breaker" | "daemon"
            | "refused" | "withheld" | "unknown" => (StateTone::Warning, "▲"),
            "reported" | "plausible" => (StateTone::Quiet, "◐"),
            "pending" | "planned" | "new" => (StateTone::Quiet, "○"),
            "skipped" | "excluded" => (StateTone::Quiet, "–"),
            "cancelled" => (StateTone::Quiet, "⊘"),
            "uncomputed" | "unrecorded" => (StateTone::Quiet, "?"),
            "before" => (StateTone::Quiet, ""),
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

/// Returns a cell of a table with the mark of a state, words that say more, and a page that says all.
pub(crate) fn mark(state: &str, words: &str, page: Option<String>) -> Value {
    let (state_word, words) = (untrusted(state).block(), untrusted(words).block());
    let words = HtmlEscape(&words);
    if state.is_empty() {
        return Value::from_safe_string(format!("<td><span class=\"unseen\">{words}</span></td>"));
    }
    let StateMark { tone, glyph } = StateMark::of(state);
    let text = format!("<span aria-hidden=\"true\">{glyph}</span><span class=\"unseen\">{words}</span>");
    let text = match page {
        Some(page) => format!("<a href=\"{}\">{text}</a>", HtmlEscape(&untrusted(&page).block())),
        None => text,
    };
    Value::from_safe_string(format!(
        "<td data-state=\"{}\" data-tone=\"{}\" title=\"{words}\">{text}</td>",
        HtmlEscape(&state_word),
        tone.word(),
    ))
}

#[cfg(test)]
mod tests {
    use super::{StateMark, StateTone, mark, state_badge};

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
    fn a_cell_says_why_it_is_empty_and_leads_to_what_it_stands_for() {
        assert_eq!(
            mark("", "nothing was due", None).to_string(),
            "<td><span class=\"unseen\">nothing was due</span></td>"
        );
        let linked = mark("failed", "2 failed", Some("?hour=2026-11-28T08\"#hour".into())).to_string();
        assert!(linked.contains("<a href=\"?hour=2026-11-28T08&quot;#hour\">"), "{linked}");
        assert!(linked.contains("title=\"2 failed\"") && linked.contains(">✕</span>"), "{linked}");
    }

    #[test]
    fn only_what_went_wrong_is_bad() {
        for state in ["cancelled", "skipped", "reported", "plausible", "succeeded", "waiting", "running"] {
            assert_ne!(StateMark::of(state).tone, StateTone::Bad, "{state}");
        }
    }
}

//! The standard's rules on words with the semantics of Python, in which the reference validator is
//! written.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization as _;

/// Strips blanks at both ends; Python counts four separators among them that Rust does not.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

/// Returns the form in which names are compared (NFKC).
pub(super) fn normal(text: &str) -> String {
    text.nfkc().collect()
}

/// True if a character is a letter or a number by its category. Rust's `is_alphanumeric` also
/// accepts marks that stand for letters.
pub(super) fn is_alphanumeric(c: char) -> bool {
    use GeneralCategory as Is;
    matches!(
        get_general_category(c),
        Is::UppercaseLetter
            | Is::LowercaseLetter
            | Is::TitlecaseLetter
            | Is::ModifierLetter
            | Is::OtherLetter
            | Is::DecimalNumber
            | Is::LetterNumber
            | Is::OtherNumber
    )
}

/// Returns the number of characters in a text.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::{is_alphanumeric, normal, strip};

    #[test]
    fn words_are_as_python_has_them() {
        assert_eq!(strip("\u{1f} \u{a0}x\u{85}\u{2028}"), "x");
        assert_eq!(strip("\u{200b}x"), "\u{200b}x");
        assert_eq!(normal("cafe\u{301} ﬁ ²"), "café fi 2");
        for c in ['a', '5', '技', 'й', '²', '①', 'Ⅳ', 'ª'] {
            assert!(is_alphanumeric(c), "{c}");
        }
        for c in ['-', '_', ' ', '\u{345}', '\u{200d}', '\u{94d}', '\u{2011}', '⁄'] {
            assert!(!is_alphanumeric(c), "{c}");
        }
    }
}

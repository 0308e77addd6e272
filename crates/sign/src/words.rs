//! Public keys as words for people to compare: read aloud, or side by side on two screens.
//!
//! Six words of five letters, each for 16 bits of the digest of the key, consonants and vowels in turn (Daniel S. Wilkerson,
//! "A proposal for proquints: identifiers that are readable, spellable, and pronounceable"). To make a key with the words of
//! another one takes 2^96 tries.

use wf_base::digest::Sha256Digest;

use crate::ApproverKey;

/// The number of words of a key.
const WORDS: usize = 6;

const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
const VOWELS: &[u8; 4] = b"aiou";

impl ApproverKey {
    /// Returns its words, joined by hyphens.
    pub fn words(&self) -> String {
        key_words(&self.id())
    }
}

/// Returns the words of the key with a digest, joined by hyphens.
pub fn key_words(id: &Sha256Digest) -> String {
    let pairs = id.bytes().chunks_exact(2).take(WORDS);
    let words = pairs.map(|pair| word(pair.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte))));
    words.collect::<Vec<_>>().join("-")
}

/// Returns the word for 16 bits.
fn word(bits: usize) -> String {
    let consonant = |shift: usize| char::from(CONSONANTS[bits >> shift & 15]);
    let vowel = |shift: usize| char::from(VOWELS[bits >> shift & 3]);
    [consonant(12), vowel(10), consonant(6), vowel(4), consonant(0)].iter().collect()
}

#[cfg(test)]
mod tests {
    use super::{key_words, word};
    use wf_base::digest::Sha256Digest;

    #[test]
    fn a_word_is_the_one_of_the_proposal() {
        // 127.0.0.1 and 63.84.220.193 there.
        assert_eq!([0x7f00, 0x0001, 0x3f54, 0xdcc1].map(word), ["lusab", "babad", "gutih", "tugad"]);
    }

    #[test]
    fn a_key_has_six_words_of_its_digest() {
        let text = key_words(&Sha256Digest::of_bytes(b"a key"));
        assert_eq!(text.split('-').count(), 6);
        assert!(text.split('-').all(|word| word.len() == 5), "{text}");
        assert_ne!(text, key_words(&Sha256Digest::of_bytes(b"another key")));
    }
}

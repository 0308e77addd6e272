use std::collections::BTreeSet;

/// The number of bytes looked at together.
const GRAM: usize = 4;

/// The longest prefix of a form looked for.
pub(super) const WIDEST: usize = GRAM + 7;

/// Finds possible positions of many texts of the same length, and skips the rest quickly.
///
/// The filter stores every sequence of four bytes of each text, with its offset in the text. In a
/// haystack it is then enough to look at one sequence in every few bytes: any text that occurs
/// there has a sequence that is hit.
#[derive(Debug)]
pub(super) struct PositionFilter {
    width: usize,
    /// One bit for each offset a sequence has in some text, by the hash of the sequence.
    grams: Vec<u8>,
    shift: u32,
    /// The texts themselves.
    texts: BTreeSet<Vec<u8>>,
}

impl PositionFilter {
    /// Makes a filter for texts all have this length, from [`GRAM`] to [`WIDEST`] bytes.
    pub(super) fn new(width: usize, texts: BTreeSet<Vec<u8>>) -> Self {
        // Few slots are taken, if memory allows: most sequences are then skipped at once.
        let bits = (texts.len() * 256).next_power_of_two().ilog2();
        let bits = bits.clamp(12, 18);
        let mut filter = Self { width, grams: vec![0; 1 << bits], shift: 32 - bits, texts };
        for text in &filter.texts {
            for (at, gram) in text.windows(GRAM).enumerate() {
                let slot = slot(gram, filter.shift).and_then(|slot| filter.grams.get_mut(slot));
                if let Some(places) = slot {
                    *places |= 1 << at;
                }
            }
        }
        filter
    }

    /// Returns the first position, from one on, of a whole text.
    pub(super) fn next(&self, haystack: &[u8], from: usize) -> Option<usize> {
        let stride = self.width - GRAM + 1;
        let mut at = from + stride - 1;
        while let Some(gram) = haystack.get(at..at + GRAM) {
            let places = self.places(gram);
            if places > 0 {
                let starts = (0..stride).rev().filter(|place| places & (1 << place) > 0);
                let mut starts = starts.map(|place| at - place);
                if let Some(start) = starts.find(|start| self.is_at(haystack, *start)) {
                    return Some(start);
                }
            }
            at += stride;
        }
        None
    }

    /// Returns the offsets a sequence has in some text, as bits; possibly too many.
    fn places(&self, gram: &[u8]) -> u8 {
        let slot = slot(gram, self.shift);
        slot.and_then(|slot| self.grams.get(slot)).copied().unwrap_or(0)
    }

    fn is_at(&self, haystack: &[u8], start: usize) -> bool {
        let Some(text) = haystack.get(start..start + self.width) else {
            return false;
        };
        let last = self.width - GRAM;
        let could_be = |at: usize| text.get(at..).is_some_and(|gram| self.places(gram) & (1 << at) > 0);
        could_be(0) && could_be(last) && could_be(last / 2) && self.texts.contains(text)
    }
}

/// Returns the slot of a sequence.
fn slot(gram: &[u8], shift: u32) -> Option<usize> {
    let gram = u32::from_le_bytes(*gram.first_chunk()?);
    usize::try_from(gram.wrapping_mul(0x9E37_79B1) >> shift).ok()
}

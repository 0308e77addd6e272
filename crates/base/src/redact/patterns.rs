use std::collections::BTreeSet;

use aho_corasick::{
    Anchored,
    automaton::{Automaton, StateID},
    nfa::noncontiguous::NFA,
};

use super::filter::{PositionFilter, WIDEST};

/// The least width of the filter, if the forms allow it.
const NARROWEST: usize = 6;

/// The search patterns: an automaton of all forms, and a filter for positions worth starting at.
#[derive(Debug)]
pub(super) struct SecretPatterns {
    automaton: NFA,
    start: StateID,
    /// The number of bytes leading to a state, by its number.
    depths: Vec<u32>,
    filter: PositionFilter,
    width: usize,
}

impl SecretPatterns {
    /// Makes the patterns; none if there are no forms.
    pub(super) fn new(forms: &BTreeSet<String>) -> Option<Self> {
        let shortest = forms.iter().map(String::len).min()?;
        // Most forms fit two windows that do not overlap; a line end breaks only one of them.
        let width = (shortest / 2).clamp(NARROWEST.min(shortest), WIDEST);
        let automaton = NFA::new(forms).expect("secrets have fewer than 2^31 bytes");
        let start = automaton.start_state(Anchored::No).expect("it can start anywhere");
        let mut depths = Vec::new();
        let mut windows = BTreeSet::new();
        for form in forms {
            let mut state = start;
            for (at, byte) in form.bytes().enumerate() {
                state = automaton.next_state(Anchored::No, state, byte);
                let number = state.as_usize();
                if depths.len() <= number {
                    depths.resize(number + 1, 0);
                }
                if let Some(depth) = depths.get_mut(number) {
                    *depth = u32::try_from(at + 1).unwrap_or(u32::MAX);
                }
            }
            let bytes = form.as_bytes();
            windows.extend(bytes.get(..width).map(<[u8]>::to_vec));
            windows.extend(second_windows(bytes, width));
        }
        Some(Self { automaton, start, depths, filter: PositionFilter::new(width, windows), width })
    }

    /// Returns the number of bytes of a form the filter needs to see.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the position of the next prefix of a form, or of the part after the prefix of a form
    /// that can be broken by a line end.
    pub(super) fn next(&self, bytes: &[u8], from: usize) -> Option<usize> {
        self.filter.next(bytes, from)
    }

    /// Returns the state in which no form has begun.
    pub(super) fn start(&self) -> StateID {
        self.start
    }

    /// Returns the state after one more byte.
    pub(super) fn step(&self, state: StateID, byte: u8) -> StateID {
        self.automaton.next_state(Anchored::No, state, byte)
    }

    /// Returns the number of last bytes that could be a prefix of a form.
    pub(super) fn depth(&self, state: StateID) -> usize {
        self.depths.get(state.as_usize()).map_or(0, |depth| *depth as usize)
    }

    /// Returns the lengths of the forms ending in a state.
    pub(super) fn ends(&self, state: StateID) -> impl Iterator<Item = usize> {
        let of = move |at| self.automaton.pattern_len(self.automaton.match_pattern(state, at));
        let count = if self.automaton.is_match(state) { self.automaton.match_len(state) } else { 0 };
        (0..count).map(of)
    }
}

/// Returns further signs a form may begin, if a line end breaks its first window: the second window, or, for
/// a short form without one, the first with the line end in it.
fn second_windows(form: &[u8], width: usize) -> Vec<Vec<u8>> {
    if form.len() > 2 * (width - 1) {
        let second = width.min(form.len() - width);
        return form.get(second..second + width).map(<[u8]>::to_vec).into_iter().collect();
    }
    let broken = |at: usize| {
        let (before, behind) = form.split_at(at);
        let mut window = [before, b"\n", behind].concat();
        window.truncate(width);
        window
    };
    (1..width).map(broken).collect()
}

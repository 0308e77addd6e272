use std::collections::BTreeSet;

use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;

use super::filter::{Filter, WIDEST};

/// The least width of the filter, if the forms allow it.
const NARROWEST: usize = 6;

/// What is looked for: an automaton of all forms, and a filter for where it is worth starting.
#[derive(Debug)]
pub(super) struct Patterns {
    automaton: NFA,
    start: StateID,
    /// How many bytes lead to a state, by its number.
    depths: Vec<u32>,
    filter: Filter,
    width: usize,
}

impl Patterns {
    /// None if there are no forms.
    pub(super) fn new(forms: &BTreeSet<String>) -> Option<Self> {
        let shortest = forms.iter().map(String::len).min()?;
        // Two that do not overlap fit into most forms, of which a line end breaks only one.
        let width = (shortest / 2).clamp(NARROWEST.min(shortest), WIDEST);
        let automaton = NFA::new(forms).expect("secrets have fewer than 2^31 bytes");
        let start = automaton
            .start_state(Anchored::No)
            .expect("it can start anywhere");
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
            windows.extend(across(bytes, width));
        }
        Some(Self {
            automaton,
            start,
            depths,
            filter: Filter::new(width, windows),
            width,
        })
    }

    /// How much of a form the filter needs to see.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Where the next beginning of a form stands, or the part behind the beginning of one that
    /// can be broken.
    pub(super) fn next(&self, bytes: &[u8], from: usize) -> Option<usize> {
        self.filter.next(bytes, from)
    }

    /// The state in which nothing has begun.
    pub(super) fn start(&self) -> StateID {
        self.start
    }

    /// The state after one more byte.
    pub(super) fn step(&self, state: StateID, byte: u8) -> StateID {
        self.automaton.next_state(Anchored::No, state, byte)
    }

    /// How many of the last bytes could be the beginning of a form.
    pub(super) fn depth(&self, state: StateID) -> usize {
        self.depths
            .get(state.as_usize())
            .map_or(0, |depth| *depth as usize)
    }

    /// The lengths of the forms that end in a state.
    pub(super) fn ends(&self, state: StateID) -> impl Iterator<Item = usize> {
        let of = move |at| {
            self.automaton
                .pattern_len(self.automaton.match_pattern(state, at))
        };
        let count = if self.automaton.is_match(state) {
            self.automaton.match_len(state)
        } else {
            0
        };
        (0..count).map(of)
    }
}

/// What else tells that a form may begin, if a line end breaks its first window: the second
/// window; of a short form, that has no second, the first one with the line end in it.
fn across(form: &[u8], width: usize) -> Vec<Vec<u8>> {
    if form.len() > 2 * (width - 1) {
        let second = width.min(form.len() - width);
        return form
            .get(second..second + width)
            .map(<[u8]>::to_vec)
            .into_iter()
            .collect();
    }
    let broken = |at: usize| {
        let (before, behind) = form.split_at(at);
        let mut window = [before, b"\n", behind].concat();
        window.truncate(width);
        window
    };
    (1..width).map(broken).collect()
}

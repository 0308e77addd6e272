use std::collections::{BTreeMap, BTreeSet};

use super::place::{FlowLabel, ValuePlace, path};
use crate::inspect::prose::{addresses, is_credential, keeps_credentials};

/// The maximum number of places and moves of a skill that are followed.
const MOST: usize = 60_000;

pub(super) type ValuePlaceIx = usize;

/// An event that concerns a value, at a location in a file.
#[derive(Clone, Debug)]
pub(super) struct ValueEvent {
    pub(super) file: String,
    /// The offset in it, in bytes.
    pub(super) at: usize,
    pub(super) place: ValuePlaceIx,
}

/// A value that is sent.
#[derive(Clone, Debug)]
pub(super) struct ValueSend {
    /// The location, and the value.
    pub(super) event: ValueEvent,
    /// The value holding the destination addresses.
    pub(super) destination: ValuePlaceIx,
    /// True if it authenticates the request, as a header does, instead of being its content.
    pub(super) is_proof: bool,
}

/// The facts of a skill.
#[derive(Debug, Default)]
pub(super) struct FlowFacts {
    numbers: BTreeMap<ValuePlace, ValuePlaceIx>,
    /// The places, by number.
    pub(super) places: Vec<ValuePlace>,
    /// The initial labels of places.
    pub(super) labels: Vec<(FlowLabel, ValuePlaceIx)>,
    /// The moves: source and destination.
    pub(super) moves: Vec<(ValuePlaceIx, ValuePlaceIx)>,
    /// The reads of files whose paths a value holds: the paths, and the destination.
    pub(super) loads: Vec<(ValuePlaceIx, ValuePlaceIx)>,
    /// The writes to files whose paths a value holds: the paths, and the value.
    pub(super) stores: Vec<(ValuePlaceIx, ValuePlaceIx)>,
    /// The fetches; `what` holds the address.
    pub(super) fetch_events: Vec<ValueEvent>,
    /// The fetches of the source code of a program, whose history is public.
    pub(super) sources: BTreeSet<usize>,
    pub(super) sends: Vec<ValueSend>,
    /// The executions: of a text, or of files whose paths it holds.
    pub(super) run_events: Vec<ValueEvent>,
    /// The executions of Python text, if it comes from files.
    pub(super) text_events: Vec<ValueEvent>,
    /// The installed packages: the event, the name, and true for npm.
    pub(super) packages: Vec<(ValueEvent, String, bool)>,
    /// The values that are encoded.
    pub(super) pack_events: Vec<ValueEvent>,
    /// The functions that programs in Python define.
    pub(super) functions: BTreeSet<String>,
    /// The files of the skill.
    pub(super) shipped: BTreeSet<String>,
}

impl FlowFacts {
    /// Returns the facts of a skill with these files.
    pub(super) fn from_shipped(shipped: BTreeSet<String>) -> Self {
        Self { shipped, ..Self::default() }
    }

    /// Returns the number of a place.
    pub(super) fn place_ix(&mut self, place: ValuePlace) -> ValuePlaceIx {
        if let Some(number) = self.numbers.get(&place) {
            return *number;
        }
        let number = self.places.len();
        let secret = match &place {
            ValuePlace::File(path) if keeps_credentials(path) => Some(path),
            ValuePlace::Environment(name) if is_credential(name) => Some(name),
            _ => None,
        };
        if let Some(name) = secret {
            self.labels.push((FlowLabel::Secret(name.clone()), number));
        }
        self.numbers.insert(place.clone(), number);
        self.places.push(place);
        number
    }

    /// Returns a value without a name.
    pub(super) fn value(&mut self) -> ValuePlaceIx {
        self.place_ix(ValuePlace::Value(self.places.len()))
    }

    /// Returns the place of a file of the machine.
    pub(super) fn file(&mut self, text: &str) -> ValuePlaceIx {
        self.place_ix(ValuePlace::File(path(text)))
    }

    /// Records a move of a value from one place to another.
    pub(super) fn moves(&mut self, from: ValuePlaceIx, to: ValuePlaceIx) {
        if from != to && self.moves.len() < MOST {
            self.moves.push((from, to));
        }
    }

    /// Records a move from a named place.
    pub(super) fn move_from(&mut self, place: ValuePlace, to: ValuePlaceIx) {
        let from = self.place_ix(place);
        self.moves(from, to);
    }

    /// Records a move to a named place.
    pub(super) fn move_to(&mut self, from: ValuePlaceIx, place: ValuePlace) {
        let to = self.place_ix(place);
        self.moves(from, to);
    }

    /// Records the labels of a text itself: addresses and a path.
    pub(super) fn record_text(&mut self, text: &str, at: ValuePlaceIx) {
        for address in addresses(text) {
            self.labels.push((FlowLabel::Address(address.to_owned()), at));
        }
        if !text.contains("://") && super::place::is_path(text) {
            self.labels.push((FlowLabel::Path(path(text)), at));
        }
    }

    /// Records a fetch from the addresses a value holds, into another value.
    pub(super) fn fetch(&mut self, event: ValueEvent, into: ValuePlaceIx) {
        self.labels.push((FlowLabel::Fetched(self.fetch_events.len()), into));
        self.fetch_events.push(event);
    }

    /// Records that a value is encoded.
    pub(super) fn pack(&mut self, event: ValueEvent) {
        self.labels.push((FlowLabel::Packed, event.place));
        self.pack_events.push(event);
    }

    /// Returns one value that combines all of these.
    pub(super) fn gathered(&mut self, values: &[ValuePlaceIx]) -> ValuePlaceIx {
        let gathered = self.value();
        for from in values {
            self.moves(*from, gathered);
        }
        gathered
    }

    /// Returns the file of the skill a path names, if any.
    pub(super) fn shipped(&self, text: &str) -> Option<&str> {
        let path = path(text);
        let bare = path.trim_start_matches("../");
        let is_it = |candidate: &&String| {
            bare == candidate.as_str()
                || bare.strip_suffix(candidate.as_str()).is_some_and(|rest| {
                    // A file below a temporary folder is not a file of the skill.
                    rest.ends_with('/') && !rest.starts_with("/tmp") && !rest.starts_with("/var")
                })
                || !bare.starts_with(['/', '~'])
                    && candidate.strip_suffix(bare).is_some_and(|rest| rest.ends_with('/'))
        };
        self.shipped.iter().find(is_it).map(String::as_str)
    }
}

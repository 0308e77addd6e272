use std::collections::{BTreeMap, BTreeSet};

use super::place::{Label, Place, path};
use crate::skill::inspect::prose::{addresses, is_credential, keeps_credentials};

/// How many places and moves of a skill are followed.
const MOST: usize = 60_000;

/// A number that stands for a place.
pub(super) type At = usize;

/// Something that happens to a value at a place of a file.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// The file.
    pub(super) file: String,
    /// The byte in it.
    pub(super) at: usize,
    /// The value.
    pub(super) what: At,
}

/// Something that is sent.
#[derive(Clone, Debug)]
pub(super) struct Send {
    /// Where, and what is sent.
    pub(super) event: Event,
    /// What holds the addresses to which it goes.
    pub(super) to: At,
    /// Whether it proves who asks, as a header does, instead of being what is said.
    pub(super) is_proof: bool,
}

/// The facts of a skill.
#[derive(Debug, Default)]
pub(super) struct Facts {
    numbers: BTreeMap<Place, At>,
    /// The places, by number.
    pub(super) places: Vec<Place>,
    /// What is where from the beginning.
    pub(super) labels: Vec<(Label, At)>,
    /// What goes from where to where.
    pub(super) moves: Vec<(At, At)>,
    /// What is read of the files whose paths a value holds, and where it goes.
    pub(super) loads: Vec<(At, At)>,
    /// What is written to the files whose paths a value holds: the paths, and what.
    pub(super) stores: Vec<(At, At)>,
    /// What is fetched; `what` holds the address.
    pub(super) fetches: Vec<Event>,
    /// Those fetches that get the source of a program, whose history anybody sees.
    pub(super) sources: BTreeSet<usize>,
    /// What is sent.
    pub(super) sends: Vec<Send>,
    /// What is executed: a text, or files whose paths it holds.
    pub(super) runs: Vec<Event>,
    /// What is executed as a text of Python, as far as it comes from files.
    pub(super) texts: Vec<Event>,
    /// The packages that are installed: where, the name, and whether it is one of npm.
    pub(super) packages: Vec<(Event, String, bool)>,
    /// What is written in another form.
    pub(super) packs: Vec<Event>,
    /// The functions that programs in Python define.
    pub(super) functions: BTreeSet<String>,
    /// The files of the skill.
    pub(super) shipped: BTreeSet<String>,
}

impl Facts {
    /// The facts of a skill that has these files.
    pub(super) fn of(shipped: BTreeSet<String>) -> Self {
        Self {
            shipped,
            ..Self::default()
        }
    }

    /// The number of a place.
    pub(super) fn place(&mut self, place: Place) -> At {
        if let Some(number) = self.numbers.get(&place) {
            return *number;
        }
        let number = self.places.len();
        let secret = match &place {
            Place::File(path) if keeps_credentials(path) => Some(path),
            Place::Environment(name) if is_credential(name) => Some(name),
            _ => None,
        };
        if let Some(name) = secret {
            self.labels.push((Label::Secret(name.clone()), number));
        }
        self.numbers.insert(place.clone(), number);
        self.places.push(place);
        number
    }

    /// A value without a name.
    pub(super) fn value(&mut self) -> At {
        self.place(Place::Value(self.places.len()))
    }

    /// A file of the machine.
    pub(super) fn file(&mut self, text: &str) -> At {
        self.place(Place::File(path(text)))
    }

    /// A value goes from one place to another, too.
    pub(super) fn moves(&mut self, from: At, to: At) {
        if from != to && self.moves.len() < MOST {
            self.moves.push((from, to));
        }
    }

    /// What a text says by itself: addresses and a path.
    pub(super) fn says(&mut self, text: &str, at: At) {
        for address in addresses(text) {
            self.labels.push((Label::Address(address.to_owned()), at));
        }
        if !text.contains("://") && super::place::is_path(text) {
            self.labels.push((Label::Path(path(text)), at));
        }
    }

    /// What is fetched from the addresses that a value holds.
    pub(super) fn fetch(&mut self, file: &str, at: usize, from: At) -> Label {
        let label = Label::Fetched(self.fetches.len());
        self.fetches.push(Event {
            file: file.to_owned(),
            at,
            what: from,
        });
        label
    }

    /// The file of the skill that a path names, if it names one.
    pub(super) fn shipped(&self, text: &str) -> Option<&str> {
        let path = path(text);
        let bare = path.trim_start_matches("../");
        let is_it = |one: &&String| {
            bare == one.as_str()
                || bare.strip_suffix(one.as_str()).is_some_and(|rest| {
                    // What lies below a temporary folder is no file of the skill.
                    rest.ends_with('/') && !rest.starts_with("/tmp") && !rest.starts_with("/var")
                })
                || !bare.starts_with(['/', '~'])
                    && one
                        .strip_suffix(bare)
                        .is_some_and(|rest| rest.ends_with('/'))
        };
        self.shipped.iter().find(is_it).map(String::as_str)
    }
}

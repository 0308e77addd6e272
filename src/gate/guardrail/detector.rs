use std::ops::Range;

use super::{card, email, hidden, iban, injection, secrets};

/// Something that looks for one kind of thing.
pub struct Detector {
    /// Its name, as gates call it.
    pub name: &'static str,
    /// What it finds, for people.
    pub finds: &'static str,
    /// What it leaves alone, for people.
    pub spares: &'static str,
    search: fn(&str, &mut Vec<Found>),
}

/// What was found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the detector.
    pub detector: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Where, in bytes; begins and ends between characters.
    pub at: Range<usize>,
}

/// What a detector found: what it is, and where.
pub(super) type Found = (&'static str, Range<usize>);

/// All detectors.
pub const DETECTORS: &[Detector] = &[
    Detector {
        name: "secrets",
        finds: "private keys, the tokens of the table below, passwords in addresses, and random values that are assigned to a name with one of the words below",
        spares: "public keys, placeholders, references to variables, identifiers and paths",
        search: secrets::search,
    },
    Detector {
        name: "email",
        finds: "e-mail addresses",
        spares: "names that are reserved for examples, remote repositories, names of files",
        search: email::search,
    },
    Detector {
        name: "card",
        finds: "numbers of payment cards: the beginnings and lengths of the table below, with a right check digit",
        spares: "numbers inside longer words and numbers, and those with digits grouped otherwise than on cards",
        search: card::search,
    },
    Detector {
        name: "iban",
        finds: "numbers of bank accounts: a country and its length of the table below, with right check digits",
        spares: "numbers inside longer words",
        search: iban::search,
    },
    Detector {
        name: "hidden_unicode",
        finds: "characters that nobody sees and that programs and models read: controls of the direction, spaces and joiners without width, tags, fillers, runs of variation selectors",
        spares: "joiners of emoji and of scripts that need them, flags, single variation selectors after what they vary, marks of direction beside text from right to left, soft hyphens in words, a byte order mark at the beginning",
        search: hidden::search,
    },
    Detector {
        name: "injection",
        finds: "the markers of the table below, whatever their case and spacing, in comments of HTML too, in invisible tags, and in base64",
        spares: "all that is said otherwise: this list is no proof of good will",
        search: injection::search,
    },
];

/// Whether there is a detector of this name.
pub fn is_detector(name: &str) -> bool {
    DETECTORS.iter().any(|detector| detector.name == name)
}

/// What some detectors see in a text, by place. Findings of different detectors may overlap.
pub fn find(detectors: &[String], text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let asked = DETECTORS
        .iter()
        .filter(|detector| detectors.iter().any(|name| name == detector.name));
    for detector in asked {
        let mut found = Vec::new();
        (detector.search)(text, &mut found);
        found.sort_by(|(_, a), (_, b)| (a.start, b.end).cmp(&(b.start, a.end)));
        // What is found twice is one thing.
        found.dedup_by(|(_, next), (_, last)| {
            let overlaps = next.start < last.end;
            if overlaps {
                last.end = last.end.max(next.end);
            }
            overlaps
        });
        findings.extend(found.into_iter().map(|(what, at)| Finding {
            detector: detector.name,
            what,
            at,
        }));
    }
    findings.sort_by(|a, b| (a.at.start, b.at.end).cmp(&(b.at.start, a.at.end)));
    findings
}
